"""Votes: every case is counted at the nearest element of a released support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.variants import Variants
from discreet.mechanisms.headtail.nearness import nearest
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness


def noisy_votes(cases: Variants, support: Variants, noise: CountNoise, rng: Randomness) -> Integers:
    """The votes with noise for a sensitivity of 1: a case changes one cell by one."""
    votes = np.zeros(len(support), dtype=np.int64)
    np.add.at(votes, nearest(cases, support), cases.counts)
    return noise.added(votes, rng)


@dataclass(frozen=True)
class Estimate:
    """A noisy number and the standard deviation of its noise."""

    value: float
    deviation: float

    def combined(self, other: Estimate) -> Estimate:
        """The mean of both by inverse variance."""
        mine, others = self.deviation**-2, other.deviation**-2
        mean = (mine * self.value + others * other.value) / (mine + others)
        return Estimate(mean, (mine + others) ** -0.5)


RATIOS = np.concatenate([[0.0], 2.0 ** np.arange(-6, 14.1, 0.4)])
"""How many times its predicted votes an element may have."""

EVEN = 0.25
"""Part of the predicted votes that is spread evenly: predictions may be far off."""

MOST_SHIFT = 3.0
"""Scales of the noise by which an estimate may differ from the noisy votes: ratios are coarse, and
must not matter where there is hardly any noise."""

ROUNDS = 40
"""Rounds in which the distribution of the ratios is fitted."""


def expected_votes(noisy: Integers, predicted: Floats, scale: float) -> Floats:
    """The votes that each element has on average, given its noisy ones and what was predicted.

    Empirical Bayes: votes are predictions times ratios, whose distribution over all elements is
    fitted to the noisy votes (expectation maximisation); the noise is Laplace of this scale.
    """
    mean = (1 - EVEN) * predicted + EVEN * predicted.sum() / len(predicted)
    likely = np.exp(-np.abs(noisy[:, None] - mean[:, None] * RATIOS) / scale) + 1e-30
    share = np.full(len(RATIOS), 1 / len(RATIOS))
    for _ in range(ROUNDS):
        share *= (1 / (likely @ share)) @ likely / len(likely)
    found = mean * (likely @ (share * RATIOS)) / (likely @ share)
    near: Floats = np.clip(found, noisy - MOST_SHIFT * scale, noisy + MOST_SHIFT * scale)
    return np.maximum(near, 0.0)


def weighed(noisy: Integers, predicted: Floats, scale: float, total: float, trust: float) -> Floats:
    """Weights of this total: a mean of two estimates that err in different ways.

    The nearest point of the simplex trusts the noisy votes alone, empirical Bayes the predicted
    ones too; `trust` is the weight of the latter.
    """
    nearest_point = onto_simplex(noisy.astype(np.float64), total)
    if total <= 0:
        return nearest_point
    expected = expected_votes(noisy, predicted * (total / predicted.sum()), scale)
    expected *= total / max(expected.sum(), 1e-9)
    mean: Floats = (1 - trust) * nearest_point + trust * expected
    return mean


def onto_simplex(noisy: Floats, total: float) -> Floats:
    """The nearest nonnegative numbers with this sum: every cell gives up the same amount."""
    if total <= 0:
        return np.zeros_like(noisy)
    falling = np.sort(noisy)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(noisy) + 1)
    shift = excess[np.flatnonzero(falling > excess)[-1]]
    projected: Floats = np.maximum(noisy - shift, 0.0)
    return projected


def whole(weights: Floats) -> Integers:
    """Whole numbers that differ from these by less than one and have the rounded sum."""
    floor = np.floor(weights)
    missing = round(float(weights.sum())) - int(floor.sum())
    counts = floor.astype(np.int64)
    counts[np.argsort(floor - weights, kind="stable")[:missing]] += 1
    return counts
