"""A second accountant, dp-accounting's privacy-loss distributions, to hold ours against."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dp_accounting
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as pld

from discreet.privacy.renyi import TrainingPlan, rdp_epsilon


def steps_epsilon(
    laplace_scales: Sequence[float], gaussian_multipliers: Sequence[float], delta: float
) -> float:
    """ε at `delta` of sensitivity-1 Laplace and Gaussian steps, by privacy-loss distributions.

    Only for steps fixed in advance: across adaptively chosen parameters this is not valid. The
    estimate is pessimistic (dp-accounting rounds losses up). At δ = 0 it would answer infinity;
    use plain sums there.
    """
    if not 0 < delta < 1:
        raise ValueError("privacy-loss distributions need delta between 0 and 1; add up instead")
    total = pld.identity()
    for scale in laplace_scales:
        total = total.compose(pld.from_laplace_mechanism(scale))
    for multiplier in gaussian_multipliers:
        total = total.compose(pld.from_gaussian_mechanism(multiplier))
    return float(total.get_epsilon_for_delta(delta))


def training_epsilon(plans: Sequence[TrainingPlan], delta: float) -> float:
    """ε at `delta` of the same steps with continuous Gaussian noise, by dp-accounting."""
    accountant = PLDAccountant(value_discretization_interval=_interval(plans, delta))
    for plan in plans:
        step = dp_accounting.GaussianDpEvent(plan.noise_multiplier)
        event = (
            step
            if plan.sampling_rate == 1
            else dp_accounting.PoissonSampledDpEvent(float(plan.sampling_rate), step)
        )
        if plan.steps:
            accountant.compose(event, plan.steps)
    return float(accountant.get_epsilon(delta))


def _interval(plans: Sequence[TrainingPlan], delta: float) -> float:
    """Fine enough for small losses, since rounding adds up over the steps."""
    steps = sum(plan.steps for plan in plans)
    return min(1e-4, max(1e-9, rdp_epsilon(plans, delta) / (100 * math.sqrt(steps + 1))))
