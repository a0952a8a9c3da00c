"""What tables of counts may cost, how much a case may add to each, and the activities they name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from discreet.log.variants import Variants
from discreet.mechanisms.headtail.candidates import Floats
from discreet.mechanisms.parts.contributions import Contributions, Norm
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness

MOST_LABELS = 64
"""Activities of a case that may be found through it, if the alphabet is not public."""

UNSEEN_DELTA = 0.2
"""Part of delta for showing an activity that only one case has."""

CLEAR_LABEL = 2.5
"""Deviations of the noise by which a public activity must stand out to be used."""

FEWEST_LABELS = 3
"""Public activities that are used whatever the noise, the most frequent ones."""

TYPICAL_SHARE = 0.2
"""Share of a table by which the kind of noise is chosen."""

_DOWN = 1 - 2.0**-40


@dataclass(frozen=True)
class TableNoise:
    """The budget of all tables of one release, which each take a share of.

    `bound` limits what a case adds to a table, as a sum ("l1") or as a sum of squares ("l2").
    Shares that add up to 1 spend `budget`: in zCDP for "l2", in ε for "l1".
    """

    budget: Budget
    norm: Norm
    bound: int

    @classmethod
    def suited(cls, budget: Budget, length: float) -> TableNoise:
        """Gaussian or Laplace noise, whichever hides less of a step of a case of this length."""
        gauss, laplace = standing_out(budget, length)
        if gauss * math.sqrt(TYPICAL_SHARE) > laplace * TYPICAL_SHARE:
            return cls(budget, "l2", max(1, round(length / 2 + 1)))
        return cls(budget, "l1", max(1, round(length + 1)))

    def of(self, share: float) -> CountNoise:
        """The noise of a table that takes this share."""
        if self.norm == "l1":
            return CountNoise.laplace(self.bound, self.budget.epsilon * share * _DOWN)
        return CountNoise.gaussian(self.bound, self.rho(share))

    def rho(self, share: float) -> float:
        """A share in zCDP."""
        return rho_of(self.budget) * share * _DOWN

    def unseen_threshold(self, share: float) -> float:
        """A count that activities of a single case pass with probability UNSEEN_DELTA · δ at most.

        Such an activity has a count of at most `bound` (l1) or its root (l2), and a case has at
        most MOST_LABELS of them. Discrete Gaussian noise reaches x no more likely than the
        continuous one reaches a step of the grid less; discrete Laplace noise with e^(−x/scale) at
        most.
        """
        chance = self.budget.delta * (1 - self.budget.delta) * UNSEEN_DELTA / MOST_LABELS
        noise = self.of(share)
        if self.norm == "l1":
            return (self.bound + 1 - float(noise.size) * math.log(chance)) * (1 + 1e-6)
        spread = -NormalDist().inv_cdf(chance) * noise.deviation
        return (math.sqrt(self.bound) + 1 + spread) * (1 + 1e-6)


@lru_cache(maxsize=64)
def rho_of(budget: Budget) -> float:
    """What tables may cost together in zCDP."""
    return zcdp_rho(budget.epsilon, budget.delta * (1 - UNSEEN_DELTA))


def standing_out(budget: Budget, length: float) -> tuple[float, float]:
    """What one step of a case of some length weighs against Gaussian and against Laplace noise."""
    gauss = math.sqrt(2 * rho_of(budget) / length) if budget.delta else 0.0
    return gauss, budget.epsilon / (math.sqrt(2) * length)


def found_activities(
    cases: Variants, public: bool, noise: TableNoise, share: float, source: Randomness
) -> dict[str, float]:
    """Activities that may be named, with the noisy number of cases that have them.

    Those whose noisy count passes a threshold: without a public alphabet one that hides single
    cases, with one the count that tells them from noise, if that is lower. Then only activities
    that some case counts towards may pass at all: a case with more than MOST_LABELS activities of
    its own adds no further chances.
    """
    owner = np.repeat(np.arange(len(cases)), cases.lengths)
    given = Contributions.of(owner, cases.codes, len(cases.activities))
    first = np.searchsorted(given.owner, np.arange(len(cases)))
    few = np.arange(len(given.owner)) - first[given.owner] < MOST_LABELS
    given = Contributions(
        given.owner[few], given.key[few], np.ones(few.sum(), np.int64), given.size
    )
    shown = given.noisy_counts(cases.counts, noise.bound, noise.norm, noise.of(share), source)
    passed = _passed(shown, given, public, noise, share)
    return {cases.activities[i]: float(shown[i]) for i in np.flatnonzero(passed)}


def _passed(
    shown: Floats, given: Contributions, public: bool, noise: TableNoise, share: float
) -> Floats:
    if not public:
        eligible = np.zeros(given.size, dtype=bool)
        eligible[given.key] = True
        return eligible & (shown > noise.unseen_threshold(share))
    threshold = CLEAR_LABEL * noise.of(share).deviation
    if noise.budget.delta:
        threshold = min(threshold, noise.unseen_threshold(share))
    passed = shown > threshold
    passed[np.argsort(-shown, kind="stable")[:FEWEST_LABELS]] = True
    return passed
