"""Errors of a ledger. Where one of them is raised, nothing may be released."""

from __future__ import annotations

from discreet.errors import DiscreetError


class LedgerError(DiscreetError, ValueError):
    """A ledger that cannot be used; the message says what, where, and what to do."""


class RefusedError(LedgerError):
    """A release that does not fit what the steward allowed; the ledger itself works."""


class NoLedgerError(LedgerError):
    """There is no ledger yet where one was looked for."""
