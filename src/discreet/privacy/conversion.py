"""From one neighbour relation or unit to another. Everything is rounded to the safe side."""

from __future__ import annotations

import math

_UP = 1 + 2**-40
"""Covers the rounding of a dozen float operations with room to spare."""


def to_swap(epsilon: float, delta: float) -> tuple[float, float]:
    """Add-remove (ε, δ) gives swap (2ε, (1 + e^ε)δ): a swap is one removal and one addition.

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
