"""Integer noise for counts of bounded sensitivity, and the threshold that it asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.mechanisms.parameters import ParameterError
from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import Rational, discrete_gaussian, discrete_laplace
from discreet.privacy.randomness import Integers, Randomness


@dataclass(frozen=True)
class CountNoise:
    """Discrete Laplace noise of a scale, or discrete Gaussian noise of a variance.

    A vector of counts of L1 sensitivity Δ with Laplace noise of scale Δ/ε is ε-DP; one of L2
    sensitivity Δ with Gaussian noise of variance Δ²/(2ρ) is ρ-zCDP, whatever is drawn lazily or
    left out by looking at the noisy values only.
    """

    kind: Literal["laplace", "gaussian"]
    size: Fraction
    """The scale, or the variance."""

    def __post_init__(self) -> None:
        if self.size > (1 << 50 if self.kind == "laplace" else 1 << 60):
            raise ParameterError(
                "so small an epsilon needs more noise than 64 bits hold; give a larger one, or "
                "allow fewer cases per individual"
            )

    @classmethod
    def laplace(cls, sensitivity: Rational, epsilon: float) -> CountNoise:
        """Noise that makes counts of this L1 sensitivity epsilon-DP."""
        return cls("laplace", Fraction(sensitivity) / Fraction(epsilon))

    @classmethod
    def gaussian(cls, sensitivity_squared: Rational, rho: float) -> CountNoise:
        """Noise that makes counts of this squared L2 sensitivity rho-zCDP."""
        return cls("gaussian", Fraction(sensitivity_squared) / (2 * Fraction(rho)))

    def draw(self, size: int, source: Randomness) -> Integers:
        """Independent noise for so many counts."""
        if self.kind == "laplace":
            return discrete_laplace(self.size, size, source)
        return discrete_gaussian(self.size, size, source)

    @property
    def deviation(self) -> float:
        """The standard deviation, nearly."""
        return math.sqrt(self.size) if self.kind == "gaussian" else math.sqrt(2) * float(self.size)

    def threshold(self, candidates: int, invented: float = 1.0) -> int:
        """The least count at which, of so many empty candidates, about `invented` still pass."""
        chance = min(0.5, invented / max(1, candidates))
        if self.kind == "gaussian":
            from statistics import NormalDist

            return max(1, math.ceil(-self.deviation * NormalDist().inv_cdf(chance)))
        scale = float(self.size)
        ratio = math.exp(-1 / scale)
        return max(1, math.ceil(-scale * math.log(chance * (1 + ratio))))


def least_noise(
    l1: Rational, l2_squared: Rational, budget: Budget, candidates: int = 1000
) -> CountNoise:
    """Laplace noise, or Gaussian where delta allows and its threshold is lower, for a budget.

    For counts that one case changes by at most `l1` in sum and `l2_squared` in sum of squares.
    """
    laplace = CountNoise.laplace(l1, budget.epsilon)
    if budget.delta == 0:
        return laplace
    gaussian = CountNoise.gaussian(l2_squared, zcdp_rho(budget.epsilon, budget.delta))
    return min(laplace, gaussian, key=lambda noise: noise.threshold(candidates))
