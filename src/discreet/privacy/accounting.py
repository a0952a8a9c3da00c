"""Conversions between kinds of guarantees, all rounded to the safe side.

From zero-concentrated differential privacy to (ε, δ) and back; from adding or removing a case to
replacing one; from a case to an individual with several, and back.
"""

from __future__ import annotations

import math
from functools import lru_cache

# Proof

_UP = 1 + 2**-40
"""Rounds up: more than the rounding errors of a dozen float operations, with room to spare."""


@lru_cache(maxsize=256)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """An ε such that ρ-zCDP implies (ε, δ)-DP (Canonne, Kane, Steinke 2020, Proposition 12).

    For every order a > 1: ε(a) = aρ + (ln(1/δ) + (a − 1)·ln(1 − 1/a) − ln a)/(a − 1). Each
    order gives a valid ε, so the search needs no care, only the last evaluation does.
    """
    if not (rho >= 0 and 0 < delta <= 1):
        raise ValueError(f"needs rho of at least 0 and delta in (0, 1], not {rho} and {delta}")
    if rho == 0:
        return 0.0

    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)
        order = 1 + excess
        logs = -math.log(delta) + excess * math.log1p(-1 / order) - math.log(order)
        return order * rho + logs / excess

    low, high = math.log(1e-6), math.log(1e9)
    grid = [low + (high - low) * i / 40 for i in range(41)]
    best = min(range(41), key=lambda i: at(grid[i]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 40)]
    for _ in range(40):
        third = (high - low) / 3
        if at(low + third) < at(high - third):
            high -= third
        else:
            low += third
    return max(0.0, min(at((low + high) / 2), at(grid[best]))) * _UP


@lru_cache(maxsize=256)
def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest ρ (rounded down) whose conversion stays within (ε, δ).

    It is at least that of ρ + 2·√(ρ·ln(1/δ)) = ε (Bun, Steinke 2016), so it is never 0.
    """
    if not epsilon > 0:
        raise ValueError(f"needs epsilon above 0, not {epsilon}")
    root = math.sqrt(-math.log(delta))
    low = (epsilon / (math.sqrt(root**2 + epsilon) + root)) ** 2 / _UP
    high = max(low, epsilon)
    while zcdp_epsilon(high, delta) <= epsilon:
        high *= 2
    for _ in range(64):
        middle = (low + high) / 2
        if zcdp_epsilon(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def to_swap(epsilon: float, delta: float) -> tuple[float, float]:
    """The (2ε, (1 + e^ε)δ) that add-remove (ε, δ) gives for swaps: one removal, one addition.

    Never valid where the number of cases was taken as public. The reverse direction does not
    exist: under swap that number may be published.
    """
    return 2 * epsilon, min(1.0, delta * (1 + math.exp(epsilon)) * _UP if delta else 0.0)


def group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Group privacy: (ε, δ) per case gives (mε, δ·(e^{mε} − 1)/(e^ε − 1)) for m cases.

    Applying the definition m times, Δ_m = e^ε·Δ_{m−1} + δ sums to the geometric series.
    """
    if size < 1:
        raise ValueError(f"a group has at least one case, not {size}")
    if size == 1 or delta == 0:
        return epsilon * size * (1 if size == 1 else _UP), delta
    if epsilon * size > 700:
        return epsilon * size * _UP, 1.0
    series = math.expm1(size * epsilon) / math.expm1(epsilon) if epsilon else float(size)
    return epsilon * size * _UP, min(1.0, delta * series * _UP)


def per_case(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """The budget per case that gives (ε, δ) to individuals of at most `size` cases.

    Inverse of `group`, rounded down further than that rounds up:
    (ε/m, δ·(e^{ε/m} − 1)/(e^ε − 1)). Dividing only ε would be wrong for mechanisms with δ > 0.
    """
    if size < 1:
        raise ValueError(f"an individual has at least one case, not {size}")
    if size == 1:
        return epsilon, delta
    if epsilon > 700:
        raise ValueError(f"epsilon {epsilon} is too large to divide over {size} cases")
    series = math.expm1(epsilon / size) / math.expm1(epsilon) if epsilon else 1 / size
    return epsilon / size / _UP / _UP, delta * series / _UP / _UP
