"""A selection that keeps a budget for what it hides: private together with whatever reads that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from discreet.privacy.partition import OptimalSelection, select
from discreet.privacy.randomness import Randomness
from discreet.privacy.reserved import ReservedSelection, certify, reserved_table

SETTINGS = [
    (1.0, 1e-3, 0.7),
    (0.5, 1e-2, 0.3),
    (2.0, 1e-6, 1.9),
    (0.1, 1e-2, 0.05),
    (1.0, 0.2, 1e-9),
]


def shown(selection: ReservedSelection, count: int) -> dict[int, float]:
    """The probability of each count that a key of so many cases may be shown with.

    By the rule of the docstring, word by word, and not by its formulas.
    """
    table, least = selection._table, selection.threshold + 1
    if not count:
        return {}
    one = table.passing[-1]
    at, beyond = (value / one for value in table.hiding)
    passed = table.passing[min(count, least) - 1] / one
    q, rho = np.exp(-selection.epsilon), np.exp(selection.reserve - selection.epsilon)
    taken = max(count, least)
    values = np.arange(least, taken + int(40 / selection.epsilon) + 2)
    noise = (1 - q) / (1 + q) * q ** np.abs(values - taken)
    hidden = np.where(values == least, at, beyond * rho ** (values - least - 1.0))
    found = passed * noise * (1 - hidden)
    return dict(zip(values.tolist(), found.tolist(), strict=True))


def outcomes(selection: ReservedSelection, count: int, rest: int) -> dict[object, float]:
    """The joint distribution of one key's selection and a noisy count of the hidden cases.

    `rest` other cases are hidden for certain. The second step is discrete Laplace noise at the
    whole reserve: it attains its ε.
    """
    seen = shown(selection, count)
    found: dict[object, float] = {("shown", value): p for value, p in seen.items()}
    hidden, reserve = 1 - sum(seen.values()), selection.reserve
    if reserve < 1e-6:
        return found | {"hidden": hidden}
    values = np.arange(-400, 400) if reserve > 0.2 else np.arange(-4000, 4000)
    noise = np.exp(-reserve * np.abs(values - rest - count)) * np.tanh(reserve / 2)
    return found | {("hidden", int(v)): hidden * p for v, p in zip(values, noise, strict=True)}


@pytest.mark.parametrize(("epsilon", "delta", "reserve"), SETTINGS)
def test_selection_and_whatever_reads_the_hidden_cases_are_jointly_private(
    epsilon: float, delta: float, reserve: float
) -> None:
    selection = ReservedSelection(epsilon, delta, reserve)
    attained = 0.0
    last = selection.middle + int(10 / (epsilon - reserve))
    for count in range(0, last, 1 if last < 60 else 7):
        fewer, more = outcomes(selection, count, 5), outcomes(selection, count + 1, 5)
        for left, right in ((fewer, more), (more, fewer)):
            keys = left.keys() | right.keys()
            excess = sum(
                max(0.0, left.get(key, 0.0) - np.exp(epsilon) * right.get(key, 0.0)) for key in keys
            )
            assert excess <= delta * (1 + 1e-6) + 1e-12
            attained = max(attained, excess)
    assert attained > 0.5 * delta


@pytest.mark.parametrize(("epsilon", "delta", "reserve"), SETTINGS)
def test_it_shows_as_much_as_its_promise_allows(
    epsilon: float, delta: float, reserve: float
) -> None:
    """Both bounds of the docstring, one of them attained at every count."""
    selection = ReservedSelection(epsilon, delta, reserve)
    chance = 0.0
    for count in range(1, 3 * selection.middle):
        settled = 1 - np.exp(reserve - epsilon) * (1 - chance)
        chance = min(np.exp(epsilon) * chance + delta, settled)
        assert selection.probability(count) == pytest.approx(chance, rel=1e-9)
        assert sum(shown(selection, count).values()) == pytest.approx(chance, rel=1e-9)


def test_with_next_to_no_reserve_it_shows_what_the_optimal_selection_does() -> None:
    ours, optimal = ReservedSelection(1.0, 1e-6, 1e-9), OptimalSelection(1.0, 1e-6)
    for count in range(40):
        assert ours.probability(count) == pytest.approx(float(optimal.probability(count)), abs=1e-6)
    assert ours.deviation <= optimal.deviation


def test_a_reserve_of_most_of_epsilon_hides_little_more_and_blurs_no_count() -> None:
    """The point of it: .7 of ε for the hidden cases moves the middle by one or two."""
    little, much = ReservedSelection(1.0, 1e-6, 1e-9), ReservedSelection(1.0, 1e-6, 0.7)
    assert much.middle <= little.middle + 2
    assert much.deviation == little.deviation


def test_a_table_that_shows_too_much_is_refused() -> None:
    table = reserved_table(1.0, 1e-3, 0.7)
    certify(table, 1.0, 1e-3, 0.7)
    one, (at, beyond) = table.passing[-1], table.hiding
    little = one >> 60
    greedy = [
        replace(table, hiding=(at, beyond - little)),
        replace(table, hiding=(at - little, beyond)),
        replace(table, hiding=(beyond, at)),
        replace(table, passing=(table.passing[0] + little, *table.passing[1:])),
        replace(table, passing=(*table.passing[:-2], one)),
        replace(table, passing=(table.passing[1], table.passing[0], *table.passing[2:])),
    ]
    for wrong in greedy:
        with pytest.raises(ArithmeticError, match="does not meet its delta"):
            certify(wrong, 1.0, 1e-3, 0.7)
    for budget in ((0.999, 1e-3, 0.7), (1.0, 0.999e-3, 0.7), (1.0, 1e-3, 0.701)):
        with pytest.raises(ArithmeticError, match="does not meet its delta"):
            certify(table, *budget)


@pytest.mark.parametrize("epsilon", [1e-3, 50.0, 700.0])
def test_extreme_budgets_have_a_certified_table(epsilon: float) -> None:
    selection = ReservedSelection(epsilon, 1e-6, 0.75 * epsilon)
    assert selection.probability(1) <= 1e-6 * (1 + 1e-9)
    assert selection.probability(selection.middle) >= 0.5


@pytest.mark.parametrize("count", [2, 4, 5, 9])
def test_draws_follow_the_rule(count: int) -> None:
    selection, size = ReservedSelection(1.0, 0.01, 0.6), 100_000
    assert selection.threshold == 3
    seen, noisy = select(selection, np.full(size, count), Randomness.system())
    assert len(seen) == len(noisy)
    exact = shown(selection, count)
    values, expected = np.array(list(exact)), size * np.array(list(exact.values()))
    usual = expected > 10
    observed = np.array([(noisy == value).sum() for value in values[usual]])
    counted = [*observed, size - observed.sum()]
    likely = [*expected[usual], size - expected[usual].sum()]
    assert stats.chisquare(counted, likely).pvalue > 1e-9


@pytest.mark.parametrize(
    ("epsilon", "delta", "reserve"),
    [(0, 0.1, 0.5), (1, 0, 0.5), (1, 1, 0.5), (1, 0.1, 1), (1, 0.1, 0), (1, 0.1, -1)],
)
def test_impossible_settings_are_refused(epsilon: float, delta: float, reserve: float) -> None:
    with pytest.raises(ValueError, match=r"needs epsilon|reserve"):
        ReservedSelection(epsilon, delta, reserve)
