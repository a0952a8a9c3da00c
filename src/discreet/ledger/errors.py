"""What can go wrong with a ledger. Where one of these is raised, nothing may be released."""

from __future__ import annotations

from discreet.errors import DiscreetError


class LedgerError(DiscreetError, ValueError):
    """The ledger cannot be used: says what, where, and what to do."""


class RefusedError(LedgerError):
    """The ledger works and says no: this release does not fit what the steward allowed."""


class NoLedgerError(LedgerError):
    """There is no ledger yet where one was looked for."""
