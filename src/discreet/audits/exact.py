"""Mechanisms whose output distribution is known exactly, and the leak that it implies.

A release of independent parts (one noisy count per variant) is a product of distributions; two
neighbouring logs differ in a few of them and the rest cancels. Register the distribution of a
mechanism with `@factors.register`.

`laplace-count` and `gaussian-count` are plain noise mechanisms, to be audited like any other: they
release one number, how many cases the log has, and an audit must find their whole leak.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce, singledispatch
from itertools import accumulate
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.audits.bounds import Distribution, joint, smallest_delta, smallest_epsilon
from discreet.mechanisms.base import Mechanism, delta_parameter
from discreet.mechanisms.travas import TraVaS, UTraVaS, expected_hidden_count
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import exp_enclosure, exp_lower
from discreet.privacy.partition import TruncatedSelection
from discreet.privacy.steps import Laplace, Statement, Step

if TYPE_CHECKING:
    from discreet.arrays import Integers
    from discreet.log.events import EventLog
    from discreet.privacy.randomness import Randomness

CASES = "number of cases"

# Proof: every rounding makes a bound lower
BITS = 160
"""Bits to which probabilities are known; outcomes less likely than 2^-BITS are cut off."""
NEGLIGIBLE = Fraction(1, 2**150)
"""Probability below the certainty of the arithmetic; leaving it out makes every bound lower."""

# Tuned, on time and memory
LARGEST = 200_000
"""Most outcomes of a joint distribution that is computed."""


@dataclass(frozen=True)
class Figures:
    """Released numbers by name: a document that is written as JSON."""

    values: dict[str, Any]
    kind: str = "figures"
    suffixes: tuple[str, ...] = (".json",)

    def render(self, suffix: str) -> str:
        """The text of the file."""
        return json.dumps(self.values, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class NoisyCount(Mechanism[Figures]):
    """The number of cases with integer noise."""

    paper: ClassVar[str] = "C. Canonne, G. Kamath, T. Steinke: The Discrete Gaussian. NeurIPS 2020"
    returns: ClassVar[str] = "figures"

    @abstractmethod
    def probabilities(self) -> dict[int, Fraction]:
        """The noise's distribution: value → probability."""

    @abstractmethod
    def _noise(self, size: int, rng: Randomness) -> Integers:
        """Independent draws of the noise."""

    def _statement(self, asked: Budget) -> Statement:
        return Statement("One case more or less moves the number of cases by one.")

    def _draw(self, log: EventLog, rng: Randomness) -> Figures:
        return next(self._draw_many(log, 1, rng))

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Figures]:
        noisy = log.cases + self._noise(runs, rng)
        return (Figures({"cases": value}) for value in noisy.tolist())


@dataclass(frozen=True, kw_only=True)
class LaplaceCount(NoisyCount):
    """The number of cases with discrete Laplace noise of scale 1/ε.

    P[n]/P[n + 1] = e^{±ε} for every n and the count moves by one: pure ε, attained everywhere.
    """

    name: ClassVar[str] = "laplace-count"
    summary: ClassVar[str] = "reference: number of cases plus discrete Laplace noise"

    def probabilities(self) -> dict[int, Fraction]:
        """The noise's distribution: value → probability."""
        epsilon = Fraction(self.case_budget.epsilon)
        reach = ceil(BITS * Fraction(7, 10) / epsilon)
        ratio = exp_enclosure(-epsilon, 2 * BITS)[0]
        powers = accumulate(range(reach), lambda w, _: w * ratio >> 2 * BITS, initial=1 << 2 * BITS)
        return _normalised([Fraction(power) for power in powers])

    def _spending(self, budget: Budget) -> Step:
        return Laplace(CASES, budget.epsilon)

    def _noise(self, size: int, rng: Randomness) -> Integers:
        return self.noise(CASES).draw(size, rng)


@dataclass(frozen=True)
class ExactGaussian(Step):
    """Discrete Gaussian noise on one count, as little as a budget allows: by exact divergence."""

    budget: Budget

    @property
    def spent(self) -> Budget:
        """The budget."""
        return self.budget

    @property
    def rule(self) -> str:
        """Where the cost comes from."""
        return "exact divergence of discrete Gaussian noise"

    @property
    def variance(self) -> Fraction:
        """σ²."""
        return _smallest_variance(self.budget)

    def noise(self) -> CountNoise:
        """The noise for a count that a case moves by one."""
        return CountNoise("gaussian", self.variance, self.name)


@dataclass(frozen=True, kw_only=True)
class GaussianCount(NoisyCount):
    """The number of cases with discrete Gaussian noise, as little as (ε, δ) allows.

    σ² is the smallest multiple of 1/1024 for which the hockey-stick divergence between the noise
    and the noise moved by one, evaluated in rationals, is at most δ at ε.
    """

    name: ClassVar[str] = "gaussian-count"
    summary: ClassVar[str] = "reference: number of cases plus discrete Gaussian noise"

    delta: float = delta_parameter()

    @property
    def variance(self) -> Fraction:
        """σ²."""
        return self.step(CASES, ExactGaussian).variance

    def probabilities(self) -> dict[int, Fraction]:
        """The noise's distribution: value → probability."""
        return _gaussian(self.variance)

    def _spending(self, budget: Budget) -> Step:
        return ExactGaussian(CASES, budget)

    def _noise(self, size: int, rng: Randomness) -> Integers:
        return self.step(CASES, ExactGaussian).noise().draw(size, rng)


REFERENCE_MECHANISMS: dict[str, type[Mechanism]] = {
    owner.name: owner for owner in (GaussianCount, LaplaceCount)
}


@lru_cache(maxsize=32)
def _smallest_variance(budget: Budget) -> Fraction:
    grid = 1024
    allowed = Fraction(budget.delta)

    def fits(steps: int) -> bool:
        noise = _gaussian(Fraction(steps, grid))
        moved = {x + 1: p for x, p in noise.items()}
        return smallest_delta(noise, moved, budget.epsilon) + Fraction(1, 2**100) <= allowed

    high = 1
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return Fraction(high, grid)


def _gaussian(variance: Fraction) -> dict[int, Fraction]:
    reach = isqrt(ceil(2 * BITS * variance)) + 1
    return _normalised([exp_lower(-(x * x) / (2 * variance), 2 * BITS) for x in range(reach + 1)])


def _normalised(weights: list[Fraction]) -> dict[int, Fraction]:
    """A symmetric distribution from the weights of 0, 1, 2, …"""
    total = 2 * sum(weights) - weights[0]
    return {x: weights[abs(x)] / total for x in range(1 - len(weights), len(weights))}


Factors = dict[Hashable, Distribution]
HIDDEN = None
"""The outcome of a part that is not shown."""
ABSENT: Distribution = {HIDDEN: Fraction(1)}


@dataclass(frozen=True)
class ExactLeak:
    """What two logs' output distributions imply: no confidence needed."""

    epsilon: float
    """The ε below which (ε, δ) fails."""
    delta: float
    """The δ below which (ε, δ) fails, at the ε that was promised."""
    contradicts: bool
    """Whether the promise is broken."""


@singledispatch
def factors(mechanism: Mechanism, log: EventLog) -> Factors | None:
    """The independent parts of a release with their distributions; None where they are unknown.

    A part that is missing counts as hidden for certain. Register a mechanism with
    `@factors.register`.
    """
    return None


def exact_leak(
    mechanism: Mechanism, left: EventLog, right: EventLog, budget: Budget
) -> ExactLeak | None:
    """The exact leak between two logs against a budget, where the distributions are known."""
    if mechanism.cases_per_individual is not None:
        return None
    first, second = factors(mechanism, left), factors(mechanism, right)
    if first is None or second is None:
        return None
    keys = [
        key
        for key in first.keys() | second.keys()
        if first.get(key, ABSENT) != second.get(key, ABSENT)
    ]
    sizes = [math.prod(len(parts.get(key, ABSENT)) for key in keys) for parts in (first, second)]
    if max(sizes) > LARGEST:
        return None
    nothing: Distribution = {(): Fraction(1)}
    whole, other = (
        reduce(joint, (parts.get(key, ABSENT) for key in keys), nothing)
        for parts in (first, second)
    )
    this, that = _shared(whole, other), _shared(other, whole)
    delta = smallest_delta(this, that, budget.epsilon)
    return ExactLeak(
        epsilon=smallest_epsilon(this, that, budget.delta),
        delta=float(delta),
        contradicts=delta > Fraction(budget.delta) + NEGLIGIBLE,
    )


def _shared(left: Distribution, right: Distribution) -> Distribution:
    """Without the outcomes at which only an infinite distribution was cut off."""
    return {x: p for x, p in left.items() if p > NEGLIGIBLE or right.get(x, 0) > NEGLIGIBLE}


@factors.register(NoisyCount)
def _count(mechanism: NoisyCount, log: EventLog) -> Factors | None:
    return {"cases": {log.cases + x: p for x, p in mechanism.probabilities().items()}}


@factors.register(TraVaS)
def _travas(mechanism: TraVaS, log: EventLog) -> Factors | None:
    selection = mechanism.selection
    noise, threshold = selection.probabilities(), selection.threshold
    return {sequence: _shown(noise, count, threshold) for sequence, count in log.variants}


@factors.register(UTraVaS)
def _utravas(mechanism: UTraVaS, log: EventLog) -> Factors | None:
    if mechanism.runs > 1 and (mechanism.fidelity == "published" or mechanism.choose == "private"):
        return None
    runs = mechanism.runs
    each = mechanism.case_budget.share(1 / runs)
    selection = TruncatedSelection(each.epsilon, each.delta)
    noise, threshold = selection.probabilities(), selection.threshold
    if len(noise) ** 2 * runs**2 > 200_000:
        return None
    hidden = expected_hidden_count(selection.epsilon, selection.threshold)
    return {
        sequence: _mean(_shown(noise, count, threshold), runs, hidden)
        for sequence, count in log.variants
    }


def _shown(noise: dict[int, Fraction], count: int, threshold: int) -> Distribution:
    """One key of partition selection: its noisy count where that passes the threshold."""
    outcomes: dict[Hashable, Fraction] = defaultdict(Fraction)
    for x, p in noise.items():
        outcomes[count + x if count + x > threshold else HIDDEN] += p
    return dict(outcomes)


def _mean(one: Distribution, runs: int, hidden: float) -> Distribution:
    """The mean of several runs, rounded, an expected count in place of each hidden one."""
    sums: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(1)}
    for _ in range(runs):
        grown: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for (times, total), p in sums.items():
            for outcome, q in one.items():
                if outcome is HIDDEN:
                    grown[times, total] += p * q
                else:
                    assert isinstance(outcome, int)
                    grown[times + 1, total + outcome] += p * q
        sums = grown
    outcomes: dict[Hashable, Fraction] = defaultdict(Fraction)
    for (times, total), p in sums.items():
        mean = int(np.rint((total + (runs - times) * hidden) / runs))
        outcomes[mean if times else HIDDEN] += p
    return dict(outcomes)
