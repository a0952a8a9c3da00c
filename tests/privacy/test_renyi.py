from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

from discreet.privacy.renyi import (
    TrainingPlan,
    fitted,
    rdp,
    rdp_epsilon,
)
from tests.loss_distributions import training_epsilon

RATES = [Fraction(1, 50), Fraction(1, 8), Fraction(1)]


def noise_multiplier(epsilon: float, delta: float, rate: Fraction, steps: int) -> float:
    """The least multiplier on the grid for which one plan is certified within the budget."""
    (plan,) = fitted(epsilon, delta, (TrainingPlan(rate, steps, 1.0),))
    return plan.noise_multiplier


def divergence(q: float, z: float, order: int, swapped: bool) -> float:
    """The Rényi divergence of one step with discrete noise, by summing over the integers."""
    bound = 16
    x = np.arange(-(order + 12) * int(z * bound), (order + 12) * int(z * bound))
    without = -(x**2) / (2 * (z * bound) ** 2)
    added = -((x - bound) ** 2) / (2 * (z * bound) ** 2)
    with np.errstate(divide="ignore"):
        mixed = np.logaddexp(np.log1p(-q) + without, np.log(q) + added)
    up, down = (without, mixed) if swapped else (mixed, without)
    return float(logsumexp(order * up + (1 - order) * down) - logsumexp(without)) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 8, 20])
@pytest.mark.parametrize(("q", "z"), [(0.02, 1.0), (0.125, 2.0), (1.0, 4.0)])
def test_moments_are_those_of_discrete_noise(q: float, z: float, order: int) -> None:
    certified = rdp(TrainingPlan(Fraction(q).limit_denominator(1000), 1, z), order)
    assert divergence(q, z, order, swapped=False) == pytest.approx(certified, rel=1e-6)
    assert divergence(q, z, order, swapped=True) <= certified * (1 + 1e-9)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 2.0, 10.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-4, 1e-2])
def test_what_is_asked_for_is_what_is_accounted(
    epsilon: float, delta: float, rate: Fraction
) -> None:
    plan = TrainingPlan(rate, 200, noise_multiplier(epsilon, delta, rate, 200))
    assert 0.99 * epsilon <= rdp_epsilon([plan], delta) <= epsilon


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_both_accountants_agree(epsilon: float, rate: Fraction) -> None:
    """The one that certifies is above the other, which sees more than moments, but not far."""
    plan = TrainingPlan(rate, 100, noise_multiplier(epsilon, 1e-6, rate, 100))
    assert 0.8 * epsilon <= training_epsilon([plan], 1e-6) <= epsilon


def test_networks_compose() -> None:
    plans = fitted(
        1.0,
        1e-5,
        (TrainingPlan(Fraction(1, 10), 100, 1.0), TrainingPlan(Fraction(1, 20), 300, 2.0)),
    )
    assert 0.99 <= rdp_epsilon(plans, 1e-5) <= 1.0
    assert plans[1].noise_multiplier == pytest.approx(2 * plans[0].noise_multiplier, rel=1e-3)
    assert all(rdp_epsilon([plan], 1e-5) < 1.0 for plan in plans)
    assert training_epsilon(plans, 1e-5) <= 1.0


def test_more_of_anything_costs_more() -> None:
    usual = rdp_epsilon([TrainingPlan(Fraction(1, 10), 100, 2.0)], 1e-5)
    assert rdp_epsilon([TrainingPlan(Fraction(1, 10), 200, 2.0)], 1e-5) > usual
    assert rdp_epsilon([TrainingPlan(Fraction(1, 5), 100, 2.0)], 1e-5) > usual
    assert rdp_epsilon([TrainingPlan(Fraction(1, 10), 100, 1.0)], 1e-5) > usual
    assert rdp_epsilon([TrainingPlan(Fraction(1, 10), 0, 2.0)], 1e-5) == 0.0


def test_multipliers_have_short_binary_forms() -> None:
    multiplier = noise_multiplier(1.0, 1e-6, Fraction(1, 10), 100)
    assert Fraction(multiplier).numerator.bit_length() <= 14


@pytest.mark.parametrize(
    ("rate", "steps", "multiplier"),
    [(Fraction(0), 1, 1.0), (Fraction(3, 2), 1, 1.0), (Fraction(1, 2), -1, 1.0)]
    + [(Fraction(1, 2), 1, bad) for bad in (0.0, -1.0, math.nan)],
)
def test_senseless_plans_are_refused(rate: Fraction, steps: int, multiplier: float) -> None:
    with pytest.raises(ValueError):
        TrainingPlan(rate, steps, multiplier)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0)])
def test_senseless_budgets_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError):
        noise_multiplier(epsilon, delta, Fraction(1, 2), 10)
