"""Which column is which: names that the user gives, or the names that tools usually write."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME

USUAL: Mapping[str, tuple[str, ...]] = {
    CASE: (
        CASE, "case id", "case key", "case identifier", "case number", "case", "trace id",
        "trace", "case name", "process instance", "instance id",
    ),
    ACTIVITY: (
        ACTIVITY, "activity", "activity id", "activity en", "activity name", "event name",
        "task", "task name", "event", "action", "step", "label",
    ),
    TIME: (
        TIME, "timestamp", "complete timestamp", "end timestamp", "event time", "time",
        "completion time", "complete time", "end time", "event timestamp", "datetime",
        "date time", "date", "start timestamp", "start time",
    ),
    LIFECYCLE: (
        LIFECYCLE, "lifecycle", "lifecycle id", "transition", "event type",
    ),
}  # fmt: skip

WORDS = {CASE: "case", ACTIVITY: "activity", TIME: "timestamp", LIFECYCLE: "lifecycle"}


def choose(
    columns: Sequence[str], given: Mapping[str, str | None], needed: Sequence[str]
) -> dict[str, str]:
    """The column for each role: the one given, else the first usual name that is present.

    `given` maps roles (`CASE`, `ACTIVITY`, …) to column names or None. A role in `needed` that
    no column fits is an error, which lists the columns there are.
    """
    chosen: dict[str, str] = {}
    for role, name in given.items():
        if name is not None:
            chosen[role] = existing(columns, name, WORDS[role])
    taken = set(chosen.values())
    free = {_bare(column): column for column in reversed(columns) if column not in taken}
    for role, usual in USUAL.items():
        if role in chosen or role not in given:
            continue
        if role in columns and role not in taken:
            found: str | None = role
        else:
            found = next((free[_bare(name)] for name in usual if _bare(name) in free), None)
        if found is not None:
            chosen[role] = found
            free.pop(_bare(found), None)
        elif role in needed:
            raise LogError(_missing(role, columns))
    return chosen


def existing(columns: Sequence[str], name: str, word: str) -> str:
    """The name itself if there is such a column; else an error with the likely one."""
    if name in columns:
        return name
    bare = {_bare(column): column for column in columns}
    near = difflib.get_close_matches(_bare(name), list(bare), 1, cutoff=0.5)
    hint = f"; did you mean {bare[near[0]]!r}?" if near else ""
    raise LogError(f"there is no column {name!r} ({word}=){hint}{_listed(columns)}")


def _missing(role: str, columns: Sequence[str]) -> str:
    word = WORDS[role]
    message = f"no column looks like the {word}; name it with {word}={_listed(columns)}"
    if role == TIME:
        message += "; for a log without timestamps, order='file' keeps the order of the file"
    return message


def _listed(columns: Sequence[str], limit: int = 30) -> str:
    shown = ", ".join(repr(column) for column in columns[:limit])
    more = f" and {len(columns) - limit} more" if len(columns) > limit else ""
    return f"; the columns are {shown}{more}"


def _bare(name: str) -> str:
    return re.sub(r"[\s_\-:.]+", "", name).casefold()
