"""Bounds hold as often as they say, and one-run p-values agree with brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audits.bounds import (
    at_least,
    at_most,
    epsilon_from_one_run,
    epsilon_from_runs,
    one_run_p_value,
    p_value,
    promising,
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
