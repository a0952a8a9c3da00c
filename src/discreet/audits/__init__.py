"""Audits: measure what a mechanism really leaks, against what its certificate says."""

from discreet.audits.auditing import audit, audit_all

__all__ = ["audit", "audit_all"]
