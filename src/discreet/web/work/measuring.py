"""The utility of a release against the raw log: the steward's own report, kept apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.utility.subject import subject_of
from discreet.web.work.reading import read
from discreet.web.work.trying import compared


def measure(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Compare a released file with the log it was released from."""
    return compared(read(spec), subject_of(Path(spec["file"])), folder)
