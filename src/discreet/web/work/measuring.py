"""What a release is worth, by the raw log: the steward's own report, apart from the release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.utility.subject import subject_of
from discreet.web.work.reading import read
from discreet.web.work.trying import compared


def measure(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Compare a released file with the log that it was released of."""
    return compared(read(spec), subject_of(Path(spec["file"])), folder)
