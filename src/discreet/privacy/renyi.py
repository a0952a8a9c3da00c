"""The cost of noisy gradient steps on Poisson samples, and the noise that a budget asks for.

A step takes every case with probability q on its own, adds up integer vectors, one per case and
of norm at most Δ, and adds discrete Gaussian noise of deviation σ = zΔ to every entry.

Claim. For neighbours that differ by one case and every integer order k ≥ 2 its Rényi divergence,
in both directions, is at most that of the sampled *continuous* Gaussian mechanism:

    R(k) = ln( Σ_{j ≤ k} C(k, j)·(1 − q)^{k−j}·q^j·exp(j(j − 1)/(2z²)) ) / (k − 1).

Proof. Condition on the sample of the other cases; the divergence of a mixture with common weights
is at most the largest of its parts'. The sum is then some integer vector, say 0, with noise Q, and
with probability q it is shifted by an integer vector m, ‖m‖ ≤ Δ, giving P. For an integer j

    E_Q[(P/Q)^j] = exp(j(j − 1)‖m‖²/(2σ²)) · Σ_x exp(−‖x − jm‖²/(2σ²)) / Σ_x exp(−‖x‖²/(2σ²)),

and the last fraction is 1 since jm is an integer vector: exactly the moments of the continuous
Gaussian. Expanding ((1 − q) + q·P/Q)^k and ‖m‖ ≤ Δ give R(k) for the divergence of the mixture
from Q. The reflection x ↦ m − x is its own inverse, keeps the integers and exchanges P and Q, so
by Theorem 5 of Mironov, Talwar and Zhang (2019) the other direction is no larger. Steps that
depend on what earlier ones gave add up order by order. ∎

(ε, δ) follows at any order by Canonne, Kane and Steinke (2020), Proposition 12. Whichever order
is best, each is valid, so the search needs no care. Tests compare it with privacy-loss
distributions of the same steps with continuous noise, which are a little lower because they are
not restricted to moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from discreet.arrays import Floats

# Proof

SLACK = 1e-8
"""Relative slack that covers the rounding of logarithms and sums many times over."""
GRID_BITS = 12
"""Bits of a noise multiplier after the first: few enough that its square is exact."""

# Tuned: every order is valid and every multiplier is accounted for; these end the search.

LARGEST_ORDER = 1 << 18
"""Largest order that is tried."""
MOST_MULTIPLIER = 2.0**40
"""Largest multiplier that is tried; with more noise nothing would be left to learn from."""


@dataclass(frozen=True)
class TrainingPlan:
    """Noisy steps on Poisson samples, fixed before the first of them."""

    sampling_rate: Fraction
    steps: int
    noise_multiplier: float
    """The noise's deviation over the largest norm of what a case adds."""

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise ValueError(f"a sampling rate lies in (0, 1], not {self.sampling_rate}")
        if self.steps < 0 or not self.noise_multiplier > 0:
            raise ValueError("a plan needs a number of steps and a positive noise multiplier")


def rdp(plan: TrainingPlan, order: int) -> float:
    """R(order) of all steps, rounded up."""
    z = plan.noise_multiplier
    if plan.steps == 0:
        return 0.0
    if plan.sampling_rate == 1:
        return plan.steps * order / (2 * z * z) * (1 + SLACK)
    return plan.steps * _sampled(float(plan.sampling_rate), z, order) * (1 + SLACK)


@lru_cache(maxsize=4096)
def _sampled(q: float, z: float, order: int) -> float:
    """R(order) of one step; the binomial weights' sum of 1 is taken out so that nothing cancels."""
    j = np.arange(2, order + 1)
    exponent = j * (j - 1.0) / (2 * z * z)
    terms = _log_weights(q, order) + exponent + np.log(-np.expm1(-exponent))
    most = float(terms.max())
    if most == math.inf:
        return math.inf
    whole = most + math.log(float(np.exp(terms - most).sum()))
    return float(np.logaddexp(0, whole)) / (order - 1)


@lru_cache(maxsize=64)
def _log_weights(q: float, order: int) -> Floats:
    """Logarithms of the binomial weights of 2 to `order`."""
    from scipy.special import gammaln

    j = np.arange(2, order + 1)
    chosen = gammaln(order + 1) - gammaln(j + 1) - gammaln(order - j + 1)
    return np.asarray(chosen + (order - j) * math.log1p(-q) + j * math.log(q))


def rdp_epsilon(plans: Sequence[TrainingPlan], delta: float) -> float:
    """An ε such that all plans together are (ε, δ)-DP: the one that certificates state."""
    if not 0 < delta < 1:
        raise ValueError(f"needs delta between 0 and 1, not {delta}")
    plans = [plan for plan in plans if plan.steps]
    if not plans:
        return 0.0

    @cache
    def at(order: int) -> float:
        logs = -math.log(delta) + (order - 1) * math.log1p(-1 / order) - math.log(order)
        return math.fsum(rdp(plan, order) for plan in plans) + logs / (order - 1)

    orders = _orders()
    low, high = 0, len(orders) - 1
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        if at(orders[left]) <= at(orders[right]):
            high = right
        else:
            low = left
    best = min(at(orders[i]) for i in range(low, high + 1))
    return max(0.0, best) * (1 + SLACK)


@lru_cache(maxsize=1)
def _orders() -> tuple[int, ...]:
    """The orders that are tried: all up to 64, then in steps of about 2%."""
    found = list(range(2, 65))
    while found[-1] < LARGEST_ORDER:
        found.append(max(found[-1] + 1, found[-1] * 51 // 50))
    return tuple(found)


@lru_cache(maxsize=256)
def fitted(
    epsilon: float, delta: float, plans: tuple[TrainingPlan, ...]
) -> tuple[TrainingPlan, ...]:
    """The plans with the least noise that is certified within (epsilon, delta).

    Their multipliers keep their proportions, rounded up to a grid: what is accounted is never
    more than what was asked for, and hardly less.
    """
    if not epsilon > 0:
        raise ValueError(f"needs epsilon above 0, not {epsilon}")

    def scaled(factor: float) -> tuple[TrainingPlan, ...]:
        return tuple(
            replace(plan, noise_multiplier=_rounded_up(factor * plan.noise_multiplier))
            for plan in plans
        )

    def fits(factor: float) -> bool:
        return rdp_epsilon(scaled(factor), delta) <= epsilon

    high = 1.0
    while not fits(high):
        high *= 2
        if high > MOST_MULTIPLIER:
            raise ValueError(f"no noise is certified for training within {epsilon} and {delta}")
    low = high / 2
    while low > 2**-20 and fits(low):
        low, high = low / 2, low
    while high / low > 1 + 2 ** -(GRID_BITS + 1):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return scaled(high)


def _rounded_up(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ceil(mantissa * 2 ** (GRID_BITS + 1)), exponent - GRID_BITS - 1)
