"""Integer noise for counts of bounded sensitivity, and the threshold that it asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy.typing as npt

from discreet.arrays import Booleans, Integers, Ints
from discreet.privacy.noise import (
    LARGEST_SCALE,
    LARGEST_VARIANCE,
    Rational,
    discrete_gaussian,
    discrete_laplace,
)
from discreet.privacy.randomness import Randomness
from discreet.privacy.transcript import note


@dataclass(frozen=True)
class CountNoise:
    """Discrete Laplace noise of a scale, or discrete Gaussian noise of a variance.

    A vector of counts of L1 sensitivity Δ with Laplace noise of scale Δ/ε is ε-DP; one of L2
    sensitivity Δ with Gaussian noise of variance Δ²/(2ρ) is ρ-zCDP, whatever is drawn lazily or
    left out by looking at the noisy values only. Mechanisms get theirs from a step of their
    spending (`privacy/steps/`), whose name it carries.
    """

    kind: Literal["laplace", "gaussian"]
    size: Fraction
    """The scale, or the variance."""
    name: str = field(default="", compare=False)
    """The name of the step that it belongs to."""

    def __post_init__(self) -> None:
        if self.size > (LARGEST_SCALE if self.kind == "laplace" else LARGEST_VARIANCE):
            raise ValueError("an epsilon this small needs more noise than 64 bits hold")

    @classmethod
    @lru_cache(maxsize=1024)
    def laplace(cls, sensitivity: Rational, epsilon: Rational, name: str = "") -> CountNoise:
        """Noise that makes counts of this L1 sensitivity epsilon-DP."""
        return cls("laplace", Fraction(sensitivity) / Fraction(epsilon), name)

    @classmethod
    @lru_cache(maxsize=1024)
    def gaussian(cls, sensitivity_squared: Rational, rho: Rational, name: str = "") -> CountNoise:
        """Noise that makes counts of this squared L2 sensitivity rho-zCDP."""
        return cls("gaussian", Fraction(sensitivity_squared) / (2 * Fraction(rho)), name)

    def draw(self, size: int, rng: Randomness) -> Integers:
        """Independent noise for `size` counts."""
        if self.kind == "laplace":
            return discrete_laplace(self.size, size, rng)
        return discrete_gaussian(self.size, size, rng)

    def added(self, counts: Ints, rng: Randomness) -> Integers:
        """The counts with noise of their own each, noted in the transcript of an audit."""
        noisy: Integers = self.joined(counts, self.draw(counts.size, rng))
        return noisy

    def joined(self, counts: npt.NDArray[Any], drawn: Integers) -> npt.NDArray[Any]:
        """Whole numbers (floats below 2⁵³ stay floats) with noise drawn before, noted too."""
        noisy = counts + drawn.reshape(counts.shape)
        note(self.name, noisy)
        return noisy

    def positive(self, counts: Ints, rng: Randomness) -> Booleans:
        """Whether each count is above zero with noise of its own; only that is noted."""
        found: Booleans = counts + self.draw(counts.size, rng) > 0
        note(self.name, found)
        return found

    def finer(self, grid: int) -> CountNoise:
        """The same noise for counts in steps of 1/grid."""
        factor = grid if self.kind == "laplace" else grid**2
        return replace(self, size=self.size * factor)

    @property
    def deviation(self) -> float:
        """The standard deviation, nearly: that of the continuous noise."""
        return math.sqrt(self.size) if self.kind == "gaussian" else math.sqrt(2) * float(self.size)

    def threshold(self, candidates: int, invented: float = 1.0) -> int:
        """The least count at which, of this many empty candidates, about `invented` still pass."""
        chance = min(0.5, invented / max(1, candidates))
        if self.kind == "gaussian":
            from statistics import NormalDist

            return max(1, math.ceil(-self.deviation * NormalDist().inv_cdf(chance)))
        scale = float(self.size)
        ratio = math.exp(-1 / scale)
        return max(1, math.ceil(-scale * math.log(chance * (1 + ratio))))
