"""How strong a promise is, in a few named levels, and what nobody promises by accident.

The levels are those of Ponomareva et al., "How to DP-fy ML" (JAIR 77, 2023): up to ε = 1 strong,
up to 10 at most reasonable, above it hardly any. Its middle is divided at ε = 3, where someone who
was undecided may be 95% sure: what is called moderate keeps real doubt, what is called weak does
not. δ is read as the chance that one person is exposed outright: times the number of people that is
how many to expect, which must be far below one (Dwork and Roth 2014, section 2.3).
"""

from __future__ import annotations

from typing import Literal

from discreet.errors import DiscreetError

Strength = Literal["strong", "moderate", "weak", "hardly any", "none"]

STRONG_EPSILON = 1.0
MODERATE_EPSILON = 3.0
MOST_EPSILON = 10.0
"""Above it a release is refused unless somebody insists."""
MOST_DELTA = 0.01
"""Above it likewise: one person in a hundred may be exposed."""
EXPOSED_WARNING = 0.1
"""One is warned if more people than this may be expected to be exposed outright."""


class TooWeakError(DiscreetError, ValueError):
    """A promise so weak that it is made only for somebody who insists."""


def strength_of(epsilon: float, delta: float) -> Strength:
    """How much a bound that holds protects."""
    if epsilon > MOST_EPSILON or delta > MOST_DELTA:
        return "hardly any"
    if epsilon > MODERATE_EPSILON:
        return "weak"
    return "moderate" if epsilon > STRONG_EPSILON else "strong"
