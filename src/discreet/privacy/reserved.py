"""Partition selection that keeps a budget for the cases it hides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.privacy.noise import (
    Categorical,
    discrete_laplace,
    exp_lower,
    exp_upper,
    geometric,
)
from discreet.privacy.partition import check_budget
from discreet.privacy.randomness import Randomness

# Proof

LEAST_LEFT = 1e-9
"""The part of epsilon that must not be reserved."""

SLACK = Decimal("1e-24")
"""The part of delta that is left for rounding."""


@dataclass(frozen=True)
class ReservedSelection:
    """Show keys with noisy counts at full ε, and leave (ε′, δ′) to whatever reads the hidden cases.

    First every key is shown or hidden, with noise of its own. Then any (ε′, δ′)-DP mechanism, which
    may depend on what was shown, reads the cases whose key was hidden. The claim: both together
    are (ε, δ + δ′)-DP under add-remove, for 0 < ε′ < ε. Basic composition would charge ε + ε′. It
    overcharges because a case pays for only one of the two: if its key is shown, the hidden
    cases are the same without it.

    With q = e^−ε, ρ = e^−(ε − ε′), public k, r ≥ 0 and m = k + r ≥ 1 and, for each key, a J in 1…m,
    discrete Laplace noise X of scale 1/ε and a threshold T ≥ m, all independent:

        a key of n cases is shown, with the count max(n, m) + X, if J ≤ n and max(n, m) + X ≥ T.

    With probability a, J is one of 1…k, j as likely as e^εj; else k + i, i of 1…r as likely as ρⁱ.
    T is m with probability 1 − h₀, m + 1 with h₀ − h₁, and else m + 2 + G, P[G ≥ i] = ρⁱ. So a
    count c is hidden by T with probability h(c) = 1 below m, h₀ at m and h₁ρⁱ at m + 1 + i.

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

          s(m + i)·(1 + q)/(1 − q) = qⁱ·(q/(1 − q) + h₀ − h₁/(ρ − q)) + ρⁱ·h₁·(…),  (…) > 0.

      If the bracket of qⁱ is not positive, s(n + 1) ≥ ρ·s(n), and the second line is 0.
    - n < m. A key that J lets pass is treated as one of m cases: Q(n, c) = λ(n)·Q(m, c) with
      λ(n) = P[J ≤ n], λ(0) = 0. λ rises, so the second sum and the first line's last term are 0.
      What is left are π(m)·max(0, λ(n + 1) − e^ε·λ(n)) and max(0, e^ε′·s(n) − e^ε·s(n + 1)) with
      s(n) = 1 − λ(n)·π(m), π(m) = 1 − s(m). The latter is at most δ if
      π(m)·(λ(n + 1) − ρ·λ(n)) ≤ 1 − ρ + qδ. Below k, λ(n) = a·(e^εn − 1)/(e^εk − 1), so

          λ(n + 1) − e^ε·λ(n) = κ = a·(e^ε − 1)/(e^εk − 1)  for all n < k,
          λ(n + 1) − ρ·λ(n) = κ + (e^ε − ρ)·λ(n)  is largest at k − 1: a − ρq·(a − κ);

      and from there λ(k + i) = A − B·ρⁱ with B = (1 − a)/(1 − ρʳ) and A = a + B, so

          λ(n + 1) − e^ε·λ(n)  is largest at k, as λ rises by less each time: A − B·ρ − e^ε·a,
          λ(n + 1) − ρ·λ(n) = A·(1 − ρ)  for all n ≥ k.

      Four numbers therefore decide, however large m is.

    None of this is left to real numbers: a, h₀ and h₁ are integers over a power of two, J and T are
    drawn exactly, and construction refuses these constants unless, with bounds of the exponentials
    that err on the safe side, the bracket is not positive, h falls, and the four numbers are small
    enough (`certify`).

    The constants are those that show the most. With π(n) = λ(n)·π(m) below m and 1 − s(n) from
    there, π(n + 1) = min(e^ε·π(n) + δ, 1 − ρ·(1 − π(n))): both bounds that any selection with this
    promise must keep but for the δ that it might also use beyond m. The first is the smaller one
    up to k, the second from there; it holds by J up to the first m at which h₀ ≤ 1 is large enough
    to go on with it, by T from there: the bracket is 0. The count's noise is that of plain ε-DP
    counts whatever the reserve.
    """

    epsilon: float
    delta: float
    reserve: float

    def __post_init__(self) -> None:
        check_budget(self.epsilon, self.delta)
        if not 0 < self.reserve <= self.epsilon - LEAST_LEFT:
            raise ValueError(f"the reserve must lie in (0, epsilon), not {self.reserve}")

    @cached_property
    def _constants(self) -> Constants:
        return reserved_constants(self.epsilon, self.delta, self.reserve)

    @property
    def threshold(self) -> int:
        """Keys are shown if their noisy count is greater than this."""
        return self._constants.least - 1

    @property
    def deviation(self) -> float:
        """Standard deviation of a count's noise."""
        q = math.exp(-self.epsilon)
        return math.sqrt(2 * q) / (1 - q)

    @cached_property
    def middle(self) -> int:
        """The least number of cases with which a key is shown at least half of the time."""
        low, high = 0, 1
        while self.probability(high) < 0.5:
            low, high = high, 2 * high
        while high - low > 1:
            between = (low + high) // 2
            low, high = (between, high) if self.probability(between) < 0.5 else (low, between)
        return high

    def probability(self, count: int) -> float:
        """π(count): the probability that a key of that many cases is shown, nearly."""
        if not count:
            return 0.0
        rising, shown = self._constants.rising, self._constants.shown
        if count > rising:
            return 1 - (1 - shown) * math.exp((count - rising) * (self.reserve - self.epsilon))
        part = math.expm1(-self.epsilon * count) / math.expm1(-self.epsilon * rising)
        return shown * part * math.exp(self.epsilon * (count - rising))

    def _passing(self, size: int, rng: Randomness) -> Integers:
        """J for `size` keys: a geometric variable modulo k keeps the weights of its first k."""
        found = self._constants
        rising = self._rising.draw(size, rng) == 1
        drawn: Integers = np.full(size, found.rising + 1, dtype=np.int64)
        if many := int(rising.sum()):
            below = geometric(Fraction(self.epsilon), many, rng) % found.rising
            drawn[rising] = found.rising - below
        if found.settling > 1 and many < size:
            beyond = geometric(self._left, size - many, rng) % found.settling
            drawn[~rising] += beyond
        return drawn

    @property
    def _left(self) -> Fraction:
        return Fraction(self.epsilon) - Fraction(self.reserve)

    @cached_property
    def _rising(self) -> Categorical:
        return Categorical((self._constants.one - self._constants.early, self._constants.early))

    @cached_property
    def _hiding(self) -> Categorical:
        one, (at, beyond) = self._constants.one, self._constants.hiding
        return Categorical((one - at, at - beyond, beyond))

    def noisy(self, counts: Ints, rng: Randomness) -> Integers:
        """Noisy counts of the keys that are shown, and the threshold for the others."""
        least = self.threshold + 1
        found: Integers = np.full(len(counts), self.threshold, dtype=np.int64)
        passed = np.flatnonzero(counts >= self._passing(len(counts), rng))
        values = np.maximum(counts[passed], least)
        values += discrete_laplace(1 / Fraction(self.epsilon), len(passed), rng)
        limits = least + self._hiding.draw(len(passed), rng)
        far = np.flatnonzero(limits == least + 2)
        limits[far] += geometric(self._left, len(far), rng)
        shown = values >= limits
        found[passed[shown]] = values[shown]
        return found


@dataclass(frozen=True)
class Constants:
    """The proof's k, r, and a and h₀, h₁ in units of 1/one; and nearly π(k)."""

    rising: int
    settling: int
    one: int
    early: int
    hiding: tuple[int, int]
    shown: float

    @property
    def least(self) -> int:
        """m: the least count that may be shown, but for noise."""
        return self.rising + self.settling


@lru_cache(maxsize=64)
def reserved_constants(epsilon: float, delta: float, reserve: float) -> Constants:
    """The constants of a `ReservedSelection`, certified.

    In decimals of many digits, δ a little smaller than allowed; what they lack is rounded to the
    safe side, or else refused by `certify`.
    """
    bits = 192 - math.floor(math.log2(delta)) + math.ceil(4.5 * epsilon)  # resolves δ·e^−3ε
    one, rounding = 1 << bits, Decimal(2) ** (64 - bits)
    with localcontext(Context(prec=bits // 3)):
        eps, left = Decimal(epsilon), Decimal(epsilon) - Decimal(reserve)
        step = Decimal(delta) * (1 - SLACK)
        growth, q, rho = eps.exp(), (-eps).exp(), (-left).exp()
        turning = (1 - rho - step) / (growth - rho)  # up to this π the first bound is the smaller
        rising = 0
        if turning >= 0:
            rising = 1 + int((1 + turning * (growth - 1) / step).ln() / eps)
        early = step * ((eps * rising).exp() - 1) / (growth - 1)
        enough = (1 - rho) / (growth - rho)  # from this π on h₀ ≤ 1
        settling = 0
        if early < enough:
            settling = math.ceil(((1 - early) / (1 - enough)).ln() / left)
        hidden = (1 - early) * (-left * settling).exp()
        at = min(Decimal(1), (hidden * (1 - q * rho) / (1 - q) - q) / (1 - q) + rounding)
        beyond = min(at, (rho - q) * (at + q / (1 - q)) + rounding)
        found = Constants(
            rising,
            settling,
            one,
            int(early / (1 - hidden) * one) if settling else one,
            (int(at * one), int(beyond * one)),
            float(early),
        )
    certify(found, epsilon, delta, reserve)
    return found


def certify(found: Constants, epsilon: float, delta: float, reserve: float) -> None:
    """Check every inequality of the proof, with bounds on the safe side."""
    bits = 2 * found.one.bit_length()
    exact, left = Fraction(epsilon), Fraction(epsilon) - Fraction(reserve)
    q_low, q_high = exp_lower(-exact, bits), exp_upper(-exact, bits)
    rho_low, rho_high = exp_lower(-left, bits), exp_upper(-left, bits)
    early, at, beyond = (Fraction(value, found.one) for value in (found.early, *found.hiding))
    falls = (rho_high - q_low) * (at + q_high / (1 - q_high)) <= beyond
    hidden = (1 - q_high) / (1 + q_high) * (q_low / (1 - q_low) + at)
    hidden += (1 - q_high) / (1 + q_high) * beyond * q_low / (1 - q_low * rho_low)
    shown = 1 - hidden  # at least π(m)
    more, fewer = [Fraction(0)], [Fraction(0)]  # over one case fewer, and over one more
    if found.rising:
        whole = exp_lower(exact * found.rising, bits) - 1
        kappa = early * (exp_upper(exact, bits) - 1) / whole
        more.append(kappa)
        fewer.append(early - rho_low * q_low * (early - kappa))
    if found.settling:
        late = (1 - early) / (1 - exp_upper(-left * found.settling, bits))
        more.append(late * (1 - rho_low) - early * (exp_lower(exact, bits) - 1))
        fewer.append((early + late) * (1 - rho_low))
    if not (
        falls
        and found.rising >= 0 <= found.settling
        and (0 <= early <= 1 if found.rising else early == 0)
        and (found.settling or early == 1)
        and 0 <= beyond <= at <= 1
        and 0 < shown <= 1
        and max(more) * shown <= Fraction(delta)
        and max(fewer) * shown <= 1 - rho_high + q_low * Fraction(delta)
    ):
        raise ArithmeticError("the constants of the selection do not meet its delta")
