"""Lower bounds on epsilon: from counted runs with their confidence, or exact where they are known.

Counted runs give a bound that errs with a chance of at most alpha. Two known distributions give
the hockey-stick divergence between them in rationals, which is the truth for those two logs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.privacy.noise import exp_upper

# Proof: the search for the largest product is fine enough
SMALLEST = 1e-15
"""Smallest probability that is told apart from 0."""
ZOOMS = 4
"""Rounds of the search, each sixteen times finer; the rest moves a product by less than 10⁻⁸."""


def at_least(hits: int, runs: int, alpha: float) -> float:
    """Clopper–Pearson: below the true probability, except with probability at most alpha."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, runs - hits + 1, alpha)) if hits else 0.0


def at_most(hits: int, runs: int, alpha: float) -> float:
    """Clopper–Pearson: above the true probability, except with probability at most alpha."""
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1, runs - hits, 1 - alpha)) if hits < runs else 1.0


def p_value(hits: int, other: int, runs: int, epsilon: float, delta: float) -> float:
    """The p-value of (ε, δ) for an event seen more often on one log than on the other.

    `hits` of `runs` on the log that makes the event likelier, `other` of as many on its
    neighbour. (ε, δ) demands P[E] ≤ e^ε·P′[E] + δ. For any two probabilities that keep to it,
    P[at least `hits`] and P[at most `other`] are two independent p-values, and the product of two
    such is at most x with a chance of x·(1 − ln x) (Fisher 1932). So x is the largest such
    product over all that (ε, δ) allows. Both factors are logarithmically concave (integrals of
    beta densities), and P[E] is linear in P′[E] at the limit, so one search finds the largest.
    """
    from scipy.special import betainc

    growth = math.exp(epsilon)
    low = max(0.0, (at_least(hits, runs, SMALLEST) - delta) / growth)
    high = at_most(other, runs, SMALLEST)
    largest = 0.0
    for _ in range(ZOOMS if low < high else 0):
        shares = np.linspace(low, high, 33)
        likely = np.minimum(1.0, growth * shares + delta)
        above = betainc(hits, runs - hits + 1, likely) if hits else np.ones(33)
        below = betainc(runs - other, other + 1, 1 - shares) if other < runs else np.ones(33)
        best = int((above * below).argmax())
        largest = float(above[best] * below[best])
        low, high = shares[max(best - 1, 0)], shares[min(best + 1, 32)]
    largest = max(largest, SMALLEST)
    return largest * (1 - math.log(largest))


def epsilon_from_runs(hits: int, other: int, runs: int, delta: float, alpha: float) -> float:
    """An ε that no mechanism of true (ε, δ) below it gives, except with probability alpha.

    It is the edge of `p_value`; 0 where nothing follows.
    """
    if p_value(hits, other, runs, 0.0, delta) >= alpha:
        return 0.0
    low, high = 0.0, 1.0
    while p_value(hits, other, runs, high, delta) < alpha:
        low, high = high, 2 * high
    for _ in range(24):
        middle = (low + high) / 2
        if p_value(hits, other, runs, middle, delta) < alpha:
            low = middle
        else:
            high = middle
    return low


def promising(hits: Floats, other: Floats, runs: int, delta: float, z: float = 4.0) -> Floats:
    """A quick version of the same bound for many events at once: to choose one, not to judge it.

    Wilson's intervals for both shares instead of the exact test.
    """
    low, high = _wilson(hits, runs, -z), _wilson(other, runs, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > delta, np.log((low - delta) / high), -np.inf)


def _wilson(hits: Floats, runs: int, z: float) -> Floats:
    share = hits / runs
    square = z * z / runs
    spread = z * np.sqrt(share * (1 - share) / runs + square / (4 * runs))
    return np.clip((share + square / 2 + spread) / (1 + square), 0.0, 1.0)


def one_run_p_value(
    canaries: int, guesses: int, correct: int, epsilon: float, delta: float
) -> float:
    """The p-value of (ε, δ) for a number of correct guesses about the canaries of one run.

    Steinke, Nasr, Jagielski: Privacy Auditing with One (1) Training Run, NeurIPS 2023,
    Theorem 5.2. Each canary is included by an independent fair coin; under pure ε the number of
    correct guesses is dominated by a binomial with the accuracy of randomised response, and δ
    adds 2·m·δ·max_i P[v − i ≤ B < v]/i.
    """
    from scipy.stats import binom

    if not 0 <= correct <= guesses <= canaries:
        raise ValueError(
            f"needs correct ≤ guesses ≤ canaries, not {correct}, {guesses} and {canaries}"
        )
    accuracy = 1 / (1 + math.exp(-epsilon))
    chance = float(binom.sf(correct - 1, guesses, accuracy))
    if delta and correct:
        below = np.cumsum(binom.pmf(np.arange(correct - 1, -1, -1), guesses, accuracy))
        steepest = float((below / np.arange(1, correct + 1)).max())
        chance += 2 * canaries * delta * steepest
    return min(1.0, chance)


def epsilon_from_one_run(
    canaries: int, guesses: int, correct: int, delta: float, alpha: float
) -> float:
    """The largest ε that a number of correct guesses refutes, with confidence 1 − alpha."""
    low, high = 0.0, 1.0
    if one_run_p_value(canaries, guesses, correct, 0.0, delta) >= alpha:
        return 0.0
    while high < 100 and one_run_p_value(canaries, guesses, correct, high, delta) < alpha:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if one_run_p_value(canaries, guesses, correct, middle, delta) < alpha:
            low = middle
        else:
            high = middle
    return low


Distribution = Mapping[Any, Fraction]
"""Outcome → probability. What is missing from 1 makes every divergence a lower bound."""


def hockey_stick(left: Distribution, right: Distribution, growth: Fraction) -> Fraction:
    """Σ max(0, P(x) − growth·Q(x)): what P exceeds growth times Q by on the worst event."""
    nothing = Fraction(0)
    return sum((max(nothing, p - growth * right.get(x, nothing)) for x, p in left.items()), nothing)


def smallest_delta(left: Distribution, right: Distribution, epsilon: float) -> Fraction:
    """The δ below which (ε, δ) fails for these two logs, in either direction.

    e^ε is rounded up, so that a mechanism is never blamed for the rounding.
    """
    growth = exp_upper(Fraction(epsilon), 160)
    return max(hockey_stick(left, right, growth), hockey_stick(right, left, growth))


def smallest_epsilon(left: Distribution, right: Distribution, delta: float) -> float:
    """The ε below which (ε, δ) fails for these two logs; infinite if none is enough."""
    return max(_one_way(left, right, delta), _one_way(right, left, delta))


def _one_way(left: Distribution, right: Distribution, delta: float) -> float:
    """Take the outcomes by falling ratio: on the worst event, P − e^ε·Q = δ.

    Outcomes that only P has come first. Once the mass of P passes δ, the ratio (P − δ)/Q over
    the outcomes so far is largest where the next outcome's own ratio falls below it.
    """
    allowed = Fraction(delta)
    taken = sum((p for x, p in left.items() if not right.get(x)), Fraction(0))
    if taken > allowed:
        return math.inf
    ratios = sorted(
        ((p / right[x], p, right[x]) for x, p in left.items() if right.get(x)), reverse=True
    )
    against = best = Fraction(0)
    for _, p, q in ratios:
        taken, against = taken + p, against + q
        best = max(best, (taken - allowed) / against)
    return max(0.0, _log(best)) if best > 0 else 0.0


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def joint(left: Distribution, right: Distribution) -> Distribution:
    """The distribution of two independent outcomes."""
    return {(x, y): p * q for x, p in left.items() for y, q in right.items()}
