"""Working times: how long before its end each event began, where a column says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.errors import LogError
from discreet.log.instants import DAY, MONDAY
from discreet.log.timestamps import microseconds_of
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step
from discreet.wholelogs.attributes import kind_of
from discreet.wholelogs.clock import FIRST, Clock, within
from discreet.wholelogs.courses import Courses, Source, days_between
from discreet.wholelogs.drawing import MILLISECOND, Slots
from discreet.wholelogs.grids import FIRST_DAY, day_bounds, short_bounds, wait_cells, wait_grid
from discreet.wholelogs.learning import WAIT_MANNER, Times
from discreet.wholelogs.released import Released, later_events
from discreet.wholelogs.sampling import choose_by_row, fractions
from discreet.wholelogs.spending import OVERLAPS, WORK
from discreet.wholelogs.tables import Hits, learn, noisy_sum

TRIES = 8
"""So often a working time is drawn until it fits between two events."""

FREQUENT = 6
"""An activity has a row of its own if so many deviations of the noise are expected in it."""


def check_begun(schema: pl.DataFrame, whole: pl.DataFrame, column: str) -> None:
    """Raise LogError if there is no such column, or not one of times; see `kind_of`."""
    kind = kind_of(column, schema, whole, "a beginning")
    if not isinstance(kind, pl.Datetime):
        raise LogError(
            f"the column {column!r} holds {kind}, not times; read the log with "
            f"types={{{column!r}: 'date'}} (--types {column}:date)"
        )


@dataclass(frozen=True, eq=False)
class Work:
    """What was learnt of working times, so that new ones can be drawn."""

    shares: Floats
    """A row for each group of activities, over the grid of waits."""
    row_of_activity: Integers
    overlapping: float
    """How often an event begins before the one before it has ended."""

    @classmethod
    def learn(
        cls, source: Source, column: str, released: Released, spending: Step, rng: Randomness
    ) -> Work:
        """Two tables. A case adds one per event in each, bounded in L2 as a whole.

        An event that lacks the time of its beginning began when it ended.
        """
        steps = tuple(spending.find(name, Gaussian) for name in WORK)
        bound = released.typical_events()
        counts = released.events_by_activity()
        frequent = counts >= FREQUENT * steps[1].noise(bound).deviation
        row_of = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
        row_of = np.unique(row_of, return_inverse=True)[1].astype(np.int64)
        expected = np.maximum(np.bincount(row_of, counts, minlength=1), 1.0)
        clock = source.clock

        def hits(courses: Courses) -> Hits:
            begun = _begun(courses, column)
            days = days_between(clock.wall(begun), courses.wall)
            row = np.append(row_of, -1)[courses.codes]
            return Hits(courses.case, row, wait_cells(courses.instants - begun, days))

        def overlaps(courses: Courses) -> tuple[Integers, Integers]:
            second = courses.second
            early = _begun(courses, column)[second] < courses.instants[second - 1]
            return courses.case[second], early.astype(np.int64)

        learnt = learn(
            source, hits, expected,
            np.zeros(len(expected), dtype=np.int64), wait_grid(), WAIT_MANNER, bound, steps, rng,
        )  # fmt: skip
        step = spending.find(OVERLAPS, Gaussian)
        both, _ = noisy_sum(source, overlaps, 2, bound, step, rng)
        sure = np.maximum(both, 0)
        overlapping = float(sure[1] / sure.sum()) if sure.sum() > 0 else 0.0
        return cls(learnt.shares, row_of, overlapping)

    def draw(
        self, codes: Integers, offsets: Integers, ends: Integers, times: Times, clock: Clock,
        rng: Randomness,
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
        self, codes: Integers, ends: Integers, times: Times, slots: Slots, clock: Clock,
        rng: Randomness,
    ) -> Integers:  # fmt: skip
        """A beginning for each event, whatever went before."""
        cell = choose_by_row(self.shares, self.row_of_activity[codes], rng)
        found = ends.copy()
        low, high = short_bounds()
        short = np.flatnonzero((cell < FIRST_DAY) & (cell > 0))
        lower, upper = np.maximum(low, MILLISECOND)[cell[short]], high[cell[short]]
        worked = lower * (upper / lower) ** fractions(len(short), rng)
        found[short] -= (np.floor(worked / MILLISECOND) * MILLISECOND).astype(np.int64)
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


def _begun(courses: Courses, column: str) -> Integers:
    """When each event began; where that is missing, when it ended."""
    ticks = microseconds_of(courses.column(column))
    given = within(ticks.fill_null(pl.Series(courses.instants)).to_numpy())
    return np.minimum(given, courses.instants)
