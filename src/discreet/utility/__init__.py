"""Utility: what a release is still good for. Everything here reads the raw log: steward only."""
