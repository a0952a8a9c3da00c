"""What a release spends, step by step: the promise and the noise come from the same objects.

A mechanism builds one tree of steps from its budget. Leaves read the log: each knows what it
costs one case and makes the noise that buys, so neither can change without the other. Inner
nodes compose: each computes its cost from those below it by the rule it is named after. From the
whole, `promised` derives the `Guarantee`; a tree that costs more than was asked for has none.

Every cost holds for one case more or less, or for one case replaced, whichever the mechanism's
sensitivities are computed for; rules of composition are the same for both. Sums are exact and
rounded up once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeVar

import numpy as np

from discreet.privacy.accounting import zcdp_epsilon, zcdp_rho
from discreet.privacy.conversion import group
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget, Guarantee, Neighbours, Part, Status
from discreet.privacy.noise import Rational
from discreet.privacy.partition import Ints, Selection, select
from discreet.privacy.randomness import Integers, Randomness
from discreet.privacy.renyi import Plan, rdp_epsilon
from discreet.privacy.reserved import ReservedSelection
from discreet.privacy.selection import Score, exponential, noisy_max, noisy_top_k
from discreet.privacy.transcript import note

AS_ASKED = Fraction(99, 100)
"""A release that spends at least this part of what was asked for is stated as what was asked for,
which is a little more; one that spends less is stated as what it spends."""


Found = TypeVar("Found", bound="Step")


class SpendingError(ValueError):
    """Steps that together cost more than they may, or that do not compose."""


@dataclass(frozen=True)
class Step(ABC):
    """Something that a release does with the log, and what that costs."""

    name: str

    @property
    @abstractmethod
    def spent(self) -> Budget:
        """What it costs by itself, rounded up."""

    @property
    @abstractmethod
    def rule(self) -> str:
        """Why it costs that, in a few words."""

    @property
    def rho(self) -> Fraction | None:
        """What it costs in zCDP, beside its delta; None if nothing is known but `spent`."""
        if self.spent.delta:
            return None
        return Fraction(self.spent.epsilon) ** 2 / 2

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps below."""
        return ()

    def walk(self) -> Iterator[Step]:
        """This step and all below it."""
        yield self
        for step in self.steps:
            yield from step.walk()

    def named(self, name: str) -> Step:
        """The step of that name, here or below."""
        for step in self.walk():
            if step.name == name:
                return step
        raise KeyError(f"there is no step {name!r}")

    def find(self, name: str, kind: type[Found]) -> Found:
        """The step of that name, which is of this kind."""
        step = self.named(name)
        if not isinstance(step, kind):
            raise KeyError(f"the step {name!r} is a {type(step).__name__}, not a {kind.__name__}")
        return step

    def stated(self) -> Part:
        """What the certificate says of it and of the steps below."""
        below = tuple(step.stated() for step in self.steps)
        return Part(self.name, self.spent.epsilon, self.spent.delta, None, self.rule, below)

    def stated_in_zcdp(self) -> Part:
        """What the certificate says of it where ρ adds up."""
        rho = self.rho
        if rho is None:
            raise SpendingError(f"{self.name} has no cost in zCDP")
        return Part(self.name, delta=self.exception, rho=_up(rho), rule=self.rule)

    @property
    def exception(self) -> float:
        """The probability with which its cost in zCDP may not hold."""
        return 0.0


@dataclass(frozen=True)
class Laplace(Step):
    """Discrete Laplace noise that makes counts epsilon-DP (Ghosh et al. 2009)."""

    epsilon: float

    @property
    def spent(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    @property
    def rule(self) -> str:
        """Where the noise comes from."""
        return "discrete Laplace noise of scale sensitivity/ε"

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The noise for counts that one case moves by at most `sensitivity` in sum (L1)."""
        return CountNoise.laplace(sensitivity, self.epsilon, self.name)


@dataclass(frozen=True)
class Gaussian(Step):
    """Discrete Gaussian noise that makes counts rho-zCDP (Canonne, Kane, Steinke 2020).

    `failing` is the probability with which the promise may fail besides: rho-zCDP but for an
    event of that probability (Bun, Steinke 2016, approximate zCDP).
    """

    concentrated: float
    failing: float = 0.0

    @property
    def spent(self) -> Budget:
        """None by itself: it must stand below a `Concentrated`, which converts the sum."""
        raise SpendingError(f"{self.name} is accounted in zCDP and needs a conversion")

    @property
    def rho(self) -> Fraction:
        """What it costs in zCDP."""
        return Fraction(self.concentrated)

    @property
    def exception(self) -> float:
        """The probability with which its cost in zCDP may not hold."""
        return self.failing

    @property
    def rule(self) -> str:
        """Where the noise comes from."""
        return "discrete Gaussian noise of variance sensitivity²/2ρ"

    def noise(self, sensitivity_squared: Rational = 1) -> CountNoise:
        """The noise for counts that one case moves by that in sum of squares at most."""
        return CountNoise.gaussian(sensitivity_squared, self.concentrated, self.name)


@dataclass(frozen=True)
class Selecting(Step):
    """Partition selection with counts: which keys are shown, each case having one key."""

    selection: Selection

    @property
    def spent(self) -> Budget:
        """The selection's own epsilon and delta."""
        return Budget(self.selection.epsilon, self.selection.delta)

    @property
    def rule(self) -> str:
        """Which selection."""
        return "partition selection, each key with noise of its own"

    def select(self, counts: Ints, rng: Randomness) -> tuple[Integers, Integers]:
        """Indices of the keys that are shown and their noisy counts."""
        return select(self.selection, counts, rng)

    def noise(self, size: int, rng: Randomness) -> Integers:
        """The noise that decides, for so many keys."""
        return self.selection.noise(size, rng)


@dataclass(frozen=True)
class Choosing(Step):
    """One of several candidates by a score, epsilon-DP."""

    epsilon: float
    method: Literal["exponential", "permute and flip"] = "exponential"

    @property
    def spent(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    @property
    def rho(self) -> Fraction:
        """ε²/8 for the exponential mechanism, whose loss spans no more than ε (Cesar, Rogers)."""
        squared = Fraction(self.epsilon) ** 2
        return squared / 8 if self.method == "exponential" else squared / 2

    @property
    def rule(self) -> str:
        """Which mechanism chooses."""
        return f"{self.method} by score"

    def choose(
        self, scores: Iterable[Score], sensitivity: Rational, *, monotone: bool, rng: Randomness
    ) -> int:
        """The index of the chosen one; see `privacy/selection.py` for the scores."""
        choose = exponential if self.method == "exponential" else noisy_max
        chosen = choose(
            scores, epsilon=self.epsilon, sensitivity=sensitivity, monotone=monotone, source=rng
        )
        note(self.name, [chosen])
        return chosen

    def choose_several(
        self, scores: Iterable[Score], k: int, sensitivity: Rational, *, rng: Randomness
    ) -> list[int]:
        """The indices of k chosen ones, best first: k rounds that share epsilon."""
        if self.method != "permute and flip":
            raise SpendingError(f"{self.name}: several are chosen by permute and flip")
        chosen = noisy_top_k(
            scores, k, epsilon=self.epsilon, sensitivity=sensitivity, monotone=False, source=rng
        )
        note(self.name, chosen)
        return chosen


@dataclass(frozen=True)
class SampledGaussian(Step):
    """Noisy sums over Poisson samples of the cases, as in DP-SGD (`privacy/renyi.py`)."""

    plan: Plan

    @property
    def spent(self) -> Budget:
        """None by itself: it must stand below a `Renyi`, which converts the sum."""
        raise SpendingError(f"{self.name} is accounted by Rényi divergences, needs a conversion")

    @property
    def rho(self) -> Fraction | None:
        """Only where every case is in every sample."""
        if self.plan.sampling_rate != 1:
            return None
        return Fraction(self.plan.steps) / (2 * Fraction(self.plan.noise_multiplier) ** 2)

    @property
    def rule(self) -> str:
        """How many steps with how much noise."""
        plan = self.plan
        steps = "one sum" if plan.steps == 1 else f"{plan.steps:,} sums"
        over = "all cases" if plan.sampling_rate == 1 else f"samples of {plan.sampling_rate}"
        return (
            f"{steps} over {over}, discrete Gaussian noise of {plan.noise_multiplier:.6g} times "
            "the clip"
        )

    def noise(self, sensitivity_squared: Rational = 1) -> CountNoise:
        """The noise of one sum that a case moves by that at most, in sum of squares."""
        variance = Fraction(self.plan.noise_multiplier) ** 2 * Fraction(sensitivity_squared)
        return CountNoise("gaussian", variance, self.name)

    def stated(self) -> Part:
        """What the certificate says of it."""
        rho = self.rho
        return Part(self.name, rho=None if rho is None else _up(rho), rule=self.rule)


@dataclass(frozen=True)
class Proved(Step):
    """Something whose cost is proved beside it, by another argument than those above."""

    epsilon: float
    delta: float
    argument: str

    @property
    def spent(self) -> Budget:
        """As proved."""
        return Budget(self.epsilon, self.delta)

    @property
    def rule(self) -> str:
        """The argument."""
        return self.argument


@dataclass(frozen=True)
class Delegated(Step):
    """A whole release by another mechanism."""

    guarantee: Guarantee

    @property
    def spent(self) -> Budget:
        """What holds for it."""
        if not self.guarantee.proved or self.guarantee.holds is None:
            raise SpendingError(f"{self.name} has no guarantee to build on")
        return self.guarantee.holds

    @property
    def rule(self) -> str:
        """Its own rule."""
        return self.guarantee.composition

    def stated(self) -> Part:
        """What the certificate says of it, with its own steps."""
        return Part(
            self.name, self.spent.epsilon, self.spent.delta, None, self.rule, self.guarantee.parts
        )


@dataclass(frozen=True)
class Composed(Step):
    """Steps that are composed by a rule."""

    below: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not self.below:
            raise SpendingError(f"{self.name}: nothing to compose")

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps below."""
        return self.below


@dataclass(frozen=True)
class Sequential(Composed):
    """Epsilons and deltas add up, also where a step was chosen by the answers before it."""

    @property
    def spent(self) -> Budget:
        """The sums."""
        return _sum(step.spent for step in self.below)

    @property
    def rule(self) -> str:
        """The rule's name."""
        return "basic composition"

    @property
    def rho(self) -> Fraction | None:
        """The sum, if every part has one."""
        known = [step.rho for step in self.below]
        return None if None in known else sum((r for r in known if r is not None), Fraction(0))


@dataclass(frozen=True)
class Concentrated(Composed):
    """ρ adds up and is converted once at `delta`; exceptions come on top."""

    delta: float

    @property
    def rho(self) -> Fraction:
        """The sum."""
        total = Fraction(0)
        for step in self.below:
            if step.rho is None:
                raise SpendingError(f"{step.name} has no cost in zCDP")
            total += step.rho
        return total

    @property
    def spent(self) -> Budget:
        """The conversion of the sum."""
        delta = Fraction(self.delta) + sum(Fraction(step.exception) for step in self.below)
        return Budget(zcdp_epsilon(_up(self.rho), self.delta), min(1.0, _up(delta)))

    @property
    def exception(self) -> float:
        """The probability with which its cost in zCDP may not hold."""
        return _up(sum((Fraction(step.exception) for step in self.below), Fraction(0)))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return f"zCDP, converted at δ = {self.delta:.4g}"

    def stated(self) -> Part:
        """What the certificate says of it, its steps in ρ."""
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

    @property
    def spent(self) -> Budget:
        """The conversion of the sum at the best order."""
        plans = [step.plan for step in self.below if isinstance(step, SampledGaussian)]
        delta = Fraction(self.delta) + Fraction(self.exception)
        return Budget(rdp_epsilon(plans, self.delta), min(1.0, _up(delta)))

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

    @property
    def spent(self) -> Budget:
        """The largest epsilon and the largest delta."""
        costs = [step.spent for step in self.below]
        return Budget(max(c.epsilon for c in costs), max(c.delta for c in costs))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return "a case pays for one of these: the dearest"


@dataclass(frozen=True)
class Reserved(Step):
    """A selection, then something that reads only what it hid (`ReservedSelection`'s proof)."""

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

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps below."""
        return self.selecting, self.hidden

    @property
    def spent(self) -> Budget:
        """The selection's epsilon; both deltas."""
        deltas = Fraction(self.selecting.spent.delta) + Fraction(self.hidden.spent.delta)
        return Budget(self.selecting.spent.epsilon, min(1.0, _up(deltas)))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return "jointly: a case is shown or hidden, and pays for one of the two"


@dataclass(frozen=True)
class RandomStopping(Step):
    """Rounds until one is accepted, stopping at random after each: twice the cost of a round.

    Liu, Talwar 2019; pure epsilon only.
    """

    round: Step

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps below."""
        return (self.round,)

    @property
    def spent(self) -> Budget:
        """Twice a round."""
        each = self.round.spent
        if each.delta:
            raise SpendingError(f"{self.name}: a round must be pure")
        return Budget(_up(2 * Fraction(each.epsilon)))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return "private selection with random stopping: twice a round"


@dataclass(frozen=True)
class Group(Step):
    """What a release costs an individual who counts with at most so many cases."""

    release: Step
    cases: int

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps below."""
        return (self.release,)

    @property
    def spent(self) -> Budget:
        """Group privacy (`privacy/conversion.py`)."""
        return Budget(*group(self.release.spent.epsilon, self.release.spent.delta, self.cases))

    @property
    def rule(self) -> str:
        """The rule's name."""
        return f"group privacy for {self.cases} cases"


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
    """The noise among a step's alternatives whose threshold for so many candidates is lowest.

    For counts that one case changes by at most `l1` in sum and `l2_squared` in sum of squares.
    """
    noises = [
        leaf.noise(l1 if isinstance(leaf, Laplace) else l2_squared)
        for leaf in step.walk()
        if isinstance(leaf, Laplace | Gaussian)
    ]
    return min(noises, key=lambda noise: noise.threshold(candidates))


@dataclass(frozen=True)
class Statement:
    """What is to be said of a release besides its cost."""

    reason: str
    status: Status = "proved"
    neighbours: Neighbours = "add-remove"
    conditions: tuple[str, ...] = ()
    claimed: Budget | None = None
    """What a paper claims, where that is not what was asked for."""


def promised(tree: Step | None, asked: Budget, statement: Statement) -> Guarantee:
    """The guarantee that the steps give; raises SpendingError if they cost more than was asked.

    A refuted or unproved one states what its steps cost, if anything is known of it.
    """
    holds = None if tree is None else tree.spent
    proved = statement.status in ("proved", "conditional")
    if proved:
        if tree is None or holds is None:
            raise SpendingError("a proved guarantee needs the steps that it spends")
        if holds.epsilon > asked.epsilon or holds.delta > asked.delta:
            raise SpendingError(f"the steps cost {holds}, more than {asked}")
        _distinct_names(tree)
        holds = as_asked(holds, asked)
    whole = None if tree is None else tree.stated()
    return Guarantee(
        status=statement.status,
        claimed=asked if proved else statement.claimed,
        holds=holds,
        reason=statement.reason,
        neighbours=statement.neighbours,
        conditions=statement.conditions,
        parts=() if whole is None else whole.parts or (whole,),
        composition="one step" if tree is None or not tree.steps else tree.rule,
    )


def as_asked(spent: Budget, asked: Budget) -> Budget:
    """What was asked for, where all but a little of it is spent; else what is spent."""

    def stated(cost: float, limit: float) -> float:
        return limit if Fraction(cost) >= AS_ASKED * Fraction(limit) else cost

    return Budget(stated(spent.epsilon, asked.epsilon), stated(spent.delta, asked.delta))


def _distinct_names(tree: Step) -> None:
    twice = [name for name, n in Counter(step.name for step in tree.walk()).items() if n > 1]
    if twice:
        raise SpendingError(f"steps share a name: {', '.join(sorted(twice))}")


def _sum(budgets: Iterable[Budget]) -> Budget:
    listed = list(budgets)
    epsilon = sum((Fraction(b.epsilon) for b in listed), Fraction(0))
    delta = sum((Fraction(b.delta) for b in listed), Fraction(0))
    return Budget(_up(epsilon), min(1.0, _up(delta)))


def _up(value: Fraction) -> float:
    """The least float that is no smaller."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, math.inf))
