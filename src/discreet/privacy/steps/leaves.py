"""Steps that read the log: what each costs one case, and the noise that this buys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget, Guarantee, Part
from discreet.privacy.noise import Rational
from discreet.privacy.partition import Selection, select
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan
from discreet.privacy.selection import Score, exponential, noisy_max, noisy_top_k
from discreet.privacy.steps.base import SpendingError, Step, rounded_up
from discreet.privacy.transcript import note

# Proof

LARGEST_BOUND = 1 << 20
"""Largest bound on what a case contributes to a table: the noise for it is known to exist before
anything is spent."""


@dataclass(frozen=True)
class Noisy(Step):
    """A step that adds noise of its own to counts."""

    @abstractmethod
    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The noise for counts that one case moves by at most that, in the step's own norm."""

    def prepare(self) -> None:
        """Make the noise for the largest bound on what a case may contribute."""
        self.noise(LARGEST_BOUND)


@dataclass(frozen=True)
class Laplace(Noisy):
    """Discrete Laplace noise that makes counts epsilon-DP (Ghosh et al. 2009)."""

    rule: ClassVar[str] = "discrete Laplace noise of scale sensitivity/ε"
    epsilon: float

    @cached_property
    def spent(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The noise for counts that one case moves by at most `sensitivity` in sum (L1)."""
        return CountNoise.laplace(sensitivity, self.epsilon, self.name)


@dataclass(frozen=True)
class Gaussian(Noisy):
    """Discrete Gaussian noise that makes counts rho-zCDP (Canonne, Kane, Steinke 2020).

    `failing` is the probability with which the promise may fail besides: rho-zCDP but for an
    event of that probability (Bun, Steinke 2016, approximate zCDP).
    """

    rule: ClassVar[str] = "discrete Gaussian noise of variance sensitivity²/2ρ"
    concentrated: float
    failing: float = 0.0

    @cached_property
    def spent(self) -> Budget:
        """No ε by itself: it must stand below a `Concentrated`, which converts the sum."""
        raise SpendingError(f"{self.name} is accounted in zCDP and needs a conversion")

    @cached_property
    def rho(self) -> Fraction:
        """The cost in zCDP."""
        return Fraction(self.concentrated)

    @property
    def exception(self) -> float:
        """The probability with which its cost in zCDP may not hold."""
        return self.failing

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The noise for counts that one case moves by at most that in sum of squares (L2²)."""
        return CountNoise.gaussian(sensitivity, self.concentrated, self.name)


@dataclass(frozen=True)
class Selecting(Step):
    """Partition selection with counts of the keys that are shown; each case has one key."""

    rule: ClassVar[str] = "partition selection, each key with noise of its own"
    selection: Selection

    @cached_property
    def spent(self) -> Budget:
        """The selection's own epsilon and delta."""
        return Budget(self.selection.epsilon, self.selection.delta)

    def select(self, counts: Ints, rng: Randomness) -> tuple[Integers, Integers]:
        """Indices of the keys that are shown and their noisy counts."""
        shown, noisy = select(self.selection, counts, rng)
        self.note_shown(noisy)
        return shown, noisy

    def note_shown(self, noisy: Integers) -> None:
        """Note what is shown, largest first: the order of the keys would tell of hidden ones."""
        note(self.name, np.sort(noisy)[::-1])

    def noisy(self, counts: Ints, rng: Randomness) -> Integers:
        """Noisy counts of all keys; those that pass the threshold may be shown."""
        return self.selection.noisy(counts, rng)

    def prepare(self) -> None:
        """Make the table of the selection."""
        _ = self.selection.threshold


@dataclass(frozen=True)
class Choosing(Step):
    """One of several candidates by a score, epsilon-DP."""

    epsilon: float
    method: Literal["exponential", "permute and flip"] = "exponential"

    @cached_property
    def spent(self) -> Budget:
        """Pure epsilon."""
        return Budget(self.epsilon)

    @cached_property
    def rho(self) -> Fraction:
        """ε²/8 for the exponential mechanism, whose loss spans no more than ε (Cesar, Rogers)."""
        squared = Fraction(self.epsilon) ** 2
        return squared / 8 if self.method == "exponential" else squared / 2

    @property
    def rule(self) -> str:
        """The mechanism that chooses."""
        return f"{self.method} by score"

    def choose(
        self, scores: Iterable[Score], sensitivity: Rational, *, monotone: bool, rng: Randomness
    ) -> int:
        """The index of the chosen one; see `privacy/selection.py` for the scores."""
        choose = exponential if self.method == "exponential" else noisy_max
        chosen = choose(
            scores, epsilon=self.epsilon, sensitivity=sensitivity, monotone=monotone, rng=rng
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
            scores, k, epsilon=self.epsilon, sensitivity=sensitivity, monotone=False, rng=rng
        )
        note(self.name, chosen)
        return chosen


@dataclass(frozen=True)
class SampledGaussian(Noisy):
    """Noisy sums over Poisson samples of the cases, as in DP-SGD (`privacy/renyi.py`)."""

    plan: TrainingPlan

    @cached_property
    def spent(self) -> Budget:
        """No ε by itself: it must stand below a `Renyi`, which converts the sum."""
        raise SpendingError(f"{self.name} is accounted by Rényi divergences, needs a conversion")

    @cached_property
    def rho(self) -> Fraction | None:
        """ρ where every case is in every sample, else None."""
        if self.plan.sampling_rate != 1:
            return None
        return Fraction(self.plan.steps) / (2 * Fraction(self.plan.noise_multiplier) ** 2)

    @property
    def rule(self) -> str:
        """The number of steps and their noise."""
        plan = self.plan
        steps = "one sum" if plan.steps == 1 else f"{plan.steps:,} sums"
        over = "all cases" if plan.sampling_rate == 1 else f"samples of {plan.sampling_rate}"
        return (
            f"{steps} over {over}, discrete Gaussian noise of {plan.noise_multiplier:.6g} times "
            "the clip"
        )

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The noise of one sum that a case moves by at most that in sum of squares (L2²)."""
        variance = Fraction(self.plan.noise_multiplier) ** 2 * Fraction(sensitivity)
        return CountNoise("gaussian", variance, self.name)

    def stated(self) -> Part:
        """The part of the certificate about it."""
        rho = self.rho
        return Part(self.name, rho=None if rho is None else rounded_up(rho), rule=self.rule)


@dataclass(frozen=True)
class Proved(Step):
    """Something whose cost is proved beside it, by another argument than those above."""

    epsilon: float
    delta: float
    argument: str

    @cached_property
    def spent(self) -> Budget:
        """The cost as proved."""
        return Budget(self.epsilon, self.delta)

    @property
    def rule(self) -> str:
        """The argument."""
        return self.argument


@dataclass(frozen=True)
class Delegated(Step):
    """A whole release by another mechanism."""

    guarantee: Guarantee

    @cached_property
    def spent(self) -> Budget:
        """The budget that holds for it."""
        if not self.guarantee.proved or self.guarantee.holds is None:
            raise SpendingError(f"{self.name} has no guarantee to build on")
        return self.guarantee.holds

    @property
    def rule(self) -> str:
        """The rule of its guarantee."""
        return self.guarantee.composition

    def stated(self) -> Part:
        """The part of the certificate about it, with its own steps."""
        return Part(
            self.name, self.spent.epsilon, self.spent.delta, None, self.rule, self.guarantee.parts
        )
