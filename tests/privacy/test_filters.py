"""Filters against the strongest adversary there is, computed exactly on small cases."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cache
from statistics import NormalDist

import pytest

from discreet.privacy.accounting import zcdp_epsilon
from discreet.privacy.filters import (
    FILTERS,
    FilterName,
    Limit,
    Spend,
    gdp_delta,
    gdp_mu,
    limits,
    pure_epsilon,
    pure_mu,
)
from discreet.privacy.guarantee import Budget, Guarantee, Part
from tests.composition import zcdp

NORMAL = NormalDist()
STEP = 0.05
SIZES = (1, 2, 4)
"""The adversary asks randomised responses of ε = 0.05, 0.1 or 0.2, whichever he likes next."""


def worst_delta(cap: Budget, allowed: tuple[Limit, ...], sizes: tuple[int, ...] = SIZES) -> float:
    """The δ at ε that the best adaptive adversary reaches who may go on while a filter allows.

    Randomised response is the worst ε-DP release, so this is the worst of all. The state is the
    privacy loss so far, in steps, and how many releases of each size were made.
    """
    cost = {size: Spend.of_budget(Budget(round(size * STEP, 2))) for size in sizes}
    none = (0,) * len(sizes)
    spent: dict[tuple[int, ...], Spend] = {none: Spend()}

    def total(made: tuple[int, ...]) -> Spend:
        if made not in spent:
            i = next(i for i, n in enumerate(made) if n)
            fewer = tuple(n - (i == j) for j, n in enumerate(made))
            spent[made] = total(fewer) + cost[sizes[i]]
        return spent[made]

    @cache
    def fits(made: tuple[int, ...]) -> bool:
        return any(limit.fits(total(made)) for limit in allowed)

    @cache
    def value(loss: int, made: tuple[int, ...]) -> float:
        best = max(0.0, -math.expm1(cap.epsilon - loss * STEP))
        for i, size in enumerate(sizes):
            more = tuple(n + (i == j) for j, n in enumerate(made))
            if fits(more):
                likely = 1 / (1 + math.exp(-size * STEP))
                best = max(
                    best,
                    likely * value(loss + size, more) + (1 - likely) * value(loss - size, more),
                )
        return best

    return value(0, none)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("cap", [Budget(0.4, 0.02), Budget(0.6, 0.05)], ids=str)
def test_no_adaptive_adversary_gets_past_the_cap(cap: Budget, name: FilterName) -> None:
    reached = worst_delta(cap, limits(cap, name))
    assert reached <= cap.delta
    if name in ("best", "zcdp"):
        assert reached > cap.delta / 1000, "the adversary had a real choice"


def test_the_adversary_finds_a_filter_that_is_too_wide() -> None:
    cap = Budget(0.4, 0.02)
    (zcdp_limit,) = limits(cap, "zcdp")
    wide = Limit("zcdp", 6 * zcdp_limit.amount, zcdp_limit.delta)
    assert worst_delta(cap, (wide,), sizes=(2, 4)) > cap.delta


def test_best_divides_delta() -> None:
    cap = Budget(3, 1e-5)
    parts = limits(cap, "best")
    assert [part.name for part in parts] == ["basic", "zcdp"]
    basic, squares = parts
    slack = zcdp_epsilon(float(squares.amount), float(squares.delta))
    assert slack <= cap.epsilon
    assert float(basic.delta) + 2 * float(squares.delta) <= cap.delta * (1 + 1e-12)
    assert [part.name for part in limits(Budget(3), "best")] == ["basic"]


@pytest.mark.parametrize("cap", [Budget(0.1, 1e-9), Budget(1, 1e-6), Budget(20, 1e-4)], ids=str)
def test_zcdp_contains_advanced(cap: Budget) -> None:
    (wide,), (narrow,) = limits(cap, "zcdp"), limits(cap, "advanced")
    assert narrow.amount < wide.amount
    assert narrow.delta == wide.delta
    rho, log = float(narrow.amount), -math.log(cap.delta / 2)
    assert rho + 2 * math.sqrt(rho * log) == pytest.approx(cap.epsilon)


@pytest.mark.parametrize("cap", [Budget(e, d) for e in (0.3, 1, 5, 30) for d in (1e-9, 1e-4)])
def test_gdp_adds_nothing_while_costs_are_stated_in_epsilon(cap: Budget) -> None:
    (gdp,) = limits(cap, "gdp")
    for epsilon in (0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0):
        cost = Spend.of_budget(Budget(epsilon))
        by_gdp = int(gdp.amount / cost.mu_squared)
        by_best = max(int(limit.amount / limit.of(cost)[0]) for limit in limits(cap, "best"))
        assert by_best >= by_gdp


def test_gaussian_conversion_against_numerical_integration() -> None:
    from scipy.integrate import quad

    for epsilon, mu in ((0.5, 0.3), (1.0, 1.0), (4.0, 1.5)):
        start = epsilon / mu + mu / 2
        integral, _ = quad(
            lambda x, e=epsilon, m=mu: NORMAL.pdf(x - m) - math.exp(e) * NORMAL.pdf(x),
            start,
            start + 40,
        )
        assert gdp_delta(epsilon, mu) == pytest.approx(integral, rel=1e-6)
        largest = gdp_mu(epsilon, integral)
        assert largest == pytest.approx(mu, rel=1e-6)
        assert gdp_delta(epsilon, largest) <= integral


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 5.0, 40.0])
def test_a_pure_release_is_gaussian_with_that_mu(epsilon: float) -> None:
    mu = pure_mu(epsilon)
    assert pure_epsilon(mu) == pytest.approx(epsilon, rel=1e-6)
    for alpha in (1e-9, 1e-4, 0.01, 0.2, 0.5, 0.9, 0.999):
        curve = max(0.0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
        assert NORMAL.cdf(-NORMAL.inv_cdf(alpha) - mu) <= curve + 1e-15


def test_amounts_add_up_as_people_write_them() -> None:
    (limit,) = limits(Budget(1), "basic")
    total = Spend()
    for _ in range(10):
        assert limit.fits(total)
        total += Spend.of_budget(Budget(0.1))
    assert limit.fits(total)
    assert not limit.fits(total + Spend.of_budget(Budget(1e-12)))


@pytest.mark.parametrize("name", FILTERS)
def test_the_next_epsilon_fits_and_hardly_more_does(name: FilterName) -> None:
    spent = Spend.of_budget(Budget(0.1, 1e-9))
    for limit in limits(Budget(2, 1e-5), name):
        largest = limit.next_epsilon(spent)
        assert limit.fits(spent + Spend.of_budget(Budget(largest)))
        assert not limit.fits(spent + Spend.of_budget(Budget(largest * 1.001)))
        full = Spend.of_budget(Budget(50))
        assert limit.next_epsilon(full) == 0
        assert limit.used(full) > 1


def promise(holds: Budget, *parts: Part, **more: object) -> Guarantee:
    return Guarantee(status="proved", claimed=holds, holds=holds, reason="", parts=parts, **more)  # type: ignore[arg-type]


def test_parts_count_by_their_squares() -> None:
    spend = Spend.of(promise(Budget(1, 2e-6), Part("a", 0.5, 1e-6), Part("b", 0.5, 1e-6)))
    assert (spend.epsilon, spend.rho) == (Decimal("1.0"), Decimal("0.25"))
    assert spend.delta == spend.rho_delta == Decimal("0.000002")


def test_gaussian_parts_cost_their_rho_and_no_delta() -> None:
    parts = (Part("noise", rho=0.01),)
    spend = Spend.of(promise(zcdp(parts, 1e-6), *parts))
    assert (spend.rho, spend.rho_delta) == (Decimal("0.01"), Decimal(0))
    assert spend.delta == Decimal("0.000001")
    assert spend.mu_squared > 0


def test_parts_that_do_not_account_for_the_whole_are_not_believed() -> None:
    whole = Spend.of_budget(Budget(2, 1e-6))
    assert Spend.of(promise(Budget(2, 1e-6), Part("a", 0.5, 1e-6))) == whole
    assert Spend.of(promise(Budget(2, 1e-6), Part("a", rho=0.001))) == whole
    assert Spend.of(promise(Budget(2, 1e-6))) == whole


def test_parts_per_case_do_not_count_for_individuals() -> None:
    people = promise(
        Budget(2), Part("a", 1), Part("b", 1), unit="individual", cases_per_individual=2
    )
    assert Spend.of(people) == Spend.of_budget(Budget(2))


def test_a_swap_costs_two_changes() -> None:
    pure = Spend.of_budget(Budget(0.5)).doubled()
    assert (pure.epsilon, pure.delta) == (Decimal("1.0"), Decimal("0.0"))
    assert pure.rho == Decimal("0.5")
    leaky = Spend.of_budget(Budget(0.5, 1e-6)).doubled()
    assert float(leaky.delta) == pytest.approx((1 + math.exp(0.5)) * 1e-6)
    assert leaky.rho_delta == leaky.delta
    parts = (Part("noise", rho=0.01),)
    gaussian = Spend.of(promise(zcdp(parts, 1e-6), *parts)).doubled()
    assert (gaussian.rho, gaussian.rho_delta) == (Decimal("0.04"), Decimal(0))


def test_costs_survive_being_written_down() -> None:
    spend = Spend.of_budget(Budget(0.1, 1e-300)) + Spend.of_budget(Budget(1e5))
    assert Spend.from_dict(spend.to_dict()) == spend
    for limit in limits(Budget(3, 1e-5), "best"):
        assert Limit.from_dict(limit.to_dict()) == limit


def test_without_a_bound_there_is_no_cost() -> None:
    nothing = Guarantee(status="refuted", claimed=Budget(1), holds=None, reason="")
    with pytest.raises(ValueError, match="no cost"):
        Spend.of(nothing)
    with pytest.raises(ValueError, match="use basic"):
        limits(Budget(1), "zcdp")
    with pytest.raises(ValueError, match="not one of"):
        limits(Budget(1), "pld")  # type: ignore[arg-type]
