"""What of a log is read: the less, the larger it may be."""

from __future__ import annotations

from typing import Literal

Reads = Literal["variants", "events"]
"""How often each variant occurs, or single events as well."""
