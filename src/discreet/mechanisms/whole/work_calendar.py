"""When cases start and people work: weeks, weekdays and hours, learnt from noisy tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.instants import DAY, HOUR, MONDAY, WEEK
from discreet.mechanisms.whole.distributions import fractions
from discreet.mechanisms.whole.grids import (
    FIRST_DAY,
    MILLISECOND,
    SLOTS,
    WEEKS,
    Grid,
    slots,
    week_grid,
)
from discreet.mechanisms.whole.noisy_tables import (
    FREQUENT,
    CellContributions,
    TableSettings,
    learn,
    noisy_sum,
    rows_of_frequent,
)
from discreet.mechanisms.whole.released_variants import ReleasedVariants
from discreet.mechanisms.whole.timelines import Timelines, TimelineSums
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian

MOMENTS = 7 * 24
"""Number of pairs of weekday and hour."""

# Tuned: on the logs of docs/mechanisms/whole.md, see "What was chosen on what" there.

MANY_CASES = 5000
"""From this number of released cases on the parts of the trend hold more deviations each."""

TREND_SETTINGS = TableSettings(
    least=(8.0, 8.0), most_parts=1500, weight=1.0, steps=(1.5, 1.5), downwards=True,
    even=0.2, trust=0.02,
)  # fmt: skip
SMALL_TREND_SETTINGS = replace(TREND_SETTINGS, least=(3.0, 3.0))

SMOOTH = np.array([1, 2, 3, 2, 1]) / 9
"""Weights of a week and its neighbours in the smooth trend of starts."""

PROFILE_SETTINGS = TableSettings(least=(), most_parts=1, weight=8.0, narrowed=False)


def learn_weeks(
    source: TimelineSums, released: ReleasedVariants, steps: tuple[Gaussian, ...], rng: Randomness
) -> Floats:
    """The share of each week in the starts of cases. A case adds one to one cell in every round."""
    cases = released.variants.cases
    settings = TREND_SETTINGS if cases >= MANY_CASES else SMALL_TREND_SETTINGS
    expected = np.array([float(cases)])
    learnt = learn(source, _starting_weeks, expected, week_grid(), settings, 1, steps, rng)
    row = learnt.rows[0]
    sloped = _sloping(learnt.shares[0], learnt.parts(0), row.high)
    precision = sum(1 / deviation**2 for _, _, deviation in row.rounds[1:])
    return _smoothed(sloped, row.low, row.high, 1 / (precision * row.total**2))


def _one_row(timelines: Timelines, cell: Integers) -> CellContributions:
    everyone = np.arange(timelines.cases)
    return CellContributions(everyone, np.zeros_like(everyone), cell)


def _starting(timelines: Timelines) -> CellContributions:
    """The wall-clock time at which each case starts, as its cell."""
    return _one_row(timelines, timelines.starts())


def _starting_weeks(timelines: Timelines) -> CellContributions:
    weeks = np.clip((timelines.starts() - MONDAY) // WEEK, 0, WEEKS - 1)
    return _one_row(timelines, weeks)


def _sloping(shares: Floats, starts: Integers, high: int) -> Floats:
    """The same mass in every part, but within it in line with its neighbours."""
    mass = np.add.reduceat(shares[:high], starts)
    widths = np.diff(np.append(starts, high))
    middles = starts + (widths - 1) / 2
    line = np.interp(np.arange(starts[0], high), middles, mass / widths)
    again = np.add.reduceat(line, starts - starts[0])
    sloped = np.zeros_like(shares)
    factor = np.where(again > 0, mass / np.maximum(again, 1e-300), 0.0)
    sloped[starts[0] : high] = line * np.repeat(factor, widths)
    return np.asarray(sloped / sloped.sum())


def _smoothed(shares: Floats, low: int, high: int, noise: float) -> Floats:
    """The shares of weeks, as far from a smooth trend as the noise cannot explain (James–Stein).

    `noise` is the variance of a week's share.
    """
    inside = np.pad(shares[low:high], len(SMOOTH) // 2, mode="edge")
    smooth = np.convolve(inside, SMOOTH, mode="valid")
    apart = shares[low:high] - smooth
    by_noise = noise * (1 - 2 * SMOOTH[len(SMOOTH) // 2] + float(SMOOTH @ SMOOTH))
    seen = float((apart[smooth > 0] ** 2).mean()) if (smooth > 0).any() else 0.0
    kept = float(np.clip(1 - by_noise / max(seen, 1e-300), 0, 1))
    found = np.zeros_like(shares)
    found[low:high] = np.maximum(smooth + kept * apart, 0)
    return np.asarray(found / found.sum())


@dataclass(frozen=True, eq=False)
class Profile:
    """Shares of weekday and slot of the day, for each group of activities."""

    shares: Floats
    """Indexed by group, weekday and slot."""

    @classmethod
    def even(cls) -> Profile:
        """A single group in which every weekday and slot has the same share."""
        return cls(np.full((1, 7, SLOTS), 1 / (7 * SLOTS)))

    @classmethod
    def learn(
        cls, source: TimelineSums, contributions: Callable[[Timelines], CellContributions],
        expected: Floats, bound: int, steps: tuple[Gaussian, ...], rng: Randomness,
    ) -> Profile:  # fmt: skip
        """Three tables of the same contributions: weekdays, slots, and both together.

        The cells of the contributions are wall-clock times. The last table counts hours, not
        slots. It corrects what weekdays and hours would give if they were independent, as far as
        the noise allows.
        """

        def by_day(timelines: Timelines) -> CellContributions:
            found = contributions(timelines)
            return replace(found, cell=_weekday(found.cell))

        def by_slot(timelines: Timelines) -> CellContributions:
            found = contributions(timelines)
            return replace(found, cell=slots(found.cell))

        def by_both(timelines: Timelines) -> tuple[Integers, Integers]:
            found = contributions(timelines).asked()
            moment = _weekday(found.cell) * 24 + slots(found.cell) % 24
            return found.case, found.row * MOMENTS + moment

        days, times = (
            learn(source, cells, expected, Grid.plain(size), PROFILE_SETTINGS, bound, (step,), rng)
            for cells, size, step in ((by_day, 7, steps[0]), (by_slot, SLOTS, steps[1]))
        )
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
        """The share of each weekday, by group."""
        return np.asarray(self.shares.sum(axis=2))

    @cached_property
    def hours(self) -> Floats:
        """The share of each hour on each weekday, exactly on the hour or not, by group."""
        both = self.shares[:, :, :24] + self.shares[:, :, 24:]
        return np.asarray(both / np.maximum(both.sum(axis=2, keepdims=True), 1e-300))


def start_profile(
    source: TimelineSums, released: ReleasedVariants, steps: tuple[Gaussian, ...], rng: Randomness
) -> Profile:
    """On which weekday and in which slot a case starts: one to one cell in each table."""
    expected = np.array([float(released.variants.cases)])
    return Profile.learn(source, _starting, expected, 1, steps, rng)


def later_profile(
    source: TimelineSums, released: ReleasedVariants, long: Floats, steps: tuple[Gaussian, ...],
    rng: Randomness,
) -> tuple[Profile, Integers]:  # fmt: skip
    """Weekday and slot of events half a day or more after the one before, by group of activities.

    Also returns the group of each activity. `long` is the share of such waits in each relation. A
    case adds one per such event, bounded in L2 as a whole.
    """
    activities = len(released.variants.activities)
    if not len(released.relations):
        return Profile.even(), np.zeros(activities, dtype=np.int64)
    per_variant = np.bincount(
        released.variant_of_step,
        long[released.relation_of_step],
        minlength=len(released.variants),
    ).astype(np.float64)
    bound = released.bound(per_variant, 0.6)
    expected = np.bincount(released.targets, released.counts * long, minlength=activities).astype(
        np.float64
    )
    row_of = rows_of_frequent(expected, FREQUENT * steps[1].noise(bound).deviation)
    by_row = np.maximum(np.bincount(row_of, expected), 1.0)

    def contributions(timelines: Timelines) -> CellContributions:
        second = timelines.second
        target = timelines.codes[second]
        asked = (timelines.wait_cells >= FIRST_DAY) & (target >= 0)
        row = np.where(asked, np.append(row_of, -1)[target], -1)
        return CellContributions(timelines.case[second], row, timelines.wall[second])

    return Profile.learn(source, contributions, by_row, bound, steps, rng), row_of


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

    Cells are taken to differ from the prior by a factor. How much these factors vary is what
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


@dataclass(frozen=True, eq=False)
class Slots:
    """Draws a time of the day by the slots of a profile. Reads nothing of a log."""

    profile: Profile

    @cached_property
    def _steps(self) -> Floats:
        slots = self.profile.shares.reshape(-1, 2, 24).transpose(0, 2, 1).reshape(-1, SLOTS)
        steps = np.cumsum(slots, axis=1)
        return np.asarray(steps / np.maximum(steps[:, -1:], 1e-300))

    def draw(self, row: Integers, least: Integers, rng: Randomness) -> Integers:
        """Microseconds of the day, in hour `least` or later; in any hour where none is likely.

        A row is a group of the profile times 7 plus a weekday.
        """
        before = np.concatenate([np.zeros((len(self._steps), 1)), self._steps[:, 1::2]], axis=1)
        skipped = before[row, least]
        skipped = np.where(skipped > 1 - 1e-6, 0.0, skipped)
        wanted = skipped + fractions(len(row), rng) * (1 - skipped)
        flat = (self._steps + np.arange(len(self._steps))[:, None]).ravel()
        slot = np.clip(
            np.searchsorted(flat, row + wanted, side="right") - row * SLOTS, 0, SLOTS - 1
        )
        in_hour = np.where(slot % 2 == 1, 0, times_within_hour(len(row), rng))
        return np.asarray(slot // 2 * HOUR + in_hour, dtype=np.int64)


def times_within_hour(size: int, rng: Randomness) -> Integers:
    """Uniform times in an hour, whole milliseconds, in microseconds."""
    return np.floor(fractions(size, rng) * HOUR / MILLISECOND).astype(np.int64) * MILLISECOND
