"""Partition selection that keeps a budget for the cases it hides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.privacy.noise import (
    Categorical,
    discrete_laplace,
    exp_enclosure,
    exp_lower,
    exp_upper,
    geometric,
)
from discreet.privacy.partition import check_budget
from discreet.privacy.randomness import Randomness

LEAST_LEFT = 1e-9
"""The part of epsilon that must not be reserved."""


@dataclass(frozen=True)
class ReservedSelection:
    """Show keys with noisy counts at full ε, and leave (ε′, δ′) to whatever reads the hidden cases.

    First every key is shown or hidden, with noise of its own. Then any (ε′, δ′)-DP mechanism, which
    may depend on what was shown, reads the cases whose key was hidden. The claim: both together
    are (ε, δ + δ′)-DP under add-remove, for 0 < ε′ < ε. Basic composition would charge ε + ε′. It
    overcharges because a case pays for only one of the two: if its key is shown, the hidden
    cases are the same without it.

    With q = e^−ε, ρ = e^−(ε − ε′), a public m ≥ 1 and, for each key, a J in 1…m, discrete Laplace
    noise X of scale 1/ε and a threshold T ≥ m, all independent:

        a key of n cases is shown, with the count max(n, m) + X, if J ≤ n and max(n, m) + X ≥ T.

    T is m with probability 1 − h₀, m + 1 with h₀ − h₁, and else m + 2 + G, P[G ≥ k] = ρᵏ. So a
    count c is hidden by T with probability h(c) = 1 below m, h₀ at m and h₁ρᵏ at m + 1 + k.

    Proof. Neighbours differ in one case, of a key with n and n + 1 cases. The other keys' outcomes
    have one distribution for both; fix them. Let Q(n, c) be the probability that the key is shown
    with count c, and s(n) that it is hidden. If it is shown, the second mechanism reads the same
    cases in both logs. If it is hidden, that mechanism's inputs are neighbours, so any set of its
    outputs has probabilities y ≤ e^ε′·z + δ′ and the reverse. The hockey-stick divergences at ε are
    therefore at most δ′ plus

        more over fewer:  Σ_c max(0, Q(n + 1, c) − e^ε·Q(n, c)) + max(0, e^ε′·s(n + 1) − e^ε·s(n))
        fewer over more:  Σ_c max(0, Q(n, c) − e^ε·Q(n + 1, c)) + max(0, e^ε′·s(n) − e^ε·s(n + 1)),

    and each line is at most δ:

    - n ≥ m. J plays no part, and Q(n, c) = P[n + X = c]·(1 − h(c)): the coin depends on the count
      alone, so the ratio is that of X, within e^±ε, and both sums are 0. As h falls, so does
      s(n) = E[h(n + X)], and the first line is 0. Summing the geometric series,

          s(m + k)·(1 + q)/(1 − q) = qᵏ·(q/(1 − q) + h₀ − h₁/(ρ − q)) + ρᵏ·h₁·(…),  (…) > 0.

      If the bracket of qᵏ is not positive, s(n + 1) ≥ ρ·s(n), and the second line is 0.
    - n < m. A key that J lets pass is treated as one of m cases: Q(n, c) = λ(n)·Q(m, c) with
      λ(n) = P[J ≤ n], λ(0) = 0. λ rises, so the second sum and the first line's last term are 0.
      What is left are π(m)·max(0, λ(n + 1) − e^ε·λ(n)) and max(0, e^ε′·s(n) − e^ε·s(n + 1)) with
      s(n) = 1 − λ(n)·π(m), π(m) = 1 − s(m).

    None of this is left to real numbers: λ, h₀ and h₁ are integers over a power of two, and
    construction refuses them unless, with bounds of the exponentials that err on the safe side,
    the bracket is not positive, h falls, and both numbers of the second case are at most δ for
    every n < m (`certify`).

    The λ and h are those that show the most. With π(n) = λ(n)·π(m) below m and 1 − s(n) from there,
    π(n + 1) = min(e^ε·π(n) + δ, 1 − ρ·(1 − π(n))): both bounds that any selection with this promise
    must keep but for the δ that it might also use beyond m. From m on, s falls by ρ each time:
    the bracket is 0. The count's noise is that of plain ε-DP counts whatever the reserve.
    """

    epsilon: float
    delta: float
    reserve: float

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        if not 0 < self.reserve <= self.epsilon - LEAST_LEFT:
            raise ValueError(f"the reserve must lie in (0, epsilon), not {self.reserve}")

    @cached_property
    def _table(self) -> Table:
        return reserved_table(self.epsilon, self.delta, self.reserve)

    @property
    def threshold(self) -> int:
        """Keys are shown if their noisy count is greater than this."""
        return len(self._table.passing) - 1

    @property
    def deviation(self) -> float:
        """Standard deviation of a count's noise."""
        q = math.exp(-self.epsilon)
        return math.sqrt(2 * q) / (1 - q)

    @cached_property
    def middle(self) -> int:
        """The least number of cases of which a key is shown at least half of the time."""
        low, high = 0, 1
        while self.probability(high) < 0.5:
            low, high = high, 2 * high
        while high - low > 1:
            between = (low + high) // 2
            low, high = (between, high) if self.probability(between) < 0.5 else (low, between)
        return high

    def probability(self, count: int) -> float:
        """π(count): the probability that a key of that many cases is shown, nearly."""
        passing, least = self._table.passing, len(self._table.passing)
        passed = passing[min(count, least) - 1] / passing[-1] if count else 0.0
        further = max(count - least, 0)
        return 1 - (1 - self._table.shown * passed) * math.exp(
            (self.reserve - self.epsilon) * further
        )

    @cached_property
    def _passing(self) -> Categorical:
        passing = (0, *self._table.passing)
        return Categorical(b - a for a, b in pairwise(passing))

    @cached_property
    def _hiding(self) -> Categorical:
        one, (at, beyond) = self._table.passing[-1], self._table.hiding
        return Categorical((one - at, at - beyond, beyond))

    def noisy(self, counts: Ints, rng: Randomness) -> Integers:
        """Noisy counts of the keys that are shown, and the threshold for the others."""
        least = self.threshold + 1
        found: Integers = np.full(len(counts), self.threshold, dtype=np.int64)
        passed = np.flatnonzero(counts > self._passing.draw(len(counts), rng))
        values = np.maximum(counts[passed], least)
        values += discrete_laplace(1 / Fraction(self.epsilon), len(passed), rng)
        limits = least + self._hiding.draw(len(passed), rng)
        far = np.flatnonzero(limits == least + 2)
        left = Fraction(self.epsilon) - Fraction(self.reserve)
        limits[far] += geometric(left, len(far), rng)
        shown = values >= limits
        found[passed[shown]] = values[shown]
        return found


@dataclass(frozen=True)
class Table:
    """λ(1), …, λ(m) and h₀, h₁ in units of 1/λ(m); and nearly π(m)."""

    passing: tuple[int, ...]
    hiding: tuple[int, int]
    shown: float


@lru_cache(maxsize=64)
def reserved_table(epsilon: float, delta: float, reserve: float) -> Table:
    """The λ and h of a `ReservedSelection`, certified."""
    bits = 192 - math.floor(math.log2(delta)) + math.ceil(4.5 * epsilon)  # resolves δ·e^−3ε
    one, slack = 1 << bits, 1 << 80 + math.ceil(1.5 * epsilon)
    left = Fraction(epsilon) - Fraction(reserve)
    growth = exp_lower(Fraction(epsilon), 128)
    q, rho = exp_enclosure(-Fraction(epsilon), bits)[1], exp_enclosure(-left, bits)[1]
    step = int(Fraction(delta) * one) - slack
    shown = [0]
    while True:
        here = shown[-1]
        grown = here * growth.numerator // growth.denominator
        settled = one - (rho * (one - here) >> bits) - slack
        if grown >= settled:
            break
        shown.append(min(grown + step, settled))
    most = shown[-1]
    spread = (one - most) * ((one << bits) - q * rho) // (one * (one - q))
    at = min(one, (spread - q) * one // (one - q) + (slack >> 20))
    beyond = min(at, (rho - q) * (at + q * one // (one - q) + 1) // one + (slack >> 20))
    passing = tuple(value * one // most for value in shown[1:])
    table = Table(passing, (at, beyond), most / one)
    certify(table, epsilon, delta, reserve)
    return table


def certify(table: Table, epsilon: float, delta: float, reserve: float) -> None:
    """Check every inequality of the proof, with bounds on the safe side."""
    one = table.passing[-1]
    bits = 2 * one.bit_length()
    left = Fraction(epsilon) - Fraction(reserve)
    q_low, q_high = exp_lower(-Fraction(epsilon), bits), exp_upper(-Fraction(epsilon), bits)
    rho_low, rho_high = exp_lower(-left, bits), exp_upper(-left, bits)
    at, beyond = (Fraction(value, one) for value in table.hiding)
    falls = (rho_high - q_low) * (at + q_high / (1 - q_high)) <= beyond
    hidden = (1 - q_high) / (1 + q_high) * (q_low / (1 - q_low) + at)
    hidden += (1 - q_high) / (1 + q_high) * beyond * q_low / (1 - q_low * rho_low)
    shown = 1 - hidden  # at least π(m)
    limit = Fraction(delta) * one / shown
    growth = exp_lower(Fraction(epsilon), 128)
    up, down = growth.numerator, growth.denominator
    steps = list(pairwise((0, *table.passing)))
    more = max(after * down - before * up for before, after in steps)
    # e^ε′·s(n) − e^ε·s(n + 1) ≤ δ, over e^ε: ρ·(1 − λπ) ≤ 1 − λ′π + qδ
    allowed = (1 - rho_high + q_low * Fraction(delta)) * one / shown
    kept = int(rho_low * (1 << bits))
    fewer = max(after - (before * kept >> bits) for before, after in steps)
    rises = all(before <= after for before, after in steps)
    if not (
        falls
        and rises
        and 0 <= beyond <= at <= 1
        and 0 < shown <= 1
        and more <= limit * down
        and fewer <= allowed
    ):
        raise ArithmeticError("the selection table does not meet its delta")
