"""EventLog: cases of events, with integer codes beside the original table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from discreet import notebook
from discreet.arrays import Integers, Ints
from discreet.log.errors import LogError
from discreet.log.timestamps import Clocks, microseconds_of
from discreet.log.variants import VariantCounts, Variants, as_pandas, spans

CASE = "case:concept:name"
ACTIVITY = "concept:name"
TIME = "time:timestamp"
LIFECYCLE = "lifecycle:transition"

Classifier = Literal["activity", "activity+lifecycle"]

Reads = Literal["counts", "variants", "cases", "events"]
"""What a mechanism reads of a log: how many cases follow each variant and the sequences of a few,
all sequences, sums over cases as well, or single events. The less it reads, the larger a log may
be."""


class LeftOut(NamedTuple):
    """What reading left out because required values were missing; for the log's holder only."""

    cases: int = 0
    events: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class EventLog:
    """A log: who (case), what (activity), when (timestamp), and every further attribute.

    `table` holds the events as they stood in the file, under XES column names. `order` sorts
    them by case (in order of appearance), then timestamp, then position in the file; `codes`
    and `offsets` are in that order: case `i` is `codes[offsets[i]:offsets[i + 1]]`, indices
    into `activities`. `names` says what the file called the columns that have a role, and
    `classifier` what counts as an activity.
    """

    table: pl.DataFrame
    order: Ints
    activities: tuple[str, ...]
    codes: Ints
    offsets: Ints
    individual: str | None = None
    attributes: dict[str, object] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    left_out: LeftOut = LeftOut()
    clocks: Clocks = Clocks()
    classifier: Classifier = "activity"
    transitions: tuple[str, ...] = ()
    """The lifecycle transitions whose events were kept; empty if all were."""
    whole_schema: pl.DataFrame | None = None
    """The columns of the file under their names here, if some were left out; without rows."""
    origin: tuple[Path, ...] = ()
    """The files or the folder that it was read from, which no release of it may replace."""

    @classmethod
    def from_table(
        cls,
        table: pl.DataFrame,
        *,
        classifier: Classifier = "activity",
        individual: str | None = None,
        attributes: dict[str, object] | None = None,
        tie_break: Sequence[str] = (),
    ) -> EventLog:
        """Index a table that has the columns case:concept:name, concept:name, time:timestamp.

        The timestamp column may be absent; then the file's order stands. Events of one case and
        one time are in the order of the columns `tie_break`, then in that of the file. Required
        values must be present: reading (`discreet.read_log`) checks them and names the row that
        is not.
        """
        labels = labels_of(table, classifier)
        activities = tuple(labels.unique().sort().to_list())
        codes = labels.cast(pl.Enum(activities)).to_physical().to_numpy().astype(np.int32)
        case = _by_appearance(table[CASE])
        keys = [case]
        if TIME in table.columns:
            keys.insert(0, table[TIME].to_physical().to_numpy())
        for column in tie_break:
            keys.insert(0, table[column].rank("dense").to_numpy())
        order = np.lexsort(keys)  # stable: ties keep the position in the file
        sizes = np.bincount(case)
        return cls(
            table=table,
            order=order,
            activities=activities,
            codes=codes[order],
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            individual=individual,
            attributes=attributes or {},
            classifier=classifier,
        )

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.offsets) - 1

    @property
    def events(self) -> int:
        """Number of events."""
        return len(self.codes)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The events sorted by case, timestamp and position."""
        if np.array_equal(self.order, np.arange(self.table.height)):
            return self.table
        return self.table[self.order]

    @cached_property
    def case_ids(self) -> list[str]:
        """The identifier of each case."""
        return self.table[CASE][self.order[self.offsets[:-1]]].cast(pl.String).to_list()

    @property
    def has_times(self) -> bool:
        """Whether the events carry timestamps."""
        return TIME in self.table.columns

    @cached_property
    def _counted(self) -> tuple[Variants, Integers]:
        return Variants.of_cases(self.activities, self.codes, self.offsets)

    @property
    def variants(self) -> Variants:
        """The variants and their counts."""
        return self._counted[0]

    @property
    def counted(self) -> VariantCounts:
        """The variants; where they are too many, counts only, with sequences on demand."""
        return self.variants

    @property
    def variant_of_case(self) -> Integers:
        """For each case the index of its variant in `variants`."""
        return self._counted[1]

    @property
    def case_column(self) -> str:
        """The original name of the column of the cases."""
        return self.names.get(CASE, CASE)

    @property
    def individual_column(self) -> str | None:
        """The original name of the column of the individuals."""
        if self.individual is None or self.individual == CASE:
            return self.individual and self.case_column
        return self.names.get(self.individual, self.individual.removeprefix("original:"))

    @cached_property
    def individual_of_case(self) -> Integers:
        """For each case a number for the individual it belongs to.

        Raises where the log names no individual column, or a case belongs to several.
        """
        if self.individual is None:
            raise no_individuals()
        people = self.table[self.individual].cast(pl.String).fill_null("")
        codes = _by_appearance(people[self.order])
        first = codes[self.offsets[:-1]]
        mixed = np.repeat(first, np.diff(self.offsets)) != codes
        if mixed.any():
            case = int(np.searchsorted(self.offsets, np.argmax(mixed), side="right")) - 1
            raise LogError(
                f"case {self.case_ids[case]!r} belongs to several individuals by the column "
                f"{self.individual!r}; choose a column that is constant within a case"
            )
        return first

    def cases_of_individuals(self) -> Integers:
        """The number of cases of each individual, in ascending order."""
        return np.sort(np.bincount(self.individual_of_case))

    def period(self) -> tuple[int, int] | None:
        """The first and the last time, in microseconds since 1970; none without times."""
        if not self.has_times or not self.events:
            return None
        ticks = microseconds_of(self.table[TIME].gather(self.order))
        return int(ticks.min()), int(ticks.max())  # type: ignore[arg-type]

    def schema(self) -> pl.DataFrame:
        """The columns under their names here, without rows."""
        return self.table.clear() if self.whole_schema is None else self.whole_schema

    def at_hand(self, *columns: str) -> pl.DataFrame | None:
        """These columns of the events, case by case, if they are in this process."""
        if not set(columns) <= set(self.table.columns):
            return None
        return self.table.select(columns)[self.order]

    def require(self, reads: Reads, columns: Sequence[str] = ()) -> None:
        """Raise LogError if what a mechanism reads is not available; in memory everything is."""

    def prepare(self, cases: int, reads: Reads, columns: Sequence[str] = ()) -> None:
        """Raise LogError if `cases` cases of each individual cannot be chosen and read."""

    def take_cases(self, chosen: Ints | Sequence[int]) -> EventLog:
        """The chosen cases, in the order given."""
        positions, fresh = spans(self.offsets, np.asarray(chosen, dtype=np.int64))
        return replace(
            self, order=self.order[positions], codes=self.codes[positions], offsets=fresh
        )

    def to_polars(self) -> pl.DataFrame:
        """The events as a Polars frame: XES names, sorted by case, timestamp and position."""
        return self.frame

    def to_pandas(self) -> Any:
        """The events as a pandas frame, as PM4Py takes it."""
        return as_pandas(self.frame)

    def __repr__(self) -> str:
        return (
            f"EventLog({self.cases:,} cases, {self.events:,} events, "
            f"{len(self.activities):,} activities)"
        )

    def _repr_html_(self) -> str:
        head = self.frame.head(5)
        rows = [[str(value) for value in row] for row in head.iter_rows()]
        return notebook.box(repr(self), notebook.table(head.columns, rows))


def assemble(
    names: Sequence[str],
    activities: Sequence[str],
    codes: Ints,
    offsets: Ints,
    times: Ints,
    columns: Mapping[str, pl.Series] | None = None,
) -> EventLog:
    """A log from parts that are already in order.

    Case `i`, called `names[i]`, has the events `codes[offsets[i]:offsets[i + 1]]`. `times` are
    microseconds since 1970, never decreasing within a case. Activities that do not occur are left
    out.
    """
    used = np.flatnonzero(np.bincount(codes, minlength=len(activities))).tolist()
    labels = pl.Series([activities[code] for code in used], dtype=pl.String)
    recode = np.zeros(len(activities), dtype=np.int64)
    recode[used] = np.arange(len(used))
    fresh = recode[codes]
    case = np.repeat(np.arange(len(names)), np.diff(offsets))
    table = pl.DataFrame(
        {
            CASE: pl.Series(names, dtype=pl.String).gather(case),
            ACTIVITY: labels.gather(fresh),
            TIME: pl.Series(times, dtype=pl.Int64).cast(pl.Datetime("us", "UTC")),
            **(columns or {}),
        }
    )
    return EventLog(
        table=table,
        order=np.arange(len(codes)),
        activities=tuple(labels),
        codes=fresh.astype(np.int32),
        offsets=np.asarray(offsets, dtype=np.int64),
    )


def no_individuals() -> LogError:
    """The error for a log without the individuals that are asked for."""
    return LogError(
        "this log has no individual column; name one when reading it "
        "(individual=..., on the command line --individual COLUMN)"
    )


def labels_of(table: pl.DataFrame, classifier: Classifier) -> pl.Series:
    """The activity of each event under a classifier."""
    labels = table[ACTIVITY].cast(pl.String)
    if classifier == "activity+lifecycle":
        if LIFECYCLE not in table.columns:
            raise LogError(
                f"the classifier activity+lifecycle needs the column {LIFECYCLE!r}, "
                "which this log does not have; use the classifier activity"
            )
        return labels + "+" + table[LIFECYCLE].cast(pl.String).fill_null("")
    if classifier != "activity":
        raise LogError(f"unknown classifier {classifier!r}: activity or activity+lifecycle")
    return labels


def _by_appearance(values: pl.Series) -> Integers:
    """Number values 0, 1, … in order of first appearance."""
    ranks = values.to_frame("value").select(
        (pl.col("value").cast(pl.String).rank("dense") - 1).alias("rank")
    )["rank"]
    codes: Integers = ranks.to_numpy().astype(np.int64)
    _, first = np.unique(codes, return_index=True)
    position = np.empty(len(first), dtype=np.int64)
    position[np.argsort(first)] = np.arange(len(first))
    return position[codes]
