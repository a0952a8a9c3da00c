"""Whole logs: private times and attributes for released variants."""

from discreet.wholelogs.mechanism import Whole

__all__ = ["Whole"]
