"""Conversions between neighbours and units, against exact divergences."""

from __future__ import annotations

import math

import pytest

from discreet.privacy.conversion import group, per_case, to_swap
from discreet.privacy.partition import OptimalSelection


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
