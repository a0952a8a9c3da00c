from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy import partition
from discreet.privacy.noise import exp_lower, exp_upper
from discreet.privacy.partition import OptimalSelection, select
from discreet.privacy.randomness import Randomness
from discreet.privacy.reserved import ReservedSelection

SETTINGS = [
    (1.0, 1e-3, 0.7),
    (0.5, 1e-2, 0.3),
    (2.0, 1e-6, 1.9),
    (0.1, 1e-2, 0.05),
    (1.0, 0.2, 0.0),
]


def outcomes(
    selection: ReservedSelection, count: int, rest: int, reserve: float
) -> dict[object, float]:
    """The joint distribution of one key's selection and a noisy count of the hidden cases.

    `rest` other cases are hidden for certain. The second step is discrete Laplace noise at the
    whole reserve: it attains its ε.
    """
    found: dict[object, float] = {}
    weights, total = selection._table
    for j, weight in enumerate(weights[:count], start=1):
        found["shown", selection.threshold + 1 + count - j] = weight / total
    hidden = 1 - float(selection.probability(count))
    reach = 4000 if reserve < 0.2 else 400
    values = np.arange(-reach, reach)
    if reserve == 0:
        return found | {"hidden": hidden}
    noise = np.exp(-reserve * np.abs(values - rest - count)) * np.tanh(reserve / 2)
    return found | {("hidden", int(v)): hidden * p for v, p in zip(values, noise, strict=True)}


@pytest.mark.parametrize(("epsilon", "delta", "reserve"), SETTINGS)
def test_selection_and_whatever_reads_the_hidden_cases_are_jointly_private(
    epsilon: float, delta: float, reserve: float
) -> None:
    selection = ReservedSelection(epsilon, delta, reserve)
    attained = 0.0
    for count in range(0, len(selection._table[0]) + 2, 1 if epsilon >= 1 else 7):
        fewer = outcomes(selection, count, 5, reserve)
        more = outcomes(selection, count + 1, 5, reserve)
        for left, right in ((fewer, more), (more, fewer)):
            keys = left.keys() | right.keys()
            excess = sum(
                max(0.0, left.get(key, 0.0) - np.exp(epsilon) * right.get(key, 0.0)) for key in keys
            )
            assert excess <= delta * (1 + 1e-6) + 1e-12
            attained = max(attained, excess)
    assert attained > 0.5 * delta


def test_without_a_reserve_it_is_the_optimal_selection() -> None:
    ours, optimal = ReservedSelection(1.0, 1e-3, 0.0), OptimalSelection(1.0, 1e-3)
    for count in range(30):
        assert float(ours.probability(count)) == pytest.approx(float(optimal.probability(count)))


def test_a_reserve_of_most_of_epsilon_hides_little_more() -> None:
    """The point of it: .7 of ε for the hidden cases moves the middle threshold by one or two."""

    def middle(reserve: float) -> int:
        selection = ReservedSelection(1.0, 1e-6, reserve)
        return next(n for n in range(100) if selection.probability(n) >= Fraction(1, 2))

    assert middle(0.7) <= middle(0.0) + 2


def test_a_table_that_shows_too_much_is_refused() -> None:
    weights, one = partition.optimal_table(1.0, 1e-3, 0.7)
    bounds = exp_lower(Fraction(1), 128), exp_upper(Fraction(0.7), 128), Fraction(1e-3)
    partition._certify(list(weights), one, *bounds)
    greedy, whole = OptimalSelection(1.0, 1e-3)._table
    with pytest.raises(ArithmeticError, match="does not meet its delta"):
        partition._certify(list(greedy), whole, *bounds)


def test_draws_follow_the_table() -> None:
    selection = ReservedSelection(1.0, 0.01, 0.6)
    counts = np.full(40_000, 6)
    shown, noisy = select(selection, counts, Randomness.seeded(1))
    expected = float(selection.probability(6))
    assert abs(len(shown) / 40_000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 40_000)
    assert noisy.min() > selection.threshold
    noise = selection.noise(40_000, Randomness.seeded(2))
    assert abs(noise.mean() - selection.mean) < 5 * selection.deviation / 200
    assert noise.std() == pytest.approx(selection.deviation, rel=0.05)


@pytest.mark.parametrize(
    ("epsilon", "delta", "reserve"),
    [(0, 0.1, 0), (1, 0, 0.5), (1, 1, 0.5), (1, 0.1, 1), (1, 0.1, -1)],
)
def test_impossible_settings_are_refused(epsilon: float, delta: float, reserve: float) -> None:
    with pytest.raises(ValueError, match=r"needs epsilon|reserve"):
        ReservedSelection(epsilon, delta, reserve)
