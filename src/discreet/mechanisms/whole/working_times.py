"""Working times: how long before its end each event began, where a column says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.errors import LogError
from discreet.log.instants import DAY, MONDAY
from discreet.log.timestamps import microseconds_of
from discreet.mechanisms.whole.allocation import OVERLAPS, WORK
from discreet.mechanisms.whole.declared_attributes import kind_of
from discreet.mechanisms.whole.distributions import choose_by_row, fractions
from discreet.mechanisms.whole.durations import WAIT_SETTINGS, LearntTimes, short_durations
from discreet.mechanisms.whole.grids import FIRST_DAY, day_bounds, wait_cells, wait_grid
from discreet.mechanisms.whole.noisy_tables import (
    FREQUENT,
    CellContributions,
    learn,
    noisy_sum,
    rows_of_frequent,
)
from discreet.mechanisms.whole.released_variants import ReleasedVariants, later_events
from discreet.mechanisms.whole.timelines import (
    FIRST,
    Clock,
    Timelines,
    TimelineSums,
    days_between,
    within,
)
from discreet.mechanisms.whole.work_calendar import Slots
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step

# Tuned: effort against processor time; no measurement is noted.

TRIES = 8
"""Number of times a working time is drawn at most until it fits between two events."""


def check_begun(schema: pl.DataFrame, whole: pl.DataFrame, column: str) -> None:
    """Raise LogError if there is no such column, or not one of times; see `kind_of`."""
    kind = kind_of(column, schema, whole, "a beginning")
    if not isinstance(kind, pl.Datetime):
        raise LogError(
            f"the column {column!r} holds {kind}, not times; read the log with "
            f"types={{{column!r}: 'date'}} (--types {column}:date)"
        )


@dataclass(frozen=True, eq=False)
class WorkingTimes:
    """What was learnt of working times, from which new ones are drawn."""

    shares: Floats
    """Shares of the cells of the grid of waits, with a row for each group of activities."""
    row_of_activity: Integers
    overlapping: float
    """The share of events that begin before the one before them has ended."""

    @classmethod
    def learn(
        cls,
        source: TimelineSums,
        column: str,
        released: ReleasedVariants,
        spending: Step,
        rng: Randomness,
    ) -> WorkingTimes:
        """Spends on two tables. A case adds one per event in each, bounded in L2 as a whole.

        An event that lacks the time of its beginning began when it ended.
        """
        steps = tuple(spending.find(name, Gaussian) for name in WORK)
        bound = released.typical_events()
        counts = released.events_by_activity()
        row_of = rows_of_frequent(counts, FREQUENT * steps[1].noise(bound).deviation)
        expected = np.maximum(np.bincount(row_of, counts, minlength=1), 1.0)
        clock = source.clock

        def contributions(timelines: Timelines) -> CellContributions:
            begun = _begun(timelines, column)
            days = days_between(clock.wall(begun), timelines.wall)
            row = np.append(row_of, -1)[timelines.codes]
            worked = timelines.instants - begun
            return CellContributions(timelines.case, row, wait_cells(worked, days))

        def overlaps(timelines: Timelines) -> tuple[Integers, Integers]:
            second = timelines.second
            early = _begun(timelines, column)[second] < timelines.instants[second - 1]
            return timelines.case[second], early.astype(np.int64)

        learnt = learn(
            source, contributions, expected, wait_grid(), WAIT_SETTINGS, bound, steps, rng
        )
        step = spending.find(OVERLAPS, Gaussian)
        both, _ = noisy_sum(source, overlaps, 2, bound, step, rng)
        sure = np.maximum(both, 0)
        overlapping = float(sure[1] / sure.sum()) if sure.sum() > 0 else 0.0
        return cls(learnt.shares, row_of, overlapping)

    def draw(
        self, codes: Integers, offsets: Integers, ends: Integers, times: LearntTimes,
        clock: Clock, rng: Randomness,
    ) -> Integers:  # fmt: skip
        """When each event began: never after its end, nor as a rule before the one before ended."""
        second = later_events(offsets, len(codes))
        least = np.full(len(codes), FIRST)
        alone = second[fractions(len(second), rng) >= self.overlapping]
        least[alone] = ends[alone - 1]
        slots = Slots(times.later)
        found = least.copy()
        open_ = np.arange(len(codes))
        for _ in range(TRIES):
            tried = self._tried(codes[open_], ends[open_], times, slots, clock, rng)
            fits = tried >= least[open_]
            found[open_[fits]] = tried[fits]
            open_ = open_[~fits]
            if not len(open_):
                break
        return np.asarray(np.minimum(found, ends), dtype=np.int64)

    def _tried(
        self, codes: Integers, ends: Integers, times: LearntTimes, slots: Slots,
        clock: Clock, rng: Randomness,
    ) -> Integers:  # fmt: skip
        """A beginning for each event, without regard to the event before."""
        cell = choose_by_row(self.shares, self.row_of_activity[codes], rng)
        found = ends.copy()
        short = np.flatnonzero((cell < FIRST_DAY) & (cell > 0))
        found[short] -= short_durations(cell[short], rng)
        long = np.flatnonzero(cell >= FIRST_DAY)
        first, last = day_bounds()
        at = cell[long] - FIRST_DAY
        many = first[at] + np.floor(fractions(len(long), rng) * (last[at] - first[at] + 1)).astype(
            np.int64
        )
        wall = clock.wall(ends[long])
        midnight = wall - wall % DAY - many * DAY
        profile = times.profile_of_activity[codes[long]] * 7 + (midnight - MONDAY) // DAY % 7
        of_day = slots.draw(profile, np.zeros(len(long), dtype=np.int64), rng)
        found[long] = np.minimum(clock.instants(midnight + of_day), ends[long])
        return np.maximum(found, FIRST)


def _begun(timelines: Timelines, column: str) -> Integers:
    """When each event began; where that is missing, when it ended."""
    ticks = microseconds_of(timelines.column(column))
    given = within(ticks.fill_null(pl.Series(timelines.instants)).to_numpy())
    return np.minimum(given, timelines.instants)
