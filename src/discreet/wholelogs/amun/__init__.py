"""Amun: event logs with times."""

from discreet.wholelogs.amun.mechanism import Amun

__all__ = ["Amun"]
