"""Composition of the parts that a certificate states, written apart from the library's own."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.privacy.accounting import zcdp_epsilon
from discreet.privacy.guarantee import Budget, Part


def basic(parts: Iterable[Part]) -> Budget:
    """Add up epsilons and deltas: valid always, also adaptively."""
    listed = list(parts)
    if any(part.rho is not None for part in listed):
        raise ValueError("a part accounted in zCDP has no epsilon of its own; use zcdp()")
    return Budget(
        math.fsum(part.epsilon for part in listed),
        min(1.0, math.fsum(part.delta for part in listed)),
    )


def zcdp(parts: Iterable[Part], delta: float) -> Budget:
    """Add up ρ (a pure ε counts ε²/2) and convert at `delta`; the parts' own deltas come on top."""
    listed = list(parts)
    rho = math.fsum(p.rho if p.rho is not None else p.epsilon**2 / 2 for p in listed)
    own = math.fsum(part.delta for part in listed)
    return Budget(zcdp_epsilon(rho, delta), min(1.0, own + delta))
