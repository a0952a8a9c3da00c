"""Timelines: the cases of the raw log on a public clock, of which only sums are asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial

import numpy as np
import polars as pl

from discreet.arrays import Integers, Ints
from discreet.log.cases import Cases, Sums, amounts
from discreet.log.instants import DAY, HOUR, MONDAY, WEEK
from discreet.mechanisms.whole.declared_attributes import DeclaredAttribute, ObservedValues
from discreet.mechanisms.whole.grids import WEEKS, wait_cells
from discreet.mechanisms.whole.released_variants import Relations, later_events

# Proof: public, the same for every log.

FIRST = MONDAY + DAY
"""First instant of the public stretch, in microseconds since 1970; earlier ones count as it."""

LAST = MONDAY + WEEKS * WEEK - DAY - 1
"""Last instant of the public stretch; later ones count as it."""

_GRAIN = HOUR // 4
"""Microseconds between the instants at which a zone may change its offset: quarters of an hour."""


@dataclass(frozen=True)
class Clock:
    """The clock of a zone such as Europe/Amsterdam, in microseconds since 1970."""

    zone: str

    def wall(self, instants: Ints) -> Integers:
        """The wall-clock times at instants of the stretch."""
        return np.asarray(instants + self._offset(instants), dtype=np.int64)

    def instants(self, wall: Ints) -> Integers:
        """The instants of wall-clock times: one of two if there are two, one nearby if none."""
        guess = wall - self._offset(wall)
        return np.asarray(wall - self._offset(guess), dtype=np.int64)

    def _offset(self, instants: Ints) -> Integers:
        if self.zone == "UTC":
            return np.zeros(len(instants), dtype=np.int64)
        table = _offsets(self.zone)
        return table[np.clip((instants - MONDAY) // _GRAIN, 0, len(table) - 1)]


def within(instants: Ints) -> Integers:
    """The instants, with those outside the stretch moved to its edge."""
    return np.clip(instants, FIRST, LAST).astype(np.int64)


def outside_stretch(cases: Cases) -> pl.DataFrame:
    """The number of events outside the stretch."""
    outside = np.count_nonzero(cases.times != within(cases.times))
    return amounts(np.zeros(1, dtype=np.int64), np.array([outside]))


def is_zone(name: str) -> bool:
    """Whether there is such a time zone."""
    try:
        pl.Series([0]).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(name)
    except (pl.exceptions.PolarsError, ValueError):
        return False
    return True


@lru_cache(maxsize=4)
def _offsets(zone: str) -> Integers:
    ticks = np.arange(MONDAY, MONDAY + WEEKS * WEEK, _GRAIN)
    moments = pl.Series(ticks).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)
    wall = moments.dt.replace_time_zone(None).cast(pl.Int64).to_numpy()
    return np.asarray(wall - ticks, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Timelines:
    """Some cases of the raw log, event by event: activity, time and further columns.

    Everything here about a case follows from that case alone, the released activities and the
    zone.
    """

    codes: Integers
    """The released activity of each event, −1 for any other."""
    offsets: Integers
    instants: Integers
    wall: Integers
    """The wall-clock time of each event."""
    case: Integers
    """The case of each event."""
    second: Integers
    """Positions of the events that have one before them."""
    column: Callable[[str], pl.Series]
    """Returns a further column by its name."""
    _observed: dict[DeclaredAttribute, ObservedValues] = field(default_factory=dict)

    @classmethod
    def of(cls, cases: Cases, activities: tuple[str, ...], clock: Clock) -> Timelines:
        """The timelines of cases; instants outside the public stretch count at its edge."""
        number = {activity: i for i, activity in enumerate(activities)}
        recode = np.array([number.get(label, -1) for label in cases.activities], dtype=np.int64)
        instants = within(cases.times)
        return cls(
            codes=recode[cases.codes] if len(recode) else np.zeros(0, dtype=np.int64),
            offsets=cases.offsets,
            instants=instants,
            wall=clock.wall(instants),
            case=np.repeat(np.arange(len(cases)), np.diff(cases.offsets)),
            second=later_events(cases.offsets, len(cases.codes)),
            column=cases.column,
        )

    def observed(self, attribute: DeclaredAttribute) -> ObservedValues:
        """The values of an attribute."""
        if attribute not in self._observed:
            self._observed[attribute] = ObservedValues.of(self.column(attribute.column), attribute)
        return self._observed[attribute]

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Integers:
        """Number of events of each case."""
        return np.diff(self.offsets)

    def starts(self) -> Integers:
        """The wall-clock time at which each case starts."""
        return self.wall[self.offsets[:-1]]

    @cached_property
    def wait_cells(self) -> Integers:
        """The cell of the wait before each event of `second`."""
        return self._cells(self.second - 1, self.second)

    def duration_cells(self) -> Integers:
        """The cell of each case's duration."""
        return self._cells(self.offsets[:-1], self.offsets[1:] - 1)

    def relations(self, released: Relations) -> Integers:
        """The released relation of each event of `second`, −1 if the release lacks it."""
        return released.number(self.codes[self.second - 1], self.codes[self.second])

    def _cells(self, first: Integers, last: Integers) -> Integers:
        elapsed = self.instants[last] - self.instants[first]
        return wait_cells(elapsed, days_between(self.wall[first], self.wall[last]))


@dataclass(frozen=True, eq=False)
class TimelineSums:
    """The timelines of the raw log, of which only sums are seen."""

    sums: Sums
    activities: tuple[str, ...]
    clock: Clock

    def total(self, question: Callable[[Timelines], pl.DataFrame]) -> pl.DataFrame:
        """The sum over all cases of the amounts that `question` returns for each key."""
        return self.sums.total(partial(_asked, question, self.activities, self.clock))


def _asked(
    question: Callable[[Timelines], pl.DataFrame],
    activities: tuple[str, ...],
    clock: Clock,
    cases: Cases,
) -> pl.DataFrame:
    if (activities, clock) not in cases.kept:
        cases.kept.clear()  # of the release before
        cases.kept[activities, clock] = Timelines.of(cases, activities, clock)
    return question(cases.kept[activities, clock])


def days_between(first: Ints, last: Ints) -> Integers:
    """Calendar days from one wall-clock time to another."""
    days = (last - MONDAY) // DAY - (first - MONDAY) // DAY
    return np.asarray(days, dtype=np.int64)
