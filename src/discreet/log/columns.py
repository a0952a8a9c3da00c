"""Which column is which: names that the user gives, or the names that tools usually write."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from discreet.log.errors import LogError, option
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
    columns: Sequence[str],
    given: Mapping[str, str | None],
    needed: Sequence[str],
    *,
    usual: bool = True,
) -> dict[str, str]:
    """The column for each role: the one given, else the standard one, else a usual name.

    Without `usual` only the standard names count: where columns are found in the events, a single
    case could otherwise bring the name that displaces what all the others use. `given` maps roles
    (`CASE`, `ACTIVITY`, …) to column names or None. A role in `needed` that no column fits is an
    error, which lists the columns there are.
    """
    chosen: dict[str, str] = {}
    for role, name in given.items():
        if name is not None:
            chosen[role] = existing(columns, name, WORDS[role])
    taken = set(chosen.values())
    free = {_bare(column): column for column in reversed(columns) if column not in taken}
    for role, names in USUAL.items():
        if role in chosen or role not in given:
            continue
        if role in columns and role not in taken:
            found: str | None = role
        elif usual:
            found = next((free[_bare(name)] for name in names if _bare(name) in free), None)
        else:
            found = None
        if found is not None:
            chosen[role] = found
            free.pop(_bare(found), None)
        elif role in needed:
            raise LogError(_missing(role, columns, usual=usual))
    for name in chosen.values():
        if "\0" in name:
            raise LogError(f"the name of the column {name!r} holds a NUL character; rename it")
    return chosen


def existing(columns: Sequence[str], name: str, word: str) -> str:
    """The name itself if there is such a column; else an error with the likely one."""
    if name in columns:
        return name
    bare = {_bare(column): column for column in columns}
    near = difflib.get_close_matches(_bare(name), list(bare), 1, cutoff=0.5)
    hint = f"; did you mean {bare[near[0]]!r}?" if near else ""
    raise LogError(f"there is no column {name!r}, given as {option(word)}{hint}{_listed(columns)}")


def _missing(role: str, columns: Sequence[str], *, usual: bool) -> str:
    word = WORDS[role]
    lack = f"no column looks like the {word}" if usual else f"no event has the {word}, {role!r}"
    message = f"{lack}; name its column with {option(word)}{_listed(columns)}"
    if role == TIME:
        kept = option("order", "file")
        message += f"; for a log without timestamps, {kept} keeps the order of the file"
    return message


def _listed(columns: Sequence[str], limit: int = 30) -> str:
    shown = ", ".join(repr(column) for column in columns[:limit])
    more = f" and {len(columns) - limit} more" if len(columns) > limit else ""
    return f"; the columns are {shown}{more}"


def _bare(name: str) -> str:
    return re.sub(r"[\s_\-:.]+", "", name).casefold()
