"""The content of an XES file on its way to a table: attribute values, still as text."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.log.attributes import Attribute, as_mapping
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME
from discreet.log.source import Source
from discreet.log.times import to_instants
from discreet.log.variants import Ints

TYPES = frozenset({"string", "date", "int", "float", "boolean", "id"})
MAX_COLUMNS = 5000


class Cells(NamedTuple):
    """Values of one key that were declared with one type, and the rows they stand in."""

    type: str
    rows: Ints
    texts: pl.Series


Columns = dict[str, list[Cells]]


@dataclass
class Content:
    """Everything that a reader found: attributes by level and key, and which trace holds what."""

    events: int = 0
    traces: int = 0
    trace_of_event: list[Ints] = field(default_factory=list)
    of_events: Columns = field(default_factory=lambda: defaultdict(list))
    of_traces: Columns = field(default_factory=lambda: defaultdict(list))
    of_log: list[Attribute] = field(default_factory=list)
    event_lines: Ints | None = None
    trace_lines: Ints | None = None

    def add(self, *, of_event: bool, key: str, cells: Cells) -> None:
        """Add values of one attribute of events or of traces."""
        columns = self.of_events if of_event else self.of_traces
        columns[key].append(cells)
        if len(columns) > MAX_COLUMNS:
            raise LogError(f"the log has more than {MAX_COLUMNS} different attributes")

    def source(self, name: str, timezone: str, *, by_trace: bool, merge: bool) -> Source:
        """The events as a table. With `by_trace`, a trace is a case and needs its own name."""
        if self.events == 0:
            raise LogError(f"{name} has no events; there is nothing to release")
        trace = np.concatenate(self.trace_of_event)
        if by_trace:
            self._check_names(name, np.unique(trace), merge=merge)
        columns: dict[str, pl.Series] = {}
        for key, found in self.of_traces.items():
            whole = _column(found, self.traces, _kept_as_text(f"case:{key}"), timezone)
            columns[f"case:{key}"] = whole.gather(trace)
        for key, found in self.of_events.items():
            fresh = _column(found, self.events, _kept_as_text(key), timezone)
            columns[key] = _coalesced(columns[key], fresh) if key in columns else fresh
        table = pl.DataFrame({key: columns[key] for key in sorted(columns)})
        return Source(name, table, self._place(trace), as_mapping(tuple(self.of_log)))

    def _check_names(self, file: str, used: Ints, *, merge: bool) -> None:
        empty = pl.Series([None], dtype=pl.String).new_from_index(0, self.traces)
        found = self.of_traces.get("concept:name")
        names = _column(found, self.traces, True, "UTC") if found else empty
        ids = names.gather(used)
        if ids.null_count():
            first = int(used[int(ids.is_null().arg_max() or 0)])
            raise LogError(
                f"{file}: trace {first + 1}{self._line(self.trace_lines, first)} has no "
                "concept:name; give every trace one, or name the event attribute that "
                "identifies the case with case="
            )
        if merge or ids.n_unique() == len(ids):
            return
        again = int(ids.is_first_distinct().arg_min() or 0)
        before = int((ids == ids[again]).arg_max() or 0)
        raise LogError(
            f"{file}: traces {used[before] + 1} and {used[again] + 1}"
            f"{self._line(self.trace_lines, int(used[again]))} have the same concept:name "
            f"{ids[again]!r}; rename one, or read them as one case with duplicates='merge'"
        )

    def _place(self, trace: Ints) -> _Place:
        return _Place(trace, self.event_lines)

    @staticmethod
    def _line(lines: Ints | None, index: int) -> str:
        return "" if lines is None else f" (line {lines[index]})"


@dataclass(frozen=True)
class _Place:
    """Says where an event stands."""

    trace: Ints
    lines: Ints | None

    def __call__(self, event: int) -> str:
        inside = event - int(np.searchsorted(self.trace, self.trace[event]))
        line = "" if self.lines is None else f" (line {self.lines[event]})"
        return f"event {inside + 1} of trace {self.trace[event] + 1}{line}"


def _kept_as_text(column: str) -> bool:
    return column in (CASE, ACTIVITY, LIFECYCLE, TIME)


def _column(found: list[Cells], height: int, as_text: bool, timezone: str) -> pl.Series:
    """One column of all values of a key; the last one counts where a row repeats the key."""
    types = {cells.type for cells in found}
    rows = np.concatenate([cells.rows for cells in found])
    values = pl.concat([cells.texts for cells in found])
    if not as_text:
        values = _typed(values, types, timezone)
    if len(rows) == height and np.array_equal(rows, np.arange(height)):
        return values
    source = np.full(height, -1, dtype=np.int64)
    if len(found) > 1 and len(types) > 1:
        order = np.argsort(rows, kind="stable")
        source[rows[order]] = order
    else:
        source[rows] = np.arange(len(rows))
    picks = pl.Series(source)
    return values.gather(picks.set(picks < 0, None))


def _typed(texts: pl.Series, types: set[str], timezone: str) -> pl.Series:
    """Values of their declared type; kept as text where types are mixed or a value does not fit."""
    if types <= {"string", "id"}:
        return texts
    if types == {"date"}:
        typed = to_instants(texts, timezone)
    elif types == {"int"}:
        typed = texts.cast(pl.Int64, strict=False)
    elif types <= {"int", "float"}:
        typed = texts.cast(pl.Float64, strict=False)
    elif types == {"boolean"}:
        truth = pl.Series(["true", "false"]).to_frame("text")
        truth = truth.with_columns(value=pl.Series([True, False]))
        typed = (
            texts.str.to_lowercase()
            .to_frame("text")
            .join(truth, on="text", how="left", maintain_order="left")
            .get_column("value")
        )
    else:
        return texts
    return typed if typed.null_count() == 0 else texts


def _coalesced(of_trace: pl.Series, of_event: pl.Series) -> pl.Series:
    """The trace's value where it has one: some exports repeat it on every event."""
    if of_trace.null_count() == 0:
        return of_trace
    if of_trace.dtype != of_event.dtype:
        of_trace, of_event = of_trace.cast(pl.String), of_event.cast(pl.String)
    return of_trace.zip_with(of_trace.is_not_null(), of_event)


