"""Partition selection: certified exactly, drawn exactly, and as good as it can be."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.privacy import partition
from discreet.privacy.noise import exp_lower
from discreet.privacy.partition import (
    OptimalSelection,
    SelectionError,
    TruncatedSelection,
    optimal_table,
    select,
    table_length,
)
from discreet.privacy.randomness import Randomness

BUDGETS = [(0.05, 1e-4), (0.5, 1e-3), (1.0, 0.01), (1.0, 1e-6), (2.0, 1e-9), (8.0, 0.2), (3.0, 0.7)]


def outcomes(noise: dict[int, Fraction], threshold: int, count: int) -> dict[int | None, Fraction]:
    """The distribution of what is shown for a key of that count; None stands for hidden."""
    result: dict[int | None, Fraction] = {None: Fraction(0)}
    for value, chance in noise.items():
        shown = count + value if count and count + value > threshold else None
        result[shown] = result.get(shown, Fraction(0)) + chance
    return result


def divergence(
    one: dict[int | None, Fraction], other: dict[int | None, Fraction], growth: Fraction
) -> Fraction:
    return sum(
        (max(Fraction(0), p - growth * other.get(key, Fraction(0))) for key, p in one.items()),
        Fraction(0),
    )


def worst(noise: dict[int, Fraction], threshold: int, epsilon: float) -> Fraction:
    """The largest δ over all pairs of counts n, n + 1, by brute force."""
    growth = exp_lower(Fraction(epsilon), 200)
    last = threshold - min(noise) + 2
    found = Fraction(0)
    for count in range(last + 1):
        fewer, more = (outcomes(noise, threshold, n) for n in (count, count + 1))
        found = max(found, divergence(fewer, more, growth), divergence(more, fewer, growth))
    return found


def truncated_noise(selection: TruncatedSelection) -> dict[int, Fraction]:
    q = exp_lower(Fraction(-selection.epsilon), 200)
    k = selection.threshold
    weights = {x: q ** abs(x) for x in range(-k, k + 1)}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


@pytest.mark.parametrize(("epsilon", "delta"), [b for b in BUDGETS if b[0] >= 0.5])
def test_optimal_selection_meets_its_budget_and_wastes_nothing(
    epsilon: float, delta: float
) -> None:
    selection = OptimalSelection(epsilon, delta)
    found = worst(selection.probabilities(), selection.threshold, epsilon)
    assert found <= Fraction(delta)
    assert found > Fraction(delta) * Fraction(9999, 10000)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_optimal_selection_is_the_optimum_of_desfontaines(epsilon: float, delta: float) -> None:
    selection = OptimalSelection(epsilon, delta)
    chance, grown = 0.0, math.exp(epsilon)
    for count in range(1, 400):
        chance = min(grown * chance + delta, 1 - (1 - chance - delta) / grown, 1.0)
        assert float(selection.probability(count)) == pytest.approx(chance, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [b for b in BUDGETS if b[0] >= 0.5])
def test_truncated_selection_meets_its_budget(epsilon: float, delta: float) -> None:
    selection = TruncatedSelection(epsilon, delta)
    noise = truncated_noise(selection)
    slack = Fraction(1, 10**40)
    assert worst(noise, selection.threshold, epsilon) <= Fraction(delta) + slack
    lower = selection.threshold - 1
    if lower >= 1:
        assert float(selection._edge(lower)) > delta


def test_the_check_would_find_a_threshold_off_by_one() -> None:
    selection = TruncatedSelection(1.0, 0.01)
    found = worst(truncated_noise(selection), selection.threshold - 1, 1.0)
    assert float(found) == pytest.approx(0.032, abs=0.003)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_threshold_is_the_papers(epsilon: float, delta: float) -> None:
    grown = math.exp(epsilon)
    paper = math.ceil(math.log((grown + 2 * delta - 1) / (delta * (grown + 1))) / epsilon)
    assert TruncatedSelection(epsilon, delta).threshold == max(1, paper)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_optimal_shows_at_least_as_often_as_truncated(epsilon: float, delta: float) -> None:
    optimal, truncated = OptimalSelection(epsilon, delta), TruncatedSelection(epsilon, delta)
    noise, k = truncated_noise(truncated), truncated.threshold
    tail = Fraction(0)
    for count in range(1, 2 * k + 2):
        tail += noise.get(k + 1 - count, Fraction(0))
        assert optimal.probability(count) >= tail - Fraction(1, 10**15)


def test_a_table_that_spends_too_much_is_refused() -> None:
    weights, one = OptimalSelection(1.0, 0.01)._table
    growth = exp_lower(Fraction(1), 128)
    partition._certify(list(weights), one, growth, Fraction(0.01))
    with pytest.raises(ArithmeticError):
        partition._certify(list(weights), one, growth, Fraction(0.0099))
    moved = list(weights)
    moved[0] += moved[3] // 100
    moved[3] -= weights[3] // 100
    with pytest.raises(ArithmeticError):
        partition._certify(moved, one, growth, Fraction(0.01))


@pytest.mark.parametrize("epsilon", [1e-4, 1e-3, 50.0, 700.0])
def test_extreme_budgets_have_a_certified_table(epsilon: float) -> None:
    selection = OptimalSelection(epsilon, 1e-6)
    assert abs(selection.mean) <= 0.5
    assert selection.probability(1) <= Fraction(1e-6)


@pytest.mark.parametrize("kind", [OptimalSelection, TruncatedSelection])
def test_draws_follow_the_exact_distribution(
    kind: type[OptimalSelection] | type[TruncatedSelection],
) -> None:
    selection = kind(0.7, 0.01)
    exact = (
        selection.probabilities()
        if isinstance(selection, OptimalSelection)
        else truncated_noise(selection)
    )
    size = 200_000
    drawn = selection.noise(size, Randomness.system())
    values, counts = np.unique(drawn, return_counts=True)
    observed = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert set(observed) <= set(exact)
    expected = np.array([float(p) * size for p in exact.values()])
    seen = np.array([observed.get(x, 0) for x in exact])
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-9


def test_select_shows_only_what_passes() -> None:
    selection = OptimalSelection(1.0, 1e-3)
    counts = np.array([1, 2, 500, 1000])
    shown, noisy = select(selection, counts, Randomness.system())
    assert {2, 3} <= set(shown.tolist())
    assert (noisy > selection.threshold).all()
    with pytest.raises(ValueError, match="at least 1"):
        select(selection, np.array([0, 3]), Randomness.system())
    assert len(select(selection, np.array([], dtype=int), Randomness.system())[0]) == 0


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 0.1), (1, 0), (1, 1), (math.nan, 0.1), (-1, 0.1)]
)
def test_budgets_out_of_range_are_refused(epsilon: float, delta: float) -> None:
    for kind in (OptimalSelection, TruncatedSelection):
        with pytest.raises(ValueError, match="epsilon"):
            kind(epsilon, delta)


EPSILONS = (1e-3, 0.05, 1.0, 20.0, 100.0, 690.0)
DELTAS = (1e-300, 1e-90, 1e-6, 0.3)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_length_of_a_table_is_known_before_it_is_made(epsilon: float, delta: float) -> None:
    """Also at ε of 60 and more, where a rounded step once counted so much that none was found."""
    if table_length(epsilon, delta) > 30_000:
        return
    made = len(optimal_table(epsilon, delta)[0])
    assert made <= table_length(epsilon, delta) <= 4 * made + 4
    assert TruncatedSelection(epsilon, delta).threshold <= table_length(epsilon, delta) / 2 + 4


@pytest.mark.parametrize("kind", [OptimalSelection, TruncatedSelection])
@pytest.mark.parametrize(("epsilon", "delta"), [(2e-6, 2e-9), (2e-5, 2e-91), (1e-6, 1e-300)])
def test_a_table_that_would_be_too_long_is_refused_unmade(
    kind: type[OptimalSelection] | type[TruncatedSelection], epsilon: float, delta: float
) -> None:
    with pytest.raises(SelectionError, match="noise of that size is not computed"):
        kind(epsilon, delta)
