"""What a log holds: columns, a few lines, exact figures and pictures, for its steward only."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from discreet.advice.describing import describe
from discreet.advice.facts import people_of, rarity_of
from discreet.advice.knowing import found_by
from discreet.log.columns import WORDS
from discreet.log.datatypes import plain
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.loading import column_names
from discreet.log.reading import save_mapping
from discreet.utility.before_after import durations_plot, lengths_plot
from discreet.web.work.pictures import over_time_plot, write_maps
from discreet.web.work.reading import check_unpacked, read

# Tuned
LINES = 8
"""Number of events in the preview."""


def look(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Read a log by the steward's options; if that fails, the error still names its columns."""
    try:
        log = read(spec)
    except LogError as error:
        error.__found__ = {"columns": _columns(spec)}  # type: ignore[attr-defined]
        raise
    save_mapping(folder / "mapping.toml", log, spec["reading"])
    return {
        "columns": _columns(spec),
        "roles": {WORDS[role]: log.names.get(role, role) for role in WORDS if role in log.table},
        "individual": log.individual_column,
        "left_out": {"cases": log.left_out.cases, "events": log.left_out.events},
        "facts": describe(log, frequent=10),
        "rarity": [asdict(one) for one in rarity_of(log)],
        "found": [asdict(one) for one in found_by(log)],
        "people": None if (people := people_of(log)) is None else asdict(people),
        "attributes": _attributes(log),
        "preview": _preview(log),
        "maps": write_maps(log.variants, folder),
        "plots": _plots(log, folder),
        "timed": log.has_times,
    }


def _columns(spec: dict[str, Any]) -> list[str]:
    """The columns of the file; empty if they cannot be read."""
    path, given = Path(spec["log"]), spec["reading"]
    try:
        check_unpacked(path, spec["unpacked"])
        return column_names(path, **{k: given.get(k) for k in ("delimiter", "encoding", "sheet")})
    except LogError:
        return []


def _attributes(log: EventLog) -> list[tuple[str, str]]:
    """The columns without a role that can be released, each with the kind of its values."""
    found = []
    for name, kind in log.frame.schema.items():
        if name not in WORDS and name != log.individual_column and plain(kind):
            word = "number" if kind.is_float() else "integer" if kind.is_integer() else "text"
            found.append((name, "boolean" if kind == pl.Boolean else word))
    return found


def _preview(log: EventLog) -> dict[str, Any]:
    head = log.frame.head(LINES)
    return {
        "heads": [log.names.get(name, name) for name in head.columns],
        "lines": [["" if v is None else str(v)[:80] for v in row] for row in head.iter_rows()],
    }


def _plots(log: EventLog, folder: Path) -> list[str]:
    drawn = {"lengths.svg": lengths_plot({"": log.variants})}
    if log.has_times:
        drawn["durations.svg"] = durations_plot({"": log})
        drawn["time.svg"] = over_time_plot({"": log})
    for name, picture in drawn.items():
        (folder / name).write_text(picture, encoding="utf-8")
    return list(drawn)
