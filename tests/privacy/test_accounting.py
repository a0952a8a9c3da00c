"""Composition and conversions, against known formulas, exact divergences, a second accountant."""

from __future__ import annotations

import math

import pytest

from discreet.privacy import accounting
from discreet.privacy.accounting import group, per_case, to_swap
from discreet.privacy.guarantee import Part
from discreet.privacy.partition import OptimalSelection
from tests.composition import basic, zcdp
from tests.loss_distributions import steps_epsilon


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """δ(ε) of the Gaussian mechanism of sensitivity 1 (Balle and Wang 2018)."""

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    return below(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * below(
        -0.5 / sigma - epsilon * sigma
    )


def test_basic_adds_up() -> None:
    total = basic([Part("a", 0.25, 1e-6), Part("b", 0.5), Part("c", 0.25, 2e-6)])
    assert total.epsilon == 1.0
    assert total.delta == pytest.approx(3e-6)


def test_basic_refuses_parts_in_zcdp() -> None:
    with pytest.raises(ValueError, match="zcdp"):
        basic([Part("a", rho=0.1)])


@pytest.mark.parametrize("sigma", [0.7, 2.0, 10.0, 200.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_zcdp_conversion_is_valid_and_near(sigma: float, delta: float) -> None:
    epsilon = accounting.zcdp_epsilon(1 / (2 * sigma**2), delta)
    assert gaussian_delta(sigma, epsilon) <= delta
    rough = 1 / (2 * sigma**2) + 2 * math.sqrt(math.log(1 / delta) / (2 * sigma**2))
    assert epsilon < rough


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_zcdp_rho_inverts_zcdp_epsilon(epsilon: float, delta: float) -> None:
    rho = accounting.zcdp_rho(epsilon, delta)
    assert accounting.zcdp_epsilon(rho, delta) <= epsilon
    assert accounting.zcdp_epsilon(rho * 1.001, delta) > epsilon


def test_zcdp_rho_needs_an_epsilon() -> None:
    with pytest.raises(ValueError, match="epsilon above 0"):
        accounting.zcdp_rho(0.0, 1e-6)


def test_zcdp_counts_pure_parts_and_their_deltas() -> None:
    total = zcdp([Part("a", 0.2, 1e-7), Part("b", rho=0.03)], 1e-6)
    assert total.delta == pytest.approx(1.1e-6)
    assert total.epsilon == pytest.approx(accounting.zcdp_epsilon(0.02 + 0.03, 1e-6))
    assert accounting.zcdp_epsilon(0.0, 1e-6) == 0.0
    with pytest.raises(ValueError, match="delta"):
        accounting.zcdp_epsilon(1.0, 0.0)


def test_privacy_loss_distributions_are_tighter_but_never_optimistic() -> None:
    epsilon = steps_epsilon([], [2.0], 1e-5)
    assert gaussian_delta(2.0, epsilon) <= 1e-5
    assert epsilon <= accounting.zcdp_epsilon(1 / 8, 1e-5)
    ten = steps_epsilon([10.0] * 10, [], 1e-5)
    assert ten < 1.0
    with pytest.raises(ValueError, match="add up"):
        steps_epsilon([1.0], [], 0.0)


def test_swap_doubles_epsilon() -> None:
    assert to_swap(0.5, 0.0) == (1.0, 0.0)
    epsilon, delta = to_swap(0.5, 1e-6)
    assert epsilon == 1.0
    assert delta == pytest.approx((1 + math.exp(0.5)) * 1e-6)
    assert to_swap(5, 0.9)[1] == 1.0


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-5), (1.0, 1e-2), (4.0, 0.0)])
def test_per_case_is_undone_by_group(size: int, epsilon: float, delta: float) -> None:
    back = group(*per_case(epsilon, delta, size), size)
    assert back[0] == pytest.approx(epsilon, rel=1e-9)
    assert back[1] == pytest.approx(delta, rel=1e-9)
    assert back[0] <= epsilon * (1 + 1e-11)


def test_group_privacy_holds_exactly_for_partition_selection() -> None:
    """A variant of m cases of one person is shown with at most the group's δ."""
    size = 3
    epsilon, delta = per_case(1.0, 0.01, size)
    shown = float(OptimalSelection(epsilon, delta).probability(size))
    assert shown <= 0.01
    assert shown == pytest.approx(0.01, rel=1e-6)
    only_epsilon_divided = float(OptimalSelection(1.0 / size, 0.01).probability(size))
    assert only_epsilon_divided > 0.04


def test_group_of_large_epsilon_does_not_overflow() -> None:
    assert group(500.0, 1e-9, 5)[1] == 1.0


@pytest.mark.parametrize("function", [group, per_case])
def test_sizes_below_one_are_refused(function: object) -> None:
    with pytest.raises(ValueError, match="at least one"):
        function(1.0, 1e-6, 0)  # type: ignore[operator]


def test_per_case_refuses_what_it_cannot_divide() -> None:
    with pytest.raises(ValueError, match="too large"):
        per_case(1e5, 1e-6, 2)
