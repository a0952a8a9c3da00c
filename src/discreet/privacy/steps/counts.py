"""Counts with all the noise that a budget asks for, Laplace or Gaussian."""

from __future__ import annotations

from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import Rational
from discreet.privacy.steps.base import Step
from discreet.privacy.steps.composition import Concentrated, OneOf
from discreet.privacy.steps.leaves import Gaussian, Laplace


def gaussian(name: str, budget: Budget) -> Concentrated:
    """Counts with all the Gaussian noise that a budget asks for, as one step."""
    rho = zcdp_rho(budget.epsilon, budget.delta)
    return Concentrated(name, (Gaussian(f"{name}: noise", rho),), budget.delta)


def laplace_or_gaussian(name: str, budget: Budget) -> OneOf:
    """Counts with Laplace noise or, where delta allows, Gaussian: see `least_noise`."""
    options: tuple[Step, ...] = (Laplace(f"{name}: Laplace", budget.epsilon),)
    if budget.delta:
        options += (gaussian(f"{name}: Gaussian", budget),)
    return OneOf(name, options)


def noise_of(step: Step, sensitivity: Rational) -> CountNoise:
    """The noise of a step that has one kind of it.

    `sensitivity` is that in L1 where the noise is Laplace, that in L2 squared where Gaussian.
    """
    sources = [leaf for leaf in step.walk() if isinstance(leaf, Laplace | Gaussian)]
    if len(sources) != 1:
        raise KeyError(f"{step.name} has no noise of its own")
    return sources[0].noise(sensitivity)


def least_noise(
    step: Step, l1: Rational, l2_squared: Rational, candidates: int = 1000
) -> CountNoise:
    """The noise among a step's alternatives whose threshold for this many candidates is lowest.

    For counts that one case changes by at most `l1` in sum and `l2_squared` in sum of squares.
    """
    noises = [
        leaf.noise(l1 if isinstance(leaf, Laplace) else l2_squared)
        for leaf in step.walk()
        if isinstance(leaf, Laplace | Gaussian)
    ]
    return min(noises, key=lambda noise: noise.threshold(candidates))
