"""Amun: event logs with times."""

from discreet.mechanisms.whole.amun.mechanism import Amun

__all__ = ["Amun"]
