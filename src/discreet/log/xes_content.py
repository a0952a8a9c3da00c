"""The content of an XES file on its way to a table: attribute values, still as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.errors import LogError, option
from discreet.log.log_attributes import Attribute, as_mapping
from discreet.log.raw import RawTable

TYPES = frozenset({"string", "date", "int", "float", "boolean", "id"})
MAX_COLUMNS = 5000


class Cells(NamedTuple):
    """Values of one key that were declared with one type, and the rows they stand in."""

    type: str
    rows: Ints
    texts: pl.Series


class Lines(NamedTuple):
    """The line on which each event and each trace begins."""

    of_events: Sequence[int]
    of_traces: Sequence[int]


Columns = dict[str, list[Cells]]


@dataclass
class Content:
    """Everything that a reader found: attributes by level and key, and which trace holds what."""

    file: str
    events: int = 0
    traces: int = 0
    trace_of_event: list[Ints] = field(default_factory=list)
    of_events: Columns = field(default_factory=lambda: defaultdict(list))
    of_traces: Columns = field(default_factory=lambda: defaultdict(list))
    of_log: list[Attribute] = field(default_factory=list)
    lines: Callable[[], Lines] = lambda: Lines((), ())

    def add(self, *, of_event: bool, key: str, cells: Cells) -> None:
        """Add values of one attribute of events or of traces."""
        columns = self.of_events if of_event else self.of_traces
        columns[key].append(cells)
        if len(columns) > MAX_COLUMNS:
            raise LogError(f"{self.file} has more than {MAX_COLUMNS} different attributes")

    def raw(self, *, by_trace: bool, merge: bool, unnamed: bool = False) -> RawTable:
        """The events as a table. With `by_trace`, a trace is a case and has its own name.

        A trace without one is an error unless `unnamed`.
        """
        attributes = as_mapping(tuple(self.of_log))
        if self.events == 0:
            return RawTable(self.file, pl.DataFrame(), self._place, attributes, public_names=False)
        trace = np.concatenate(self.trace_of_event)
        if by_trace:
            self._check_names(np.unique(trace), merge=merge, unnamed=unnamed)
        columns: dict[str, pl.Series] = {}
        for key, found in self.of_traces.items():
            columns[f"case:{key}"] = _column(found, self.traces).gather(trace)
        for key, found in self.of_events.items():
            fresh = _column(found, self.events)
            if key in columns:  # the trace's value counts: some exports repeat it on every event
                fresh = columns[key].zip_with(columns[key].is_not_null(), fresh)
            columns[key] = fresh
        table = pl.DataFrame({key: columns[key] for key in sorted(columns)}).rechunk()
        return RawTable(self.file, table, self._place, attributes, public_names=False)

    def _check_names(self, used: Ints, *, merge: bool, unnamed: bool) -> None:
        found = self.of_traces.get("concept:name")
        if found is None:
            raise self._unnamed(int(used[0]))
        ids = _column(found, self.traces).gather(used)
        if ids.null_count():
            if not unnamed:
                raise self._unnamed(int(used[int(ids.is_null().arg_max() or 0)]))
            used, ids = used[ids.is_not_null().to_numpy()], ids.drop_nulls()
        if merge or ids.n_unique() == len(ids):
            return
        again = int(ids.is_first_distinct().arg_min() or 0)
        before = int((ids == ids[again]).arg_max() or 0)
        lines = self.lines().of_traces
        raise LogError(
            f"{self.file}: traces {used[before] + 1} and {used[again] + 1} (lines "
            f"{lines[used[before]]} and {lines[used[again]]}) have the same concept:name "
            f"{ids[again]!r}; rename one, or read them as one case with "
            f"{option('duplicates', 'merge')}"
        )

    def _unnamed(self, trace: int) -> LogError:
        return LogError(
            f"{self.file}: trace {trace + 1} (line {self.lines().of_traces[trace]}) has no "
            "concept:name; give every trace one, or name the event attribute that identifies "
            f"the case with {option('case')}"
        )

    def _place(self, event: int) -> str:
        trace = np.concatenate(self.trace_of_event)
        inside = event - int(np.searchsorted(trace, trace[event])) + 1
        line = self.lines().of_events[event]
        return f"event {inside} of trace {trace[event] + 1} (line {line})"


def _column(found: list[Cells], height: int) -> pl.Series:
    """One column of all values of a key; the last one counts where a row repeats the key."""
    found = sorted(found, key=lambda cells: cells.type)
    rows = np.concatenate([cells.rows for cells in found])
    values = pl.concat([cells.texts for cells in found])
    if len(rows) == height and np.array_equal(rows, np.arange(height)):
        return values
    origin = np.full(height, -1, dtype=np.int64)
    origin[rows] = np.arange(len(rows))
    picks = pl.Series(origin)
    return values.gather(picks.set(picks < 0, None))
