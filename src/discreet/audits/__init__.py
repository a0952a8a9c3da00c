"""Audits: measure what a mechanism really leaks, against what its certificate says."""

from discreet.audits.auditing import audit

__all__ = ["audit"]
