"""Votes: each hidden case is counted at the nearest element of a released support.

A vote depends on one case and the support only (`nearest`), so a case changes one count by one.
What brings the noisy votes to weights of the right sum (`weighed`) is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Integers
from discreet.log.variants import Variants
from discreet.models.edits import spelled
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness

Distances = npt.NDArray[np.float32]

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
RATIOS = np.concatenate([[0.0], 2.0 ** np.arange(-6, 14.1, 0.4)])
"""Ratios that the votes of an element may have to its predicted votes."""

EVEN = 0.25
"""Part of the predicted votes that is spread evenly, since predictions may be far off."""

MOST_SHIFT = 3.0
"""Most that an estimate differs from the noisy votes, in scales of the noise: ratios are coarse,
and must not matter where there is hardly any noise."""

ROUNDS, HALVINGS = 40, 12
"""Rounds that fit the distribution of the ratios, and bisections that find λ."""

LEAST_LEVEL = 0.001
"""Lowest level of a quantile; the highest is one less it."""

# Tuned for speed on two cores
BLOCK = 1_000_000
"""Distances held in memory at a time."""

ALONE = 200_000
"""Number of distances from which on threads share the work."""


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


def noisy_votes(cases: Variants, support: Variants, noise: CountNoise, rng: Randomness) -> Integers:
    """The noisy votes; spends the noise's step, of sensitivity 1: a case changes one by one."""
    votes = np.zeros(len(support), dtype=np.int64)
    np.add.at(votes, nearest(cases, support), cases.counts)
    return noise.added(votes, rng)


def nearest(cases: Variants, support: Variants) -> Integers:
    """The nearest element of the support to each variant, the first of several.

    A rule that reads one case and the support only: what a vote may depend on.
    """
    words, others = spelled(cases, support)
    rows = max(1, BLOCK // len(support))
    blocks = (words[begin : begin + rows] for begin in range(0, len(words), rows))
    found = [_distances(block, others).argmin(axis=1) for block in blocks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def distances(some: Variants, others: Variants) -> Distances:
    """The relative edit distance of every pair: over the longer length, so between 0 and 1."""
    return _distances(*spelled(some, others))


def gaps(support: Variants) -> Floats:
    """The distance of each sequence to the nearest other one; 1 where there is no other."""
    apart = distances(support, support)
    np.fill_diagonal(apart, 1)
    found: Floats = apart.min(axis=1).astype(np.float64)
    return found


def joined(*logs: Variants) -> tuple[Variants, list[Integers]]:
    """The sequences of several logs, each once, with their counts added up.

    And the place of each log's sequences among them.
    """
    labels = tuple(sorted({label for log in logs for label in log.activities}))
    place = {label: code for code, label in enumerate(labels)}
    recoded = [
        np.array([place[label] for label in log.activities], dtype=np.int32)[log.codes]
        for log in logs
    ]
    lengths = np.concatenate([log.lengths for log in logs])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found, where = Variants.of_cases(labels, np.concatenate(recoded), offsets)
    counts = np.bincount(where, np.concatenate([log.counts for log in logs]), len(found))
    places = np.split(where, np.cumsum([len(log) for log in logs])[:-1])
    return replace(found, counts=counts.astype(np.int64)), places


def _distances(some: list[str], others: list[str]) -> Distances:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    workers = 1 if len(some) * len(others) < ALONE else -1
    found: Distances = cdist(
        some, others, scorer=Levenshtein.normalized_distance, dtype=np.float32, workers=workers
    )
    return found


@dataclass(frozen=True)
class Posterior:
    """Possible votes of each element, and the probability of each number.

    `least` and `most` bound them.
    """

    votes: Floats
    chances: Floats
    least: Floats
    most: Floats

    @classmethod
    def of(cls, noisy: Integers, predicted: Floats, scale: float) -> Posterior:
        """The posterior given noisy votes, Laplace noise of this scale, and predicted votes.

        Empirical Bayes: votes are predictions times ratios, whose distribution over all elements
        is fitted to the noisy votes (expectation maximisation).
        """
        mean = (1 - EVEN) * predicted + EVEN * predicted.sum() / len(predicted)
        votes = mean[:, None] * RATIOS
        likely = np.exp(-np.abs(noisy[:, None] - votes) / scale) + 1e-30
        share = np.full(len(RATIOS), 1 / len(RATIOS))
        for _ in range(ROUNDS):
            share *= (1 / (likely @ share)) @ likely / len(likely)
        chances = likely * share
        chances /= chances.sum(axis=1, keepdims=True)
        shift = MOST_SHIFT * scale
        return cls(votes, chances, np.maximum(noisy - shift, 0.0), np.maximum(noisy + shift, 0.0))

    @cached_property
    def _edges(self) -> Floats:
        """Bounds between neighbouring numbers of votes; zero has a band of its own."""
        none, between = self.votes[:, :1], (self.votes[:, 1:-1] + self.votes[:, 2:]) / 2
        edges: Floats = np.hstack([none, none, between, self.votes[:, -1:]])
        return edges

    @cached_property
    def _reach(self) -> Floats:
        return np.cumsum(self.chances, axis=1)

    def quantiles(self, levels: Floats) -> Floats:
        """The quantile of each element's votes at its level."""
        row = np.arange(len(levels))
        band = np.minimum((self._reach < levels[:, None]).sum(axis=1), len(RATIOS) - 1)
        beyond = (self._reach[row, band] - levels) / np.maximum(self.chances[row, band], 1e-12)
        low, high = self._edges[row, band], self._edges[row, band + 1]
        found: Floats = high - np.minimum(np.maximum(beyond, 0), 1) * (high - low)
        bounded: Floats = np.minimum(np.maximum(found, self.least), self.most)
        return bounded

    def mean(self, total: float) -> Floats:
        """The votes of each element on average, brought to this total."""
        found = np.clip((self.votes * self.chances).sum(axis=1), self.least, self.most)
        return scaled(found, total)

    def likeliest(self, gaps: Floats, total: float) -> Floats:
        """Weights of this total that are likely to be near the votes.

        A vote too many at an element has to be moved by its gap at least, how far it is from the
        nearest other one. The sum of |weight − votes| times gap is least on average, among all
        weights of one sum, at the quantiles of levels ½ + λ/gap, for the λ that makes that sum.
        """
        below, above = -1.0, 1.0
        for _ in range(HALVINGS):
            middle = (below + above) / 2
            levels = np.minimum(np.maximum(0.5 + middle / gaps, LEAST_LEVEL), 1 - LEAST_LEVEL)
            found = self.quantiles(levels)
            below, above = (middle, above) if found.sum() < total else (below, middle)
        return scaled(found, total)


def weighed(noisy: Integers, predicted: Floats, gaps: Floats, scale: float, total: float) -> Floats:
    """Weights of this total: the mean of three estimates that err in different ways.

    The nearest point of the simplex trusts the noisy votes alone; the other two trust the
    predicted ones too, and either hit each element on average or move few cases far.
    """
    nearest_point = onto_simplex(noisy.astype(np.float64), total)
    if total <= 0:
        return nearest_point
    posterior = Posterior.of(noisy, scaled(predicted, total), scale)
    return (nearest_point + posterior.mean(total) + posterior.likeliest(gaps, total)) / 3


def scaled(weights: Floats, total: float) -> Floats:
    """Weights in the same proportions, of this total."""
    found: Floats = weights * (total / max(float(weights.sum()), 1e-9))
    return found


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
