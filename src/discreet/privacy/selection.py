"""Selection of one or several of many candidates by score, exact and private.

`sensitivity` bounds how far one score moves between neighbours. `monotone` promises that one
neighbour never has a lower score than the other, as counts do under add-remove; then `epsilon`
buys noise of scale sensitivity/epsilon. Otherwise, as always under swap, scores may move apart
and the scale is 2·sensitivity/epsilon. With the right promise each function is epsilon-DP for
the neighbours the sensitivity was computed for.

Scores are integers or fractions. Candidates must be public or already private: their number and
order are not hidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache, partial
from math import lcm
from numbers import Rational as Exact
from typing import TypeAlias

import numpy as np

from discreet.arrays import Integers
from discreet.privacy.noise import (
    GUARD,
    Enclosure,
    Inversion,
    Rational,
    Weights,
    exp_enclosure,
    outlasts,
    products,
)
from discreet.privacy.randomness import Randomness

Score: TypeAlias = Exact | int


def noisy_max(
    scores: Iterable[Score],
    epsilon: Rational,
    sensitivity: Rational,
    monotone: bool,
    rng: Randomness,
) -> int:
    """Return the index of the highest score plus exponential noise (permute-and-flip).

    Epsilon-DP: given the noise of the others, candidate i wins iff its own noise passes a
    threshold, which neighbours move by at most 2·sensitivity (by sensitivity if monotone), and
    exponential noise passes it with a probability that changes by at most e^epsilon. Exact
    without drawing reals: by memorylessness all candidates whose noise lifts them to the highest
    score have the same excess, so each is lifted with probability exp(-gap/scale) and the winner
    is uniform among the lifted. Never worse in expectation than the exponential mechanism.
    """
    gaps, rate = _gaps(scores, epsilon, sensitivity, monotone)
    return _lift(gaps, rate, rng)


def noisy_top_k(
    scores: Iterable[Score],
    k: int,
    epsilon: Rational,
    sensitivity: Rational,
    monotone: bool,
    rng: Randomness,
) -> list[int]:
    """Return k distinct indices, best first: k rounds of `noisy_max`, each with epsilon/k.

    Epsilon-DP by adaptive composition, the order included.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    gaps, rate = _gaps(scores, Fraction(epsilon) / k, sensitivity, monotone)
    if k > gaps.size:
        raise ValueError(f"cannot choose {k} of {gaps.size} candidates")
    left = np.arange(gaps.size)
    chosen = []
    for _ in range(k):
        winner = _lift(gaps[left] - gaps[left].min(), rate, rng)
        chosen.append(int(left[winner]))
        left = np.delete(left, winner)
    return chosen


def exponential(
    scores: Iterable[Score],
    epsilon: Rational,
    sensitivity: Rational,
    monotone: bool,
    rng: Randomness,
) -> int:
    """Return an index with probability proportional to exp(score/scale): exponential mechanism.

    Epsilon-DP, and its privacy loss spans no more than epsilon from end to end, so it composes
    better than `noisy_max` under zCDP (epsilon²/8). Candidates of equal score are drawn as one.
    """
    gaps, rate = _gaps(scores, epsilon, sensitivity, monotone)
    levels, counts = np.unique(gaps, return_counts=True)
    level = Inversion(partial(_weigh, rate, levels, counts)).draw(1, rng)[0]
    members = np.flatnonzero(gaps == levels[level])
    return int(members[rng.below(members.size)])


def _gaps(
    scores: Iterable[Score], epsilon: Rational, sensitivity: Rational, monotone: bool
) -> tuple[Integers, Fraction]:
    """Return each score's distance from the highest on a common grid, and the rate per step."""
    if min(Fraction(epsilon), Fraction(sensitivity)) <= 0:
        raise ValueError("epsilon and sensitivity must be positive")
    values = scores.tolist() if isinstance(scores, np.ndarray) else list(scores)
    if not values:
        raise ValueError("there are no candidates to choose from")
    for value in values:
        if not isinstance(value, Exact):
            raise TypeError(
                f"scores must be integers or fractions, not {type(value).__name__}: compute them "
                "as counts or with fractions.Fraction, or round each case's share down to a grid"
            )
    grid = lcm(*{int(value.denominator) for value in values})
    exact = [int(value.numerator) * (grid // int(value.denominator)) for value in values]
    best, worst = max(exact), min(exact)
    if best - worst >= 1 << 62:
        raise OverflowError("scores lie too far apart, or on too fine a grid, for 64 bits")
    rate = Fraction(epsilon) / Fraction(sensitivity) / grid / (1 if monotone else 2)
    return np.array([best - value for value in exact], np.int64), rate


def _lift(gaps: Integers, rate: Fraction, rng: Randomness) -> int:
    lifted = np.flatnonzero(outlasts(rate, gaps, rng))
    return int(lifted[rng.below(lifted.size)])


def _weigh(rate: Fraction, levels: Integers, counts: Integers, bits: int) -> Weights:
    """Weigh each level by its count times exp(-rate·level), up to where the rest is negligible."""
    precision = bits + GUARD

    @cache
    def ratio(step: int) -> Enclosure:
        return exp_enclosure(-rate * step, precision)

    weights: list[Enclosure] = []
    left = int(counts.sum())
    powers = products(precision, map(ratio, np.diff(levels).tolist()))
    for count, (low, high) in zip(counts.tolist(), powers, strict=True):
        if left * high >> precision - bits - 1 == 0:
            return weights, left * high
        weights.append((count * low, count * high))
        left -= count
    return weights, 0
