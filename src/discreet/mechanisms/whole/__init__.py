"""Whole logs: private times and attributes for released variants."""

from discreet.mechanisms.whole.mechanism import Whole

__all__ = ["Whole"]
