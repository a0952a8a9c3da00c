"""Bounds hold as often as they say, and one-run p-values agree with brute force.

Exact divergences: against hand-made cases, brute force over events, and the mathematics.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.audits.bounds import (
    at_least,
    at_most,
    epsilon_from_one_run,
    epsilon_from_runs,
    hockey_stick,
    joint,
    one_run_p_value,
    p_value,
    promising,
    smallest_delta,
    smallest_epsilon,
)


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (3, 10), (10, 10), (500, 1000)])
def test_limits_are_those_of_clopper_and_pearson(hits: int, runs: int) -> None:
    alpha = 0.025
    low, high = at_least(hits, runs, alpha), at_most(hits, runs, alpha)
    assert low <= hits / runs <= high
    if hits:
        assert binom.sf(hits - 1, runs, low) == pytest.approx(alpha)
    if hits < runs:
        assert binom.cdf(hits, runs, high) == pytest.approx(alpha)


@pytest.mark.parametrize("share", [0.01, 0.27, 0.5])
def test_the_bound_on_epsilon_errs_no_more_often_than_it_says(share: float) -> None:
    """Exactly: over all pairs of hit counts, the chance that the bound passes the true ε."""
    runs, alpha, delta, epsilon = 60, 0.05, 0.02, 0.5
    likelier = min(1.0, share * math.exp(epsilon) + delta)
    chance = sum(
        binom.pmf(hits, runs, likelier) * binom.pmf(other, runs, share)
        for hits in range(runs + 1)
        for other in range(runs + 1)
        if p_value(hits, other, runs, epsilon, delta) < alpha
    )
    assert chance <= alpha


@pytest.mark.parametrize(("hits", "other"), [(60, 0), (50, 10), (60, 59), (3, 0)])
def test_the_bound_is_the_edge_of_the_p_value(hits: int, other: int) -> None:
    bound = epsilon_from_runs(hits, other, 60, 0.02, 0.05)
    if bound:
        assert p_value(hits, other, 60, bound - 1e-6, 0.02) < 0.05
    assert p_value(hits, other, 60, bound + 1e-6, 0.02) >= 0.05


@pytest.mark.parametrize(("hits", "other"), [(70, 0), (60, 10), (5, 0)])
def test_the_p_value_is_the_largest_that_the_budget_allows(hits: int, other: int) -> None:
    runs, epsilon, delta = 70, 1.0, 0.01
    shares = np.linspace(0, 1, 200_001)
    likely = np.minimum(1.0, math.e * shares + delta)
    largest = (binom.sf(hits - 1, runs, likely) * binom.cdf(other, runs, shares)).max()
    expected = largest * (1 - math.log(largest))
    assert p_value(hits, other, runs, epsilon, delta) == pytest.approx(expected, rel=1e-6)


def test_many_runs_come_near_the_truth() -> None:
    runs = 100_000
    hits, other = round(0.73 * runs), round(0.73 / math.e * runs)
    assert 0.97 < epsilon_from_runs(hits, other, runs, 0.0, 0.05) < 1


def test_nothing_seen_gives_nothing() -> None:
    assert epsilon_from_runs(0, 0, 1000, 0.0, 0.05) == 0
    assert epsilon_from_runs(9, 0, 1000, 0.01, 0.05) == 0


def test_the_quick_bound_prefers_the_same_event() -> None:
    counts = [(900, 400), (30, 2), (500, 490)]
    hits_and_others = np.array(counts, dtype=float)
    scores = promising(hits_and_others[:, 0], hits_and_others[:, 1], 1000, 0.0)
    exact = [epsilon_from_runs(hits, other, 1000, 0.0, 1e-4) for hits, other in counts]
    assert int(np.argmax(scores)) == int(np.argmax(exact))
    assert promising(np.array([5.0]), np.array([0.0]), 1000, 0.01)[0] == -np.inf


def test_without_delta_the_p_value_is_binomial() -> None:
    assert one_run_p_value(100, 50, 40, 1.0, 0.0) == pytest.approx(
        binom.sf(39, 50, 1 / (1 + math.exp(-1)))
    )


def test_delta_adds_the_steepest_chord() -> None:
    accuracy = 1 / (1 + math.exp(-1))
    steepest = max(
        sum(binom.pmf(k, 50, accuracy) for k in range(40 - i, 40)) / i for i in range(1, 41)
    )
    assert one_run_p_value(100, 50, 40, 1.0, 1e-4) == pytest.approx(
        binom.sf(39, 50, accuracy) + 2 * 100 * 1e-4 * steepest
    )
    assert one_run_p_value(100, 50, 40, 1.0, 0.5) == 1.0


@pytest.mark.parametrize(("guesses", "correct", "delta"), [(100, 95, 0.0), (1000, 800, 1e-6)])
def test_the_one_run_bound_is_the_edge_of_the_p_value(
    guesses: int, correct: int, delta: float
) -> None:
    bound = epsilon_from_one_run(2000, guesses, correct, delta, 0.05)
    assert one_run_p_value(2000, guesses, correct, bound - 1e-6, delta) < 0.05
    assert one_run_p_value(2000, guesses, correct, bound + 1e-6, delta) >= 0.05 - 1e-9


def test_guessing_at_random_refutes_nothing() -> None:
    assert epsilon_from_one_run(1000, 1000, 500, 0.0, 0.05) == 0


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="correct ≤ guesses ≤ canaries"):
        one_run_p_value(10, 20, 5, 1.0, 0.0)


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
