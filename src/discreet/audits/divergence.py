"""Exact hockey-stick divergences between two known distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.privacy.noise import exp_upper

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
