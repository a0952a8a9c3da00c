"""Partition selection: which keys of an unknown, unbounded domain may be shown, and their counts.

The mechanisms here add integer noise X to every key's count n ≥ 1 and show the key with n + X if
that passes a threshold. One case more or less changes one key's count by one, and keys have
independent noise, so it is enough to look at one key with counts n and n + 1 (n = 0: absent,
never shown). Keys that nobody has are never touched, so no public domain is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.errors import DiscreetError
from discreet.privacy.noise import Categorical, exp_lower, truncated_laplace
from discreet.privacy.randomness import Randomness

# Proof

LARGEST_EPSILON = 700.0
"""Largest ε that floats allow; larger ones are of no use, and a smaller one is always valid."""

# Tuned: on the time and the memory of a table.

LONGEST = 1 << 19
"""Most counts that a table of noise may tell apart."""


class SelectionError(DiscreetError, ValueError):
    """A budget for which no partition selection can be made."""


class Selection(Protocol):
    """A proved (epsilon, delta) partition selection with counts, add-remove, one key per case."""

    @property
    def epsilon(self) -> float:
        """The ε that it costs a case."""

    @property
    def delta(self) -> float:
        """The probability of an exception."""

    @property
    def threshold(self) -> int:
        """Keys are shown if their noisy count is greater than this."""

    def noisy(self, counts: Ints, rng: Randomness) -> Integers:
        """Noisy counts; those of keys that are hidden do not pass the threshold."""


def select(selection: Selection, counts: Ints, rng: Randomness) -> tuple[Integers, Integers]:
    """Indices of the keys that are shown and their noisy counts."""
    if len(counts) and counts.min() < 1:
        raise ValueError("partition selection takes keys that occur: counts of at least 1")
    noisy = selection.noisy(counts, rng)
    shown = np.flatnonzero(noisy > selection.threshold)
    return shown, noisy[shown]


@dataclass(frozen=True)
class TruncatedSelection:
    """TraVaS's selection: noise P[X = x] ∝ e^{−ε|x|} on [−k, k], shown iff n + X > k.

    Proof. Let p be the noise's probabilities and compare counts n and n + 1. A shown value v > k
    has probability p(v − n) and p(v − n − 1): a ratio within e^{±ε} as long as both arguments
    lie in [−k, k]. Both leave it together except at two places. v = n + 1 + k is possible only
    for n + 1: an atom p(k). v = n − k is possible only for n, and is shown only if n > 2k: an
    atom p(−k) = p(k). The key is hidden with probability F(k − n) and F(k − n − 1), F the
    distribution function. For x ≥ −k, F(x) ≤ e^ε·F(x − 1) + p(−k), since p(y) ≤ e^ε·p(y − 1)
    for each y in (−k, x]; the other direction is monotone. At most one of the two atoms that
    belong to n occurs for a given n (if n > 2k hiding is impossible). So δ = p(k) suffices, and
    `threshold` is the smallest k of the paper's formula for which p(k) ≤ δ is certified.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        check_length(self.epsilon, self.delta)

    @cached_property
    def threshold(self) -> int:
        """The paper's k = ⌈ln((e^ε + 2δ − 1)/(δ(e^ε + 1)))/ε⌉, raised if p(k) ≤ δ needs it."""
        grown = math.expm1(self.epsilon)
        ratio = (grown + 2 * self.delta) / (self.delta * (grown + 2))
        k = max(1, math.ceil(math.log(ratio) / self.epsilon) - 1)
        while self._edge(k) > Decimal(self.delta):
            k += 1
        return k

    @property
    def mean(self) -> float:
        """The noise's expected value: 0, since it is symmetric."""
        return 0.0

    def _edge(self, k: int) -> Decimal:
        """p(k) = (1 − q)·q^k/(1 + q − 2q^{k+1}), rounded up.

        Sixty digits against a relative slack of 1e-30 cover cancellation and the k-th power for
        every ε of at least 1e-6 and k below 1e12.
        """
        context = Context(prec=60, rounding=ROUND_CEILING)
        q = context.exp(-Decimal(self.epsilon))
        power = context.power(q, k)
        below = context.subtract(context.add(1, q), context.multiply(2, context.multiply(power, q)))
        edge = context.divide(context.multiply(context.subtract(1, q), power), below)
        return context.multiply(edge, Decimal("1") + Decimal("1e-30"))

    def probabilities(self) -> dict[int, Fraction]:
        """The noise's distribution, value → probability, to hundreds of bits."""
        k = self.threshold
        weights = [exp_lower(-Fraction(self.epsilon) * x, 320) for x in range(k + 1)]
        total = 2 * sum(weights) - weights[0]
        return {x: weights[abs(x)] / total for x in range(-k, k + 1)}

    def noise(self, size: int, rng: Randomness) -> Integers:
        """Independent draws of the truncated noise."""
        return truncated_laplace(Fraction(self.epsilon), self.threshold, size, rng)

    def noisy(self, counts: Ints, rng: Randomness) -> Integers:
        """The counts with noise of their own each."""
        return counts + self.noise(len(counts), rng)


@dataclass(frozen=True)
class OptimalSelection:
    """The selection that shows a key of n cases as often as any (ε, δ) mechanism can, with counts.

    Let π(0) = 0 and π(n + 1) = min(e^ε·π(n) + δ, 1 − e^{−ε}(1 − π(n) − δ), 1): the most that
    (ε, δ) allows for showing a key (Desfontaines et al. 2022). Draw X = t + 1 − J with
    P[J = j] = p(j) = π(j) − π(j − 1) and show the key with n + X iff n + X > t, that is iff
    J ≤ n: with probability π(n), the optimum, for every n.

    Proof that the counts come for free. With count n the outcome is the value t + 1 + n − j with
    probability p(j) for j ≤ n, else "hidden" with probability s(n) = 1 − π(n). A value that has
    index j under n has index j + 1 under n + 1, and index 1 under n + 1 is new. With r = e^ε the
    two hockey-stick divergences are therefore

        more over fewer:  p(1) + Σ_{j ≤ n} max(0, p(j + 1) − r·p(j)) + max(0, s(n + 1) − r·s(n))
        fewer over more:  Σ_{j ≤ n} max(0, p(j) − r·p(j + 1)) + max(0, s(n) − r·s(n + 1)).

    While the first term is the minimum p(j + 1) = r·p(j) and p(1) = δ; while the second is,
    s(j + 1) = (s(j) − δ)/r, so p(j + 1) = p(j)/r; at the crossing p(j + 1) lies between the two;
    at the end the last two terms add up to δ. So both divergences are at most δ for every n.

    None of this is left to real numbers: the table holds integers over a power of two, r is a
    rational below e^ε, and construction evaluates both sums exactly for every n and refuses a
    table for which one passes δ (`_certify`). t is the integer that brings the noise's mean
    nearest to 0; the mean that remains is `mean`, a public number.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        check_length(self.epsilon, self.delta)

    @cached_property
    def _table(self) -> tuple[tuple[int, ...], int]:
        return optimal_table(self.epsilon, self.delta)

    @cached_property
    def threshold(self) -> int:
        """Keys are shown if their noisy count is greater than this."""
        return round(self._mean_index) - 1

    @cached_property
    def _mean_index(self) -> Fraction:
        weights, total = self._table
        return Fraction(sum(j * w for j, w in enumerate(weights, start=1)), total)

    @property
    def mean(self) -> float:
        """The noise's expected value, between −½ and ½."""
        return float(self.threshold + 1 - self._mean_index)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the noise."""
        weights, total = self._table
        p = np.array([w / total for w in weights])
        j = np.arange(1, len(p) + 1) - float(self._mean_index)
        return math.sqrt(float((p * j * j).sum()))

    def probability(self, count: int) -> Fraction:
        """π(count): the probability that a key of that many cases is shown."""
        weights, total = self._table
        return Fraction(sum(weights[:count]), total)

    def probabilities(self) -> dict[int, Fraction]:
        """The noise's exact distribution: value → probability."""
        weights, total = self._table
        return {
            self.threshold + 1 - j: Fraction(w, total) for j, w in enumerate(weights, start=1) if w
        }

    @cached_property
    def _sampler(self) -> Categorical:
        return Categorical(self._table[0])

    def noise(self, size: int, rng: Randomness) -> Integers:
        """Independent draws of the noise."""
        return self.threshold - self._sampler.draw(size, rng)

    def noisy(self, counts: Ints, rng: Randomness) -> Integers:
        """The counts with noise of their own each."""
        return counts + self.noise(len(counts), rng)


@lru_cache(maxsize=64)
def optimal_table(epsilon: float, delta: float) -> tuple[tuple[int, ...], int]:
    """The steps p(j) of π, as integers over a power of two."""
    spread = math.ceil(1.5 * epsilon)
    bits = 192 - math.floor(math.log2(delta)) + spread  # resolves δ·e^−ε
    one = 1 << bits
    exact = Fraction(delta)
    growth = exp_lower(Fraction(epsilon), 128)
    slack = 1 << 80 + spread  # a rounded step counts up to e^ε times
    step = exact.numerator * one // exact.denominator - slack
    up, down = growth.numerator, growth.denominator
    weights: list[int] = []
    hidden = one
    while hidden:
        shown = one - hidden
        grown = shown * up // down + step
        least = -(-(hidden - step) * down // up)
        following = min(grown, one - max(0, least), one)
        weights.append(following - shown)
        hidden = one - following
    _certify(weights, one, growth, exact)
    return tuple(weights), one


def _certify(weights: list[int], one: int, growth: Fraction, delta: Fraction) -> None:
    """Evaluate both divergences exactly, for every count, against δ."""
    r, common = growth.numerator, growth.denominator
    limit = delta * one * common
    hidden = one
    more = weights[0] * common
    fewer = 0
    for j, weight in enumerate(weights):
        left = hidden - weight
        if more > limit or fewer + max(0, hidden * common - left * r) > limit or weight < 0:
            raise ArithmeticError("the selection table does not meet its delta")
        following = weights[j + 1] if j + 1 < len(weights) else 0
        more += max(0, following * common - weight * r)
        fewer += max(0, weight * common - following * r)
        hidden = left
    if max(more, fewer) > limit or hidden != 0:
        raise ArithmeticError("the selection table does not meet its delta")


def check_budget(epsilon: float, delta: float) -> None:
    """Refuse a budget for which no partition selection can be made."""
    if not (1e-6 <= epsilon <= LARGEST_EPSILON and 0 < delta < 1):
        raise SelectionError(
            f"partition selection needs epsilon between 1e-6 and 700 and delta strictly between "
            f"0 and 1, not {epsilon} and {delta}"
        )


def table_length(epsilon: float, delta: float) -> int:
    """The number of counts that the tables of noise tell apart, or a little more.

    With c = δ/(e^ε − 1), π(n) + c grows by e^ε from c on, and later 1 − π(n) + c shrinks by e^ε
    down to c: each takes at most ln(1 + 1/c)/ε steps.
    """
    odds = math.log(math.expm1(epsilon)) - math.log(delta)
    return 4 + math.ceil(2 * float(np.logaddexp(0, odds)) / epsilon)


def check_length(epsilon: float, delta: float) -> None:
    """Refuse a budget whose table of noise would be too long, before it is made."""
    length = table_length(epsilon, delta)
    if length > LONGEST:
        raise SelectionError(
            f"with epsilon = {epsilon:.3g} and delta = {delta:.3g} for a case, what fewer than "
            f"about {length // 2:,} cases have in common is hidden, and noise of that size is not "
            f"computed (up to {LONGEST // 2:,} it is)"
        )
