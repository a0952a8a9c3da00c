"""Noisy n-grams of the cases, and the Markov chain that they make.

The only other thing here that reads the log is the histogram of lengths. What each step costs
is given by the caller; the proof is in `mechanism.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.contributions import Contributions, Norm
from discreet.mechanisms.headtail.candidates import (
    PHASES,
    Chain,
    context,
    located,
)
from discreet.mechanisms.headtail.loglinear import learnable
from discreet.mechanisms.headtail.votes import Estimate
from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.randomness import Randomness

BUCKETS = 9
"""Lengths 1, 2, 3–4, 5–8, …, 129 and more."""

LABELS = 64
"""Activities of a case that may be found through it, if the alphabet is not public."""

UNSEEN = 0.2
"""Part of delta for showing an activity that only one case has."""

SHARES = ((1.0,), (0.45, 0.55), (0.28, 0.44, 0.28))
"""Of the budget for contexts: the levels of context, as many as the noise allows."""

ACTIVITIES = (0.1, 0.2)
"""Share for the activities themselves if they are known, and if they must be found."""

REACH = (8.0, 40.0)
"""How far an activity must stand out from the noise for each further level."""

OPEN = 5.0
"""A context is opened if its noisy count exceeds so many deviations of the noise."""

ZERO, FAINT = 2.0, 0.8
"""Counts below so many deviations are taken as noise; the second where nearly all would be."""

DROWNED = 2.0
"""Nearly all would be where pairs are all there is and the average one is fewer deviations."""

SMOOTH = (0.3, 10.0)
"""Weight of the shorter context, in deviations: for pairs, and for longer ones."""

SHARPEN = 1.35
"""Exponent of the probabilities: likely sequences make better candidates than typical ones."""


SHORT = 8
"""No limit on lengths is lower than this."""


@dataclass(frozen=True)
class Lengths:
    """Noisy numbers of cases by length, in buckets that double."""

    noisy: Integers
    deviation: float

    @classmethod
    def of(cls, cases: Variants, epsilon: float, source: Randomness) -> Lengths:
        """ε-DP: a case is in one bucket."""
        counts = np.zeros(BUCKETS, dtype=np.int64)
        np.add.at(counts, _bucket(cases.lengths), cases.counts)
        noise = discrete_laplace(1 / epsilon, BUCKETS, source)
        return cls(counts + noise, math.sqrt(2) / epsilon)

    @property
    def total(self) -> Estimate:
        """The number of cases."""
        return Estimate(float(self.noisy.sum()), self.deviation * math.sqrt(BUCKETS))

    @property
    def likely(self) -> Floats:
        """The share of each bucket, those below the noise left out."""
        clear = np.where(self.noisy > self.deviation, self.noisy, 0).astype(np.float64)
        if not clear.any():
            clear[3] = 1.0
        shares: Floats = clear / clear.sum()
        return shares

    @property
    def mean(self) -> float:
        """The mean length, nearly."""
        return float(self.likely @ np.concatenate([[1.0], 0.75 * 2.0 ** np.arange(1, BUCKETS)]))

    @property
    def longest(self) -> int:
        """A length that few cases exceed; a short one may be noise."""
        return max(SHORT, int(2 ** np.flatnonzero(np.cumsum(self.likely) > 0.97)[0]))

    def matched(self, sampled: Variants) -> Variants:
        """Samples weighted halfway towards these lengths."""
        bucket = _bucket(sampled.lengths)
        have = np.bincount(bucket, weights=sampled.counts, minlength=BUCKETS)
        wanted = np.sqrt(self.likely * sampled.cases / np.maximum(have, 1))[bucket]
        counts = np.maximum(np.rint(100 * sampled.counts * wanted), 1)
        return sampled.take(np.arange(len(sampled)), counts.astype(np.int64))


def _bucket(lengths: Ints) -> Integers:
    doubled = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    return np.minimum(doubled, BUCKETS - 1)


@dataclass(frozen=True)
class NGramNoise:
    """What the tables of one release may cost, and how much a case may add to each.

    `shares` are the parts of the budget for the activities and for each level of context; `bound`
    limits what a case adds to a table, as a sum ("l1") or as a sum of squares ("l2"). Counts below
    `zero` deviations are taken as noise. `log_linear` says that the share for contexts is better
    spent on such a model.
    """

    budget: Budget
    norm: Norm
    bound: int
    shares: tuple[float, ...]
    zero: float = ZERO
    log_linear: bool = False

    @classmethod
    def suited(
        cls, budget: Budget, settled: bool, labels: int, cases: float, length: float
    ) -> NGramNoise:
        """The more precise the contexts that the noise allows for, the more tables."""
        reach = cases * length * max(standing_out(budget, length)) / (labels + 1)
        triples = reach / (labels + 1) ** 2
        sums = budget.delta > 0 and learnable(labels, cases, length, _rho(budget))
        if sums and triples < 1:
            first = ACTIVITIES[0 if settled else 1]
            bound = max(1, round(length / 2 + 1))
            return cls(budget, "l2", bound, (first, 1 - first), log_linear=True)
        levels = SHARES[sum(reach > least for least in REACH)]
        zero = FAINT if len(levels) == 1 and reach < DROWNED * (labels + 1) else ZERO
        first = ACTIVITIES[0 if settled and len(levels) > 1 else 1]
        shares = (first, *((1 - first) * share for share in levels))
        gauss, laplace = standing_out(budget, length)
        if gauss * math.sqrt(shares[1]) > laplace * shares[1]:
            return cls(budget, "l2", max(1, round(length / 2 + 1)), shares, zero)
        return cls(budget, "l1", max(1, round(length + 1)), shares, zero)

    def of(self, order: int) -> CountNoise:
        """Noise for the contexts of one order."""
        if self.norm == "l1":
            return CountNoise.laplace(self.bound, self.budget.epsilon * self.shares[order] * _DOWN)
        return CountNoise.gaussian(self.bound, self.rho(order))

    def rho(self, order: int) -> float:
        """What the contexts of one order may cost in zCDP."""
        return _rho(self.budget) * self.shares[order] * _DOWN

    @property
    def unseen_threshold(self) -> float:
        """A count that activities of a single case pass with probability UNSEEN · δ at most.

        Such an activity has a count of at most `bound` (l1) or its root (l2), and a case has at
        most LABELS of them. Discrete Gaussian noise reaches x no more likely than the continuous
        one reaches a step of the grid less; discrete Laplace noise with e^(−x/scale) at most.
        """
        chance = self.budget.delta * (1 - self.budget.delta) * UNSEEN / LABELS
        noise = self.of(0)
        if self.norm == "l1":
            return (self.bound + 1 - float(noise.size) * math.log(chance)) * (1 + 1e-6)
        spread = -NormalDist().inv_cdf(chance) * noise.deviation
        return (math.sqrt(self.bound) + 1 + spread) * (1 + 1e-6)


_DOWN = 1 - 2.0**-40


@lru_cache(maxsize=64)
def _rho(budget: Budget) -> float:
    """What the tables may cost together in zCDP."""
    return zcdp_rho(budget.epsilon, budget.delta * (1 - UNSEEN))


def standing_out(budget: Budget, length: float) -> tuple[float, float]:
    """What one step of a case of some length weighs against Gaussian and against Laplace noise."""
    gauss = 0.0
    if budget.delta:
        gauss = math.sqrt(2 * _rho(budget) / length)
    return gauss, budget.epsilon / (math.sqrt(2) * length)


def found_activities(
    cases: Variants, public: bool, noise: NGramNoise, source: Randomness
) -> dict[str, float]:
    """Activities that may be named, with the noisy number of cases that have them.

    Those whose noisy count passes a threshold: for a public alphabet one that tells them from
    noise (all of them, if there is too much of it), else one that hides single cases. Then only
    activities that some case counts towards may pass at all: a case with more than LABELS
    activities of its own adds no further chances.
    """
    owner = np.repeat(np.arange(len(cases)), cases.lengths)
    given = Contributions.of(owner, cases.codes, len(cases.activities))
    first = np.searchsorted(given.owner, np.arange(len(cases)))
    few = np.arange(len(given.owner)) - first[given.owner] < LABELS
    given = Contributions(
        given.owner[few], given.key[few], np.ones(few.sum(), np.int64), given.size
    )
    shown = given.noisy_counts(cases.counts, noise.bound, noise.norm, noise.of(0), source)
    threshold = ZERO * noise.of(0).deviation if public else noise.unseen_threshold
    if public and (len(noise.shares) == 2 or not (shown > threshold).any()):
        threshold = -math.inf
    eligible = np.full(given.size, public)
    eligible[given.key] = True
    passed = eligible & (shown > threshold)
    return {
        label: float(count)
        for label, count, named in zip(cases.activities, shown, passed, strict=True)
        if named
    }


def learned(
    cases: Variants,
    activity_counts: Floats,
    cases_about: float,
    noise: NGramNoise,
    source: Randomness,
) -> Chain:
    """A chain of noisy counts of what follows which context, each smoothed by the less precise."""
    mark = len(cases.activities)
    base = mark + 1
    clear = np.where(activity_counts > noise.zero * noise.of(0).deviation, activity_counts, 0)
    overall = np.append(clear if clear.any() else np.ones(mark), max(cases_about, 1.0))
    last, following, owner = pairs(cases)
    steps = np.arange(len(owner)) - np.searchsorted(owner, owner)
    depth = len(noise.shares) - 1
    past = [np.where(steps >= back, np.roll(last, back), mark) for back in range(max(depth - 1, 1))]
    contexts = np.arange(base)
    shorter: Floats = np.repeat((overall / overall.sum())[None], base, axis=0)
    levels: list[tuple[Integers, Floats]] = []
    for level in range(depth):
        deviation = noise.of(level + 1).deviation
        place, known = located(contexts, context(level, base, steps, past))
        table = Contributions.of(
            owner[known], place[known] * base + following[known], len(contexts) * base
        )
        counts = table.noisy_counts(
            cases.counts, noise.bound, noise.norm, noise.of(level + 1), source
        ).reshape(-1, base)
        weights = np.where(counts > noise.zero * deviation, counts, 0)
        weights += SMOOTH[min(level, 1)] * deviation * shorter
        weights = (weights / weights.sum(axis=1, keepdims=True)) ** SHARPEN
        levels.append((contexts, weights / weights.sum(axis=1, keepdims=True)))
        contexts = _refined(level, contexts, counts, deviation, base)
        if not len(contexts):
            break
        shorter = _less_precise(levels, contexts, base)
    return Chain(cases.activities, levels)


def _refined(
    level: int, contexts: Integers, counts: Floats, deviation: float, base: int
) -> Integers:
    """The contexts of the next level that are frequent enough to be worth a row."""
    if level == 0:
        often = np.flatnonzero(counts.sum(axis=0)[:-1] > OPEN * deviation)
        later = (np.arange(1, PHASES)[:, None] * base + often).ravel()
        return np.append(base - 1, later)
    row, column = np.nonzero(counts[:, :-1] > OPEN * deviation)
    phase, symbols = np.divmod(contexts[row], base**level)
    grown = symbols * base + column
    # A step later the phase is the next one or, if it lasts longer than a step, the same.
    following = np.minimum(phase + 1, PHASES - 1)
    lasting = np.where(phase > 2, phase, following)
    return np.unique(np.concatenate([following, lasting]) * base ** (level + 1) + np.tile(grown, 2))


def _less_precise(levels: list[tuple[Integers, Floats]], contexts: Integers, base: int) -> Floats:
    """For each context of the next level the weights of the most precise one it refines."""
    found = levels[0][1][contexts % base]
    phase = contexts // base ** len(levels)
    for level, (listed, weights) in enumerate(levels[1:], start=1):
        place, known = located(listed, phase * base**level + contexts % base**level)
        found[known] = weights[place[known]]
    return found
