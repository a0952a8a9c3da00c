"""The cases of a log in time, of which only sums are asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import polars as pl

from discreet.arrays import Integers, Ints
from discreet.log.cases import Cases, Sums
from discreet.log.instants import DAY, MONDAY
from discreet.mechanisms.whole.attributes import Observed
from discreet.mechanisms.whole.clock import Clock, within
from discreet.mechanisms.whole.declaring import Attribute
from discreet.mechanisms.whole.grids import wait_cells
from discreet.mechanisms.whole.released import Relations, later_events


@dataclass(frozen=True, eq=False)
class Courses:
    """Some cases of the raw log: what each did when, in the activities of the released variants.

    `codes` number the released activities, −1 for any other. Whatever is here of a case follows
    from that case alone, the released activities and the zone.
    """

    codes: Integers
    offsets: Integers
    instants: Integers
    wall: Integers
    case: Integers
    second: Integers
    """Positions of the events that have one before them."""
    column: Callable[[str], pl.Series]
    """A further column, event by event."""
    _observed: dict[Attribute, Observed] = field(default_factory=dict)

    @classmethod
    def of(cls, cases: Cases, activities: tuple[str, ...], clock: Clock) -> Courses:
        """Cases as they are read; instants outside the public stretch count at its edge."""
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

    def observed(self, attribute: Attribute) -> Observed:
        """The values of an attribute."""
        if attribute not in self._observed:
            self._observed[attribute] = Observed.of(self.column(attribute.column), attribute)
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
        """When each case starts, by the clock on the wall."""
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
class Source:
    """The cases of the raw log, of which only sums are seen."""

    sums: Sums
    activities: tuple[str, ...]
    clock: Clock

    def total(self, question: Callable[[Courses], pl.DataFrame]) -> pl.DataFrame:
        """The amounts that cases add to each key, added up over all cases."""
        return self.sums.total(partial(_asked, question, self.activities, self.clock))


def _asked(
    question: Callable[[Courses], pl.DataFrame],
    activities: tuple[str, ...],
    clock: Clock,
    cases: Cases,
) -> pl.DataFrame:
    if (activities, clock) not in cases.kept:
        cases.kept.clear()  # of the release before
        cases.kept[activities, clock] = Courses.of(cases, activities, clock)
    return question(cases.kept[activities, clock])


def days_between(first: Ints, last: Ints) -> Integers:
    """Calendar days from one time on the wall to another."""
    days = (last - MONDAY) // DAY - (first - MONDAY) // DAY
    return np.asarray(days, dtype=np.int64)
