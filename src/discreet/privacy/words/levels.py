"""How strong a promise is, in a few named levels, and what nobody promises by accident.

The levels are those of Ponomareva et al., "How to DP-fy ML" (JAIR 77, 2023): up to ε = 1 strong,
up to 10 at most reasonable, above it hardly any. Its middle is divided at ε = 3, where someone who
was undecided may be 95% sure: what is called moderate keeps real doubt, what is called weak does
not. δ is read as the chance that one person is exposed outright: times the number of people that is
how many to expect, which must be far below one (Dwork and Roth 2014, section 2.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Budget, Guarantee

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


def strength(guarantee: Guarantee) -> Strength:
    """How much the promise protects; none where no bound holds or the noise can be redrawn."""
    if not guarantee.private or guarantee.holds is None:
        return "none"
    return strength_of(guarantee.holds)


def strength_of(budget: Budget) -> Strength:
    """How much a bound that holds protects."""
    if budget.epsilon > MOST_EPSILON or budget.delta > MOST_DELTA:
        return "hardly any"
    if budget.epsilon > MODERATE_EPSILON:
        return "weak"
    return "moderate" if budget.epsilon > STRONG_EPSILON else "strong"


def too_weak(budget: Budget) -> bool:
    """Whether this is more than is released without somebody insisting."""
    return strength_of(budget) == "hardly any"


def refuse_if_too_weak(budget: Budget) -> None:
    """Raise TooWeakError for what protects hardly anybody."""
    if too_weak(budget):
        raise TooWeakError(
            f"{budget} protects hardly anybody: releases stop at ε = {MOST_EPSILON:g} and "
            f"δ = {MOST_DELTA:g}. Choose less, or insist with --allow-weak (in Python "
            "allow_weak=True), which the certificate will say"
        )
