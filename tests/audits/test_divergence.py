"""Exact divergences: against hand-made cases, brute force over events, and the mathematics."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audits.divergence import hockey_stick, joint, smallest_delta, smallest_epsilon

Weights = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any)


def distribution(weights: list[int]) -> dict[int, Fraction]:
    total = sum(weights)
    return {place: Fraction(weight, total) for place, weight in enumerate(weights) if weight}


def worst_event(
    left: dict[int, Fraction], right: dict[int, Fraction], growth: Fraction
) -> Fraction:
    """The same by looking at every event there is."""
    events = chain.from_iterable(combinations(range(4), size) for size in range(5))
    return max(
        sum(
            (left.get(x, Fraction(0)) - growth * right.get(x, Fraction(0)) for x in event),
            start=Fraction(0),
        )
        for event in events
    )


@given(Weights, Weights, st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(7)]))
def test_the_divergence_is_the_worst_event(
    left: list[int], right: list[int], growth: Fraction
) -> None:
    p, q = distribution(left), distribution(right)
    assert hockey_stick(p, q, growth) == worst_event(p, q, growth)


@given(Weights, Weights, st.sampled_from([0.0, 0.01, 0.2]))
def test_the_smallest_epsilon_is_just_enough(
    left: list[int], right: list[int], delta: float
) -> None:
    p, q = distribution(left), distribution(right)
    epsilon = smallest_epsilon(p, q, delta)
    if math.isinf(epsilon):
        assert smallest_delta(p, q, 600.0) > delta
    else:
        assert smallest_delta(p, q, epsilon + 1e-9) <= Fraction(delta)
        if epsilon > 1e-6:
            assert smallest_delta(p, q, epsilon - 1e-6) > Fraction(delta)


def test_randomised_response() -> None:
    p = {0: Fraction(3, 4), 1: Fraction(1, 4)}
    q = {0: Fraction(1, 4), 1: Fraction(3, 4)}
    assert smallest_epsilon(p, q, 0.0) == pytest.approx(math.log(3))
    assert smallest_epsilon(joint(p, p), joint(q, q), 0.0) == pytest.approx(2 * math.log(3))
    assert smallest_delta(p, q, 0.0) == pytest.approx(0.5)
