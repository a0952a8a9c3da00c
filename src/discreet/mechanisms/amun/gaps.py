"""How long it takes from one event to the next: private histograms per relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.instants import SECOND
from discreet.wholelogs.sampling import choose_by_row, fractions, shrunk, significant
from discreet.mechanisms.amun.spending import ACTIVITY_GAPS, ALL_GAPS, RELATION_GAPS
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Step

EDGES = np.array([0, 1, *(SECOND << power for power in range(32))], dtype=np.int64)
"""Bins of durations, public: none at all, under a second, then doubling to 68 years and more."""

BINS = len(EDGES) - 1

WEIGHT = 1 << 16
"""What a case spreads evenly over its steps, rounded down: its L1 norm in each histogram."""


@dataclass(frozen=True)
class Steps:
    """The steps of a log: durations, which relation each is of (−1: not asked for), by case.

    `targets[r]` is the group of relation `r`: the activity it leads to. The relations must be
    known already, from released variants.
    """

    durations: Integers
    relation: Integers
    offsets: Ints
    targets: Integers

    def counts(self, rows: Integers, size: int) -> Integers:
        """The weight in each of `size` rows and each bin; rows of −1 are left out.

        A case with g steps adds ⌊WEIGHT/g⌋ to one cell for each, so at most WEIGHT in all,
        whatever its length.
        """
        steps = np.diff(self.offsets)
        weight = np.repeat(WEIGHT // np.maximum(steps, 1), steps)
        cell = np.searchsorted(EDGES[:-1], self.durations, side="right") - 1
        known = rows >= 0
        table = np.zeros(size * BINS, dtype=np.int64)
        np.add.at(table, rows[known] * BINS + cell[known], weight[known])
        return table.reshape(size, BINS)


@dataclass(frozen=True)
class Gaps:
    """The distribution of durations of each relation, over the bins."""

    rows: Floats

    @classmethod
    def learn(cls, steps: Steps, spending: Step, rng: Randomness) -> Gaps:
        """From three histograms: of all steps, by the activity they lead to, and by relation.

        Each has L1 sensitivity WEIGHT per case, so noise of scale WEIGHT/ε′ on every cell makes
        it ε′-DP. The finer ones depart from the coarser only where the noise allows.
        """
        activities = int(steps.targets.max(initial=-1)) + 1
        into = np.append(steps.targets, -1)[steps.relation]
        everything = np.zeros_like(into)
        uniform = np.full((1, BINS), 1 / BINS)

        def noisy(counts: Integers, name: str) -> tuple[Floats, float]:
            """Counts with noise, in units of a case, and the noise's scale."""
            noise = spending.find(name, Laplace).noise(WEIGHT)
            return noise.added(counts, rng) / WEIGHT, float(noise.size / WEIGHT)

        counts, scale = noisy(steps.counts(everything, 1), ALL_GAPS)
        overall = _within_range(shrunk(counts, scale, uniform), counts, scale)
        counts, scale = noisy(steps.counts(into, activities), ACTIVITY_GAPS)
        by_activity = shrunk(counts, scale, overall)
        counts, scale = noisy(steps.counts(steps.relation, len(steps.targets)), RELATION_GAPS)
        return cls(shrunk(counts, scale, by_activity[steps.targets]))

    def draw(self, relation: Integers, rng: Randomness) -> Integers:
        """A duration for each step: a bin by its share, then log-uniform within it."""
        cell = choose_by_row(self.rows, relation, rng)
        low = np.maximum(EDGES[cell], 1).astype(np.float64)
        high = EDGES[cell + 1].astype(np.float64)
        drawn = low * (high / low) ** fractions(len(cell), rng)
        return np.where(cell == 0, 0, np.floor(drawn)).astype(np.int64)


def _within_range(row: Floats, counts: Floats, scale: float) -> Floats:
    """Without the bins before the first and after the last that the noise cannot explain.

    Otherwise a little noise at the far end would invent steps that take decades.
    """
    found = np.flatnonzero(significant(counts[0], scale))
    if not len(found):
        return row
    kept = np.zeros_like(row)
    kept[:, found[0] : found[-1] + 1] = row[:, found[0] : found[-1] + 1]
    return kept / kept.sum() if kept.sum() > 0 else row
