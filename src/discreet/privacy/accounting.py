"""From zero-concentrated differential privacy to (ε, δ) and back, rounded to the safe side."""

from __future__ import annotations

import math
from functools import lru_cache

_UP = 1 + 2**-40


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

    At least that of ρ + 2·√(ρ·ln(1/δ)) = ε (Bun, Steinke 2016), so it is never 0.
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
