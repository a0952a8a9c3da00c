"""A selection that keeps a budget for what it hides: private together with whatever reads that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from discreet.privacy.partition import OptimalSelection, select
from discreet.privacy.randomness import Randomness
from discreet.privacy.reserved import ReservedSelection, certify, reserved_constants

SETTINGS = [
    (1.0, 1e-3, 0.7),
    (0.5, 1e-2, 0.3),
    (2.0, 1e-6, 1.9),
    (0.1, 1e-2, 0.05),
    (1.0, 0.2, 1e-9),
    (0.5, 0.4, 0.3),
]


def shown(selection: ReservedSelection, count: int) -> dict[int, float]:
    """The probability of each count that a key of so many cases may be shown with.

    By the rule of the docstring, word by word, and not by its formulas.
    """
    found, least = selection._constants, selection.threshold + 1
    if not count:
        return {}
    at, beyond = (value / found.one for value in found.hiding)
    passed = sum(passing(selection)[:count])
    q, rho = np.exp(-selection.epsilon), np.exp(selection.reserve - selection.epsilon)
    taken = max(count, least)
    values = np.arange(least, taken + int(40 / selection.epsilon) + 2)
    noise = (1 - q) / (1 + q) * q ** np.abs(values - taken)
    hidden = np.where(values == least, at, beyond * rho ** (values - least - 1.0))
    found = passed * noise * (1 - hidden)
    return dict(zip(values.tolist(), found.tolist(), strict=True))


def passing(selection: ReservedSelection) -> list[float]:
    """The probability of each J, 1 first."""
    found = selection._constants
    early = found.early / found.one
    rising = np.exp(selection.epsilon * (np.arange(found.rising) - found.rising))
    settling = np.exp((selection.reserve - selection.epsilon) * np.arange(found.settling))
    parts = ((early, rising), (1 - early, settling))
    return [float(p) for share, part in parts for p in share * part / max(part.sum(), 1e-300)]


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
    assert attained > 0.5 * delta or not selection._constants.rising


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


@pytest.mark.parametrize("budget", [(1.0, 1e-3, 0.7), (0.1, 1e-2, 0.05)])
def test_constants_that_show_too_much_are_refused(budget: tuple[float, float, float]) -> None:
    found = reserved_constants(*budget)
    certify(found, *budget)
    (at, beyond), little = found.hiding, found.one >> 60
    greedy = [
        replace(found, hiding=(at, beyond - little)),
        replace(found, hiding=(beyond, at)),
        replace(found, early=found.early + little),
        replace(found, early=found.early - (found.one >> 4)),
        replace(found, early=-little),
        replace(found, rising=found.rising - 1),
        replace(found, rising=0),
        replace(found, settling=found.settling - 1),
        replace(found, hiding=(at - little, beyond)),
    ]
    for wrong in greedy:
        with pytest.raises(ArithmeticError, match="do not meet its delta"):
            certify(wrong, *budget)
    epsilon, delta, reserve = budget
    for other in (
        (0.999 * epsilon, delta, reserve),
        (epsilon, 0.999 * delta, reserve),
        (epsilon, delta, 1.001 * reserve),
    ):
        with pytest.raises(ArithmeticError, match="do not meet its delta"):
            certify(found, *other)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1e-3, 1e-6), (50.0, 1e-6), (700.0, 1e-6), (1e-5, 1e-100), (1e-5, 1e-3), (1e-5, 1e-6)],
)
def test_extreme_budgets_have_certified_constants(epsilon: float, delta: float) -> None:
    """Also those of which a list of all counts would be tens of millions long."""
    selection = ReservedSelection(epsilon, delta, 0.75 * epsilon)
    assert selection.probability(1) <= delta * (1 + 1e-9)
    assert selection.probability(selection.middle) >= 0.5
    keys = np.array([0, 100 * selection.middle])
    noisy = selection.noisy(keys, Randomness.system())
    assert noisy[0] == selection.threshold
    assert noisy[1] > selection.middle


@pytest.mark.parametrize(
    ("selection", "rising", "settling", "count"),
    [(ReservedSelection(1.0, 0.01, 0.6), 4, 0, count) for count in (2, 4, 5, 9)]
    + [(ReservedSelection(0.1, 0.01, 0.05), 13, 2, count) for count in (10, 14, 15, 40)]
    + [(ReservedSelection(0.1, 0.5, 0.05), 0, 8, 4)],
)
def test_draws_follow_the_rule(
    selection: ReservedSelection, rising: int, settling: int, count: int
) -> None:
    size, constants = 100_000, selection._constants
    assert (constants.rising, constants.settling) == (rising, settling)
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
