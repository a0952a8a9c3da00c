"""A step on a random sample of the cases costs less: amplification by sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import exp_lower, exp_upper
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps.base import SpendingError, Step, rounded_up

# Tuned: on what floats hold, and on memory; `spent` has the last word.

MODERATE_EPSILON = 30.0
"""Smallest ε from which e^ε is not computed itself, since it need not fit into a float."""

LARGEST_EPSILON = 700.0
"""Largest ε of a sample; more is of no use, and floats end beyond e to this power."""

_DOWN = 1 - 2.0**-40
"""Rounds down, by more than a dozen float operations round up."""

COINS_AT_ONCE = 1 << 24
"""Coins that are tossed at a time."""


@dataclass(frozen=True)
class Sampled(Step):
    """Something that reads a random sample: each case with probability `share`, by its own coin.

    Proof, for one case more or less. Let the step below be (ε, δ)-DP, a = e^ε and q = share. P is
    the chance of some outputs on the sample of a log, Q the same if one more case is forced into
    it, both over the coins. On the log with that case the chance is P′ = (1 − q)P + qQ. Sample by
    sample Q ≤ aP + δ and P ≤ aQ + δ. So P′ ≤ (1 + q(a − 1))P + qδ. And
    P′ ≥ (1 − q)P + q(P − δ)/a, so

        P ≤ (P′ + qδ/a) / (1 − q + q/a) ≤ (1 + q(a − 1))P′ + qδ,

    since (1 + q(a − 1))(1 − q + q/a) = 1 + q(1 − q)(a − 1)²/a ≥ 1 and 1/a ≤ 1 − q + q/a. Hence
    both together are (ln(1 + q(e^ε − 1)), qδ)-DP (Li, Qardaji, Su 2012; Balle, Barthe,
    Gaboardi 2018). Which cases were in the sample must stay secret.
    """

    below: Step
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise SpendingError(f"{self.name}: a sample takes a part of the cases: {self.share}")

    @property
    def rule(self) -> str:
        """The rule's name."""
        return f"amplification by sampling each case with probability {self.share:g}"

    @cached_property
    def spent(self) -> Budget:
        """ln(1 + q(e^ε − 1)) and qδ, both rounded up."""
        below = self.below.spent
        delta = rounded_up(Fraction(below.delta) * Fraction(self.share))
        return Budget(_amplified(below.epsilon, self.share), delta)

    @staticmethod
    def affordable(budget: Budget, share: float) -> Budget:
        """The most that may be spent on the sample so that it costs no more than the budget.

        Found with floats and rounded down: `spent` has the last word.
        """
        if budget.epsilon < MODERATE_EPSILON:
            epsilon = math.log1p(math.expm1(budget.epsilon) / share)
        else:  # where e^ε need not fit into a float
            epsilon = (
                budget.epsilon
                - math.log(share)
                + math.log1p((share - 1) * math.exp(-budget.epsilon))
            )
        return Budget(min(epsilon, LARGEST_EPSILON) * _DOWN, min(0.5, budget.delta / share) * _DOWN)

    def draw(self, counts: Ints, rng: Randomness) -> tuple[Integers, Integers]:
        """The keys with a case in the sample, and their numbers of cases; a coin for each case.

        Coins of 64 bits: the share is rounded down to them, which only makes a sample smaller.
        """
        heads = np.uint64(int(Fraction(self.share) * 2**64))
        kept: list[Integers] = []
        left: list[Integers] = []
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(counts):
            before = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + COINS_AT_ONCE)))
            owner = np.repeat(np.arange(end - begin), counts[begin:end])
            found = np.bincount(owner[rng.words(len(owner)) < heads], minlength=end - begin)
            present = np.flatnonzero(found)
            kept.append(present + begin)
            left.append(found[present])
            begin = end
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *kept]), np.concatenate([none, *left])


def _amplified(epsilon: float, share: float) -> float:
    """ln(1 + share·(e^ε − 1)), rounded up: checked against a certified lower bound of e^x."""
    wanted = 1 + Fraction(share) * (exp_upper(Fraction(epsilon), 128) - 1)
    guess = math.log1p(share * math.expm1(epsilon)) if epsilon < LARGEST_EPSILON else epsilon
    while exp_lower(Fraction(guess), 128) < wanted:
        guess = float(np.nextafter(guess * (1 + 2.0**-50), math.inf))
    return min(guess, epsilon)
