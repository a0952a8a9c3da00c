"""Columns: of a table as it stood in its file, which of them is which, and their original names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from discreet.log.errors import LogError, option
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, Classifier, EventLog

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
"""Names that the usual tools give the column of each role."""

WORDS = {CASE: "case", ACTIVITY: "activity", TIME: "timestamp", LIFECYCLE: "lifecycle"}
"""The word for each role in options and messages."""


@dataclass(frozen=True)
class RawTable:
    """A table before its columns are given roles; `place` says in words where a row stood.

    `public_names` says whether the names of the columns stand in a header or a schema. Where they
    are found in the events, as in XES, one case must not decide which column has which role.
    """

    name: str
    table: pl.DataFrame
    place: Callable[[int], str]
    attributes: dict[str, object] = field(default_factory=dict)
    public_names: bool = True

    def only(self, kept: pl.Series) -> RawTable:
        """The table with the rows that are kept, each still called by the place where it stood."""
        if kept.all():
            return self
        rows, place = kept.arg_true(), self.place
        return replace(self, table=self.table.filter(kept), place=lambda row: place(rows[row]))

    def narrowed(self, columns: Sequence[str]) -> RawTable:
        """The table with only these columns."""
        return replace(self, table=self.table.select(columns))

    def without_blanks(self) -> RawTable:
        """The table without rows that have no value at all."""
        return self.only(self.table.select(pl.any_horizontal(pl.all().is_not_null())).to_series())


def below_header(row: int) -> str:
    """The place of a row in a table with a header."""
    return f"row {row + 2} (the header is row 1)"


def by_row(row: int) -> str:
    """The place of a row in a table without a header."""
    return f"row {row + 1}"


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


def laid_out(log: EventLog, names: Mapping[str, str], classifier: Classifier) -> EventLog:
    """A log made of released labels, in the layout of the one they come from.

    Both are public: the options of reading and the header of the file. Where activity and
    lifecycle together made a label, it is taken apart again, at its last plus sign: joined as on
    reading, the parts give the same label, whatever they contain.
    """
    table = log.table
    if classifier == "activity+lifecycle" and LIFECYCLE not in table.columns:
        label, parts = pl.col(ACTIVITY), r"(?s)^(.*)\+([^+]*)$"
        transition = label.str.extract(parts, 2)
        table = table.with_columns(
            label.str.extract(parts, 1).fill_null(label).alias(ACTIVITY),
            pl.when(transition != "").then(transition).alias(LIFECYCLE),
        )
    kept = {column: name for column, name in names.items() if column in table.columns}
    return replace(log, table=table, names=kept, classifier=classifier)


def released_names(log: EventLog) -> dict[str, str]:
    """The original names of a release's columns where they are not standard; all are public.

    A lifecycle comes out only if it is part of the label.
    """
    left_out = () if log.classifier == "activity+lifecycle" else (LIFECYCLE,)
    named = log.names.items()
    return {role: name for role, name in named if name != role and role not in left_out}


def file_names(log: EventLog) -> dict[str, str]:
    """The name of each column in formats without standard names: its original one."""
    found = {
        column: log.names.get(column, column.removeprefix("original:"))
        for column in log.table.columns
    }
    return found if len(set(found.values())) == len(found) else {}


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
