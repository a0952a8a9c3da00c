"""Partition selection that keeps a budget for the cases it hides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from discreet.privacy.noise import Categorical, exp_lower, exp_upper
from discreet.privacy.randomness import Randomness


@dataclass(frozen=True)
class ReservedSelection:
    """Show keys with noisy counts at full ε, and leave (ε′, δ′) to whatever reads the hidden cases.

    First every key is shown or hidden, with noise of its own. Then any (ε′, δ′)-DP mechanism, which
    may depend on what was shown, reads the cases whose key was hidden. The claim: both together
    are (ε, δ + δ′)-DP under add-remove, for ε′ < ε. Basic composition would charge ε + ε′. It
    overcharges because a case pays for only one of the two: if its key is shown, the hidden
    cases are the same without it.

    The noise is made as in `OptimalSelection`: a key of n cases is shown with probability π(n), its
    count being t + 1 + n − j with probability p(j) = π(j) − π(j − 1) for j ≤ n, and hidden with
    s(n) = 1 − π(n). Here π(0) = 0 and

        π(n + 1) = min(r·π(n) + δ, 1 − (r′·s(n) − δ)/r, 1),   r = e^ε, r′ = e^ε′.

    Proof. Neighbours differ in one case, of a key with n and n + 1 cases. The other keys' outcomes
    have one distribution for both; fix them. If the key is shown with a given count, the second
    mechanism reads the same cases in both, so what counts is p. If it is hidden, the second
    mechanism's inputs are neighbours, so for any set of its outputs with probabilities y and z
    under the two, y ≤ r′·z + δ′ and the reverse. The hockey-stick divergences at ε are at most

        more over fewer:  p(1) + Σ_{j ≤ n} max(0, p(j + 1) − r·p(j)) + s(n + 1)·δ′
                          + max(0, r′·s(n + 1) − r·s(n))
        fewer over more:  Σ_{j ≤ n} max(0, p(j) − r·p(j + 1)) + s(n)·δ′
                          + max(0, r′·s(n) − r·s(n + 1)).

    The last term of the first line is 0, since s falls and r′ ≤ r. Everything without δ′ is
    evaluated exactly, in integers, for every n when the table is built, and must not pass δ
    (`_certify`); the terms with δ′ are at most δ′. While the first minimum rules,
    p(j + 1) = r·p(j); then r·s(j + 1) = r′·s(j) − δ: p falls by e^{ε − ε′} at a time.
    """

    epsilon: float
    delta: float
    reserve: float

    def __post_init__(self) -> None:
        if not (1e-6 <= self.epsilon <= 700 and 0 < self.delta < 1):
            raise ValueError(
                "selection needs epsilon between 1e-6 and 700 and delta between 0 and 1, not "
                f"{self.epsilon} and {self.delta}"
            )
        if not 0 <= self.reserve < self.epsilon:
            raise ValueError(f"the reserve must lie in [0, epsilon), not {self.reserve}")

    @cached_property
    def _table(self) -> tuple[tuple[int, ...], int]:
        return _reserved_table(self.epsilon, self.delta, self.reserve)

    @cached_property
    def _mean_index(self) -> Fraction:
        weights, total = self._table
        return Fraction(sum(j * w for j, w in enumerate(weights, start=1)), total)

    @cached_property
    def threshold(self) -> int:
        """Keys are shown if their noisy count is greater than this; the noise has mean near 0."""
        return round(self._mean_index) - 1

    def probability(self, count: int) -> Fraction:
        """π(count): the probability that a key of that many cases is shown."""
        weights, total = self._table
        return Fraction(sum(weights[:count]), total)

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

    @cached_property
    def _sampler(self) -> Categorical:
        return Categorical(self._table[0])

    def noise(self, size: int, source: Randomness) -> npt.NDArray[np.int64]:
        """Independent draws of the noise."""
        return self.threshold - self._sampler.draw(size, source)


@lru_cache(maxsize=64)
def _reserved_table(epsilon: float, delta: float, reserve: float) -> tuple[tuple[int, ...], int]:
    bits = 192 - math.floor(math.log2(delta)) + math.ceil(1.5 * epsilon)  # resolves δ·e^−ε
    one = 1 << bits
    exact = Fraction(delta)
    growth = exp_lower(Fraction(epsilon), 128)
    kept = exp_upper(Fraction(reserve), 128)
    slack = 1 << 80
    step = exact.numerator * one // exact.denominator - slack
    up, down = growth.numerator, growth.denominator
    up_kept = kept.numerator * down // kept.denominator + 1  # kept, over the same denominator
    weights: list[int] = []
    hidden = one
    while hidden:
        shown = one - hidden
        grown = shown * up // down + step
        least = -(-(hidden * up_kept - step * down) // up)
        following = min(grown, one - max(0, least), one)
        weights.append(following - shown)
        hidden = one - following
    _certify(weights, one, growth, kept, exact)
    return tuple(weights), one


def _certify(
    weights: list[int], one: int, growth: Fraction, kept: Fraction, delta: Fraction
) -> None:
    """Evaluate both divergences exactly, for every count, against δ."""
    common = math.lcm(growth.denominator, kept.denominator)
    r, r_kept = int(growth * common), int(kept * common)
    limit = delta * one * common
    hidden = one
    more = weights[0] * common
    fewer = 0
    for j, weight in enumerate(weights):
        left = hidden - weight
        if more > limit or fewer + max(0, hidden * r_kept - left * r) > limit or weight < 0:
            raise ArithmeticError("the selection table does not meet its delta")
        following = weights[j + 1] if j + 1 < len(weights) else 0
        more += max(0, following * common - weight * r)
        fewer += max(0, weight * common - following * r)
        hidden = left
    if max(more, fewer) > limit or hidden != 0:
        raise ArithmeticError("the selection table does not meet its delta")
