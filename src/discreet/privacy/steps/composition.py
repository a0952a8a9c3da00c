"""Steps made of others, each costing what the rule it is named after says; and noise for counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from discreet.privacy.accounting import group, zcdp_epsilon, zcdp_rho
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget, Part
from discreet.privacy.noise import Rational
from discreet.privacy.renyi import rdp_epsilon
from discreet.privacy.reserved import ReservedSelection
from discreet.privacy.steps.base import SpendingError, Step, rounded_up
from discreet.privacy.steps.leaves import Gaussian, Laplace, SampledGaussian, Selecting


@dataclass(frozen=True)
class Composed(Step):
    """Steps that are composed by a rule."""

    below: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not self.below:
            raise SpendingError(f"{self.name}: nothing to compose")

    @property
    def exception(self) -> float:
        """The probability with which its cost in zCDP may not hold."""
        return rounded_up(sum((Fraction(step.exception) for step in self.below), Fraction(0)))


@dataclass(frozen=True)
class Sequential(Composed):
    """Epsilons and deltas add up, also where a step was chosen by the answers before it."""

    rule: ClassVar[str] = "basic composition"

    @cached_property
    def spent(self) -> Budget:
        """The sums of the epsilons and the deltas."""
        return _added_up(step.spent for step in self.below)

    @cached_property
    def rho(self) -> Fraction | None:
        """The sum of ρ, None if some part has none."""
        known = [step.rho for step in self.below]
        return None if None in known else sum((r for r in known if r is not None), Fraction(0))


@dataclass(frozen=True)
class Concentrated(Composed):
    """ρ adds up and is converted once at `delta`; exceptions come on top."""

    delta: float

    @cached_property
    def rho(self) -> Fraction:
        """The sum of ρ."""
        total = Fraction(0)
        for step in self.below:
            if step.rho is None:
                raise SpendingError(f"{step.name} has no cost in zCDP")
            total += step.rho
        return total

    @cached_property
    def spent(self) -> Budget:
        """The conversion of the sum."""
        delta = Fraction(self.delta) + sum(Fraction(step.exception) for step in self.below)
        return Budget(zcdp_epsilon(rounded_up(self.rho), self.delta), min(1.0, rounded_up(delta)))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return f"zCDP, converted at δ = {self.delta:.4g}"

    def stated(self) -> Part:
        """The part of the certificate about it, with its steps in ρ."""
        below = tuple(step.stated_in_zcdp() for step in self.below)
        return Part(self.name, self.spent.epsilon, self.spent.delta, None, self.rule, below)


@dataclass(frozen=True)
class Renyi(Composed):
    """Rényi divergences add up order by order and are converted once; exceptions come on top."""

    delta: float
    exception: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(step, SampledGaussian) for step in self.below):
            raise SpendingError(f"{self.name}: only sampled Gaussian steps compose so")

    @cached_property
    def spent(self) -> Budget:
        """The conversion of the sum at the best order."""
        plans = [step.plan for step in self.below if isinstance(step, SampledGaussian)]
        delta = Fraction(self.delta) + Fraction(self.exception)
        return Budget(rdp_epsilon(plans, self.delta), min(1.0, rounded_up(delta)))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return f"Rényi divergences, converted at δ = {self.delta:.4g}"


@dataclass(frozen=True)
class OneOf(Composed):
    """A case pays for one of these only: the dearest counts.

    Either only one is run, which one being public or known from answers already paid for; or
    each reads other cases than the rest.
    """

    rule: ClassVar[str] = "a case pays for one of these: the dearest"

    @cached_property
    def spent(self) -> Budget:
        """The largest epsilon and the largest delta."""
        costs = [step.spent for step in self.below]
        return Budget(max(c.epsilon for c in costs), max(c.delta for c in costs))


@dataclass(frozen=True)
class Reserved(Step):
    """A selection, then something that reads only what it hid (`ReservedSelection`'s proof)."""

    rule: ClassVar[str] = "jointly: a case is shown or hidden, and pays for one of the two"
    selecting: Selecting
    hidden: Step

    def __post_init__(self) -> None:
        selection = self.selecting.selection
        if not isinstance(selection, ReservedSelection):
            raise SpendingError(f"{self.name}: the selection reserves nothing")
        if self.hidden.spent.epsilon > selection.reserve:
            raise SpendingError(
                f"{self.hidden.name} costs {self.hidden.spent}, but only "
                f"ε = {selection.reserve:.6g} is reserved for it"
            )

    @cached_property
    def spent(self) -> Budget:
        """The selection's epsilon; both deltas."""
        deltas = Fraction(self.selecting.spent.delta) + Fraction(self.hidden.spent.delta)
        return Budget(self.selecting.spent.epsilon, min(1.0, rounded_up(deltas)))


@dataclass(frozen=True)
class RandomStopping(Step):
    """Rounds until one is accepted, stopping at random after each: twice the cost of a round.

    Liu, Talwar 2019; pure epsilon only.
    """

    rule: ClassVar[str] = "private selection with random stopping: twice a round"
    round: Step

    @cached_property
    def spent(self) -> Budget:
        """Twice the cost of a round."""
        each = self.round.spent
        if each.delta:
            raise SpendingError(f"{self.name}: a round must be pure")
        return Budget(rounded_up(2 * Fraction(each.epsilon)))


@dataclass(frozen=True)
class Group(Step):
    """What a release costs an individual who counts with at most `cases` cases."""

    release: Step
    cases: int

    @cached_property
    def spent(self) -> Budget:
        """Group privacy (`privacy/accounting.py`)."""
        return Budget(*group(self.release.spent.epsilon, self.release.spent.delta, self.cases))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return f"group privacy for {self.cases} cases"


def _added_up(budgets: Iterable[Budget]) -> Budget:
    listed = list(budgets)
    epsilon = sum((Fraction(b.epsilon) for b in listed), Fraction(0))
    delta = sum((Fraction(b.delta) for b in listed), Fraction(0))
    return Budget(rounded_up(epsilon), min(1.0, rounded_up(delta)))


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
    leaves = [leaf for leaf in step.walk() if isinstance(leaf, Laplace | Gaussian)]
    if len(leaves) != 1:
        raise KeyError(f"{step.name} has no noise of its own")
    return leaves[0].noise(sensitivity)


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
