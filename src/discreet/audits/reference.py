"""Plain noise mechanisms whose leak is known exactly: what an audit must be able to find.

They release one number, how many cases the log has, and are audited like any mechanism under
the names `laplace-count` and `gaussian-count`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.audits.divergence import smallest_delta
from discreet.mechanisms.base import Mechanism, delta_parameter
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import exp_enclosure, exp_lower
from discreet.privacy.steps import Laplace, Statement, Step

if TYPE_CHECKING:
    from discreet.arrays import Integers
    from discreet.log.events import EventLog
    from discreet.privacy.randomness import Randomness

CASES = "number of cases"

BITS = 160
"""Probabilities are known to so many bits; outcomes less likely than 2^-BITS are cut off."""


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
        """Independent draws of it."""

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
