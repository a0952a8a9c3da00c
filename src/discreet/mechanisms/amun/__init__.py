"""Amun: event logs with times."""

from discreet.mechanisms.amun.mechanism import Amun

__all__ = ["Amun"]
