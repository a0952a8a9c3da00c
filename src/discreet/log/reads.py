"""What of a log is read: the less, the larger it may be."""

from __future__ import annotations

from typing import Literal

Reads = Literal["counts", "variants", "events"]
"""How many cases follow each variant and the sequences of a few, all sequences, or single events
as well."""
