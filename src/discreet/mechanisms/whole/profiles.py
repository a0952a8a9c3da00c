"""When people work: weekdays and hours, learnt one by one and together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.instants import DAY, MONDAY
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.grids import SLOTS, Grid, slots
from discreet.mechanisms.whole.tables import Hits, Manner, learn, noisy_sum
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian

MOMENTS = 7 * 24
"""Weekday and hour."""

PROFILE_MANNER = Manner(least=(), most_parts=1, weight=8.0, narrowed=False)


@dataclass(frozen=True, eq=False)
class Profile:
    """Shares of weekday and slot of the day, for each group of activities."""

    shares: Floats
    """By group, weekday and slot."""

    @classmethod
    def even(cls) -> Profile:
        """One group that knows nothing."""
        return cls(np.full((1, 7, SLOTS), 1 / (7 * SLOTS)))

    @classmethod
    def learn(
        cls, source: Source, hits: Callable[[Courses], Hits], expected: Floats, bound: int,
        steps: tuple[Gaussian, ...], rng: Randomness,
    ) -> Profile:  # fmt: skip
        """Three tables of the same hits, by the time on the wall: weekdays, slots, and both.

        The cells of the hits are times on the wall. The last table counts hours, not slots. It
        corrects what weekdays and hours would give if they were independent, as far as the noise
        allows.
        """

        def by_day(courses: Courses) -> Hits:
            found = hits(courses)
            return replace(found, cell=_weekday(found.cell))

        def by_slot(courses: Courses) -> Hits:
            found = hits(courses)
            return replace(found, cell=slots(found.cell))

        def by_both(courses: Courses) -> tuple[Integers, Integers]:
            found = hits(courses).asked()
            moment = _weekday(found.cell) * 24 + slots(found.cell) % 24
            return found.case, found.row * MOMENTS + moment

        family = np.zeros(len(expected), dtype=np.int64)
        days, times = (
            learn(
                source, cells, expected, family, Grid.plain(size), PROFILE_MANNER, bound, (step,),
                rng,
            )
            for cells, size, step in ((by_day, 7, steps[0]), (by_slot, SLOTS, steps[1]))
        )  # fmt: skip
        size = len(expected) * MOMENTS
        flat, spread = noisy_sum(source, by_both, size, bound, steps[2], rng)
        hours = times.shares[:, :24] + times.shares[:, 24:]
        joint = _together(
            days.shares, hours, flat.reshape(len(expected), MOMENTS), spread, times.totals
        )
        exact = times.shares / np.tile(np.maximum(hours, 1e-300), 2)
        found = np.tile(joint.reshape(-1, 7, 24), 2) * exact[:, None, :]
        return cls(found / found.sum(axis=(1, 2), keepdims=True))

    @cached_property
    def weekdays(self) -> Floats:
        """Shares of weekdays."""
        return np.asarray(self.shares.sum(axis=2))

    @cached_property
    def hours(self) -> Floats:
        """Shares of hours on each weekday, on the hour or not."""
        both = self.shares[:, :, :24] + self.shares[:, :, 24:]
        return np.asarray(both / np.maximum(both.sum(axis=2, keepdims=True), 1e-300))


def _weekday(wall: Integers) -> Integers:
    return np.asarray((wall - MONDAY) // DAY % 7, dtype=np.int64)


def _together(
    days: Floats, hours: Floats, counts: Floats, deviation: float, totals: Floats
) -> Floats:
    """Weekday and hour of each row: what all rows have in common first, then its own."""
    apart = (days[:, :, None] * hours[:, None, :]).reshape(len(days), MOMENTS)
    whole = totals @ apart / totals.sum()
    common = _corrected(
        whole, counts.sum(axis=0), deviation * len(days) ** 0.5, float(totals.sum())
    )
    prior = apart * (common / np.maximum(whole, 1e-300))
    found: Floats = np.empty_like(prior)
    for row, total in enumerate(totals):
        start = _balanced(prior[row], days[row], hours[row])
        own = _corrected(start, counts[row], deviation, float(total)) if len(days) > 1 else start
        found[row] = _balanced(own, days[row], hours[row])
    return found


def _corrected(prior: Floats, counts: Floats, deviation: float, total: float) -> Floats:
    """Shares between a prior and noisy counts: empirical Bayes.

    Cells are taken to differ from the prior by a factor; how much these factors vary is what
    the counts vary beyond their noise, and beyond two deviations of what noise alone would give.
    """
    expected = total * prior
    beyond = counts - expected
    by_chance = len(counts) + 2 * (2 * len(counts)) ** 0.5
    excess = float(beyond @ beyond) - by_chance * deviation**2
    signal = max(0.0, excess / float(expected @ expected)) * expected**2
    found = np.maximum(expected + signal / (signal + deviation**2) * beyond, 0)
    return np.asarray(found / found.sum())


def _balanced(shares: Floats, days: Floats, hours: Floats) -> Floats:
    """The shares scaled by weekday and by hour until their sums are those learnt on their own."""
    table = shares.reshape(7, 24) + 1e-9 * days[:, None] * hours
    for _ in range(10):
        table = table * (hours / np.maximum(table.sum(axis=0), 1e-300))
        table = table * (days / np.maximum(table.sum(axis=1), 1e-300))[:, None]
    return np.asarray(table.ravel() / table.sum())
