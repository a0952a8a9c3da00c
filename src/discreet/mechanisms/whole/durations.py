"""How long cases and waits take; with the calendar, everything that is learnt of times."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.allocation import DURATIONS, LATER, STARTS, TREND, WAITS
from discreet.mechanisms.whole.distributions import fractions
from discreet.mechanisms.whole.grids import (
    FIRST_DAY,
    MILLISECOND,
    WAIT_CELLS,
    short_bounds,
    wait_grid,
)
from discreet.mechanisms.whole.noisy_tables import (
    CellContributions,
    LearntTable,
    TableSettings,
    learn,
)
from discreet.mechanisms.whole.released_variants import ReleasedVariants
from discreet.mechanisms.whole.timelines import Timelines, TimelineSums
from discreet.mechanisms.whole.work_calendar import (
    Profile,
    later_profile,
    learn_weeks,
    start_profile,
)
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step

# Tuned: on the logs of docs/mechanisms/whole.md, see "What was chosen on what" there.

WAIT_SETTINGS = TableSettings(least=(2.0,), most_parts=150, weight=2.0, zero_alone=True)
DURATION_SETTINGS = TableSettings(
    steps=(2.2, 2.4, 2.6, 2.6),
    least=(3.0,),
    most_parts=40,
    weight=1.0,
    zero_alone=True,
    even=0.2,
    trust=0.02,
)


@dataclass(frozen=True, eq=False)
class LearntTimes:
    """Everything learnt of times, noisy and fitted, from which new ones are drawn."""

    weeks: Floats
    """The share of each week in the starts of cases."""
    starts: Profile
    waits: Floats
    """Shares of the cells of waits, with a row for each group of relations."""
    precision: Floats
    """The total of each row of waits, in deviations of the noise."""
    row_of_relation: Integers
    target_of_relation: Integers
    later: Profile
    """Weekday and slot of events half a day or more after the one before."""
    profile_of_activity: Integers
    """The group of each activity in `later`."""
    durations: LearntTable | None
    """The durations of cases of several events, with a row for each class; None without any."""
    longest: Integers
    """The most events of a case in each class of durations but the last."""

    @classmethod
    def learn(
        cls, source: TimelineSums, released: ReleasedVariants, spending: Step, rng: Randomness
    ) -> LearntTimes:
        """Ask the tables one after another; what is asked follows from the answers before."""

        def steps(*names: str) -> tuple[Gaussian, ...]:
            return tuple(spending.find(name, Gaussian) for name in names)

        weeks = learn_weeks(source, released, steps(*TREND), rng)
        starts = start_profile(source, released, steps(*STARTS), rng)
        durations, longest = _learn_durations(source, released, steps(*DURATIONS), rng)
        longest_wait = max((row.high for row in durations.rows), default=1) if durations else 1
        waits, precision, row_of_relation = _learn_waits(
            source, released, longest_wait, steps(*WAITS), rng
        )
        long = waits[:, FIRST_DAY:].sum(axis=1)[row_of_relation]
        later, profile = later_profile(source, released, long, steps(*LATER), rng)
        return cls(
            weeks, starts, waits, precision, row_of_relation, released.targets, later, profile,
            durations, longest,
        )  # fmt: skip


def _learn_durations(
    source: TimelineSums, released: ReleasedVariants, steps: tuple[Gaussian, ...], rng: Randomness
) -> tuple[LearntTable | None, Integers]:
    """How long cases take, by classes of their number of events; a case adds one to one cell."""
    variants = released.variants
    several = np.flatnonzero(variants.lengths > 1)
    lengths = variants.lengths[several]
    counts = variants.counts[several]
    if not len(several):
        return None, np.zeros(0, dtype=np.int64)
    noise = steps[1].noise(1).deviation
    classes = int(np.clip(counts.sum() / (25 * noise), 1, 4))
    order = np.argsort(lengths, kind="stable")
    below = np.cumsum(counts[order])
    cuts = np.searchsorted(below, below[-1] * np.arange(1, classes) / classes)
    longest = np.unique(lengths[order][cuts])
    longest = longest[longest < lengths.max()]
    expected = np.bincount(
        np.searchsorted(longest, lengths), counts, minlength=len(longest) + 1
    ).astype(np.float64)

    def contributions(timelines: Timelines) -> CellContributions:
        own = np.searchsorted(longest, timelines.lengths)
        row = np.where(timelines.lengths > 1, own, -1)
        return CellContributions(np.arange(timelines.cases), row, timelines.duration_cells())

    learnt = learn(source, contributions, expected, wait_grid(), DURATION_SETTINGS, 1, steps, rng)
    return learnt, longest


def _learn_waits(
    source: TimelineSums,
    released: ReleasedVariants,
    reaching: int,
    steps: tuple[Gaussian, ...],
    rng: Randomness,
) -> tuple[Floats, Floats, Integers]:
    """How long each relation takes. A case adds one per step, bounded in L2 as a whole.

    No wait is longer than the cases take, by their own table, which is much less noisy.
    """
    many = len(released.relations)
    if not many:
        return np.zeros((0, WAIT_CELLS)), np.zeros(0), np.zeros(0, dtype=np.int64)
    rho = float(sum(step.rho for step in steps))
    row_of = np.arange(many)
    bound = _typical(released, row_of)
    least = 1.5 * math.sqrt(bound / (2 * rho))
    row_of = rows_of_relations(released, least)
    bound = _typical(released, row_of)
    rows = int(row_of.max()) + 1
    expected = np.bincount(row_of, released.counts, minlength=rows).astype(np.float64)
    family = np.zeros(rows, dtype=np.int64)
    family[row_of] = released.targets
    relations = released.relations

    def contributions(timelines: Timelines) -> CellContributions:
        row = np.append(row_of, -1)[timelines.relations(relations)]
        return CellContributions(timelines.case[timelines.second], row, timelines.wait_cells)

    learnt = learn(
        source, contributions, expected, wait_grid(), WAIT_SETTINGS, bound, steps, rng,
        family, reaching,
    )  # fmt: skip
    shares = learnt.shares.copy()
    for share, row in zip(shares, learnt.rows, strict=True):
        above = np.cumsum(share[::-1])[::-1]
        share[above <= min(0.5, 0.2 * row.rounds[-1][2] / row.total)] = 0.0
    precision = np.array([row.total / row.rounds[-1][2] for row in learnt.rows])
    return shares / shares.sum(axis=1, keepdims=True), precision, row_of


def _typical(released: ReleasedVariants, row_of: Integers) -> int:
    """The bound of a case's squared norm: that of a typical released case."""
    return released.bound(released.per_variant(row_of, 1.5), 0.5)


def rows_of_relations(released: ReleasedVariants, least: float) -> Integers:
    """Which relations share a row: frequent ones stand alone, others with their target's."""
    counts, targets = released.counts, released.targets
    alone = counts >= least
    rest = np.bincount(targets[~alone], counts[~alone], minlength=int(targets.max()) + 1)
    group = np.where(rest[targets] >= least, targets, len(rest))
    group[alone] = len(rest) + 1 + np.flatnonzero(alone)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def short_durations(cell: Integers, rng: Randomness) -> Integers:
    """A duration within each cell below half a day: whole milliseconds, in microseconds.

    No cell may be that of no time at all. Within a cell the logarithm is uniform.
    """
    low, high = short_bounds()
    lower, upper = np.maximum(low, MILLISECOND)[cell], high[cell]
    drawn = lower * (upper / lower) ** fractions(len(cell), rng)
    return (np.floor(drawn / MILLISECOND) * MILLISECOND).astype(np.int64)
