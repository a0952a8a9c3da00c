"""What tables of counts may cost, how much a case may add to each, and the activities they name."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from discreet.log.variants import Variants
from discreet.mechanisms.blocks.contributions import Contributions, Norm
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import LARGEST_BOUND, Gaussian, Laplace, Step
from discreet.privacy.transcript import note

MOST_STEPS = LARGEST_BOUND // 64
"""Of a case; a table takes a small part of the noise that this needs."""

MOST_LABELS = 64
"""Activities of a case that may be found through it, if the alphabet is not public."""

CLEAR_LABEL = 5.0
"""Deviations of the noise by which a public activity must stand out to be used: a model of more
activities has more weights, and learns each of them worse."""

FEWEST_LABELS, LABELS_PER_EVENT = 12, 0.5
"""Public activities that are used whatever the noise where no head names any, the most frequent
ones: so many, or so many for each event of a case: long cases cannot be told by a few."""

_DOWN = 1 - 2.0**-40


@dataclass(frozen=True)
class Tables:
    """The noise of counts of activities, and of what follows what.

    `bound` limits what a case adds to a table: as a sum where the noise is Laplace, as a sum of
    squares where it is Gaussian.
    """

    activities: Laplace | Gaussian
    following: Laplace | Gaussian
    bound: int

    @classmethod
    def of(cls, steps: Step, name: str, length: float) -> Tables:
        """For cases of about this length, by the steps of a tail."""
        leaves = [steps.named(f"{name}: activities"), steps.named(f"{name}: what follows")]
        activities, following = (x for x in leaves if isinstance(x, Laplace | Gaussian))
        bound = length + 1 if isinstance(following, Laplace) else length / 2 + 1
        return cls(activities, following, max(1, min(MOST_STEPS, round(bound))))

    @property
    def norm(self) -> Norm:
        """What is bounded."""
        return "l1" if isinstance(self.following, Laplace) else "l2"

    @property
    def naming(self) -> CountNoise:
        """The noise of the activities' counts."""
        return self.activities.noise(self.bound)

    def part(self, share: float) -> CountNoise:
        """The noise of a table that takes this share of what is meant for contexts."""
        return self.following.noise(Fraction(self.bound) / Fraction(share * _DOWN))

    @property
    def rho(self) -> float:
        """What contexts may cost in zCDP."""
        return float(self.following.rho or 0.0)

    def standing_out(self, length: float) -> float:
        """What one step of a case of some length weighs against the noise."""
        if isinstance(self.following, Laplace):
            return self.following.epsilon / (math.sqrt(2) * length)
        return math.sqrt(2 * self.rho / length)

    @property
    def unseen_threshold(self) -> float:
        """A count that activities of a single case pass with no more than their exception.

        Such an activity has a count of at most the root of `bound`, and a case has at most
        MOST_LABELS of them. Discrete Gaussian noise reaches x no more likely than the continuous
        one reaches a step of the grid less.
        """
        delta = self.activities.exception
        chance = delta * (1 - delta) / MOST_LABELS
        spread = -NormalDist().inv_cdf(chance) * self.naming.deviation
        return (math.sqrt(self.bound) + 1 + spread) * (1 + 1e-6)


def found_activities(
    cases: Variants, public: bool, fewest: int, tables: Tables, rng: Randomness
) -> dict[str, float]:
    """Activities that may be named, with the noisy number of cases that have them.

    Those whose noisy count passes a threshold: without a public alphabet one that hides single
    cases, with one the count that tells them from noise, and the `fewest` most frequent ones in
    any case. Without one only activities that some case counts towards may pass at all, and a
    case with more than MOST_LABELS activities of its own adds no further chances.
    """
    owner = np.repeat(np.arange(len(cases)), cases.lengths)
    given = Contributions.of(owner, cases.codes, len(cases.activities))
    first = np.searchsorted(given.owner, np.arange(len(cases)))
    few = np.arange(len(given.owner)) - first[given.owner] < MOST_LABELS
    given = Contributions(
        given.owner[few], given.key[few], np.ones(few.sum(), np.int64), given.size
    )
    noise = tables.naming
    noted = noise if public else replace(noise, name="")  # counts of unnamed ones stay unsaid
    shown = given.noisy_counts(cases.counts, tables.bound, tables.norm, noted, rng)
    if public:
        passed = shown > CLEAR_LABEL * noise.deviation
        passed[np.argsort(-shown, kind="stable")[:fewest]] = True
    else:
        passed = np.zeros(given.size, dtype=bool)
        passed[given.key] = True
        passed &= shown > tables.unseen_threshold
        note(noise.name, np.sort(shown[passed])[::-1])
    return {cases.activities[i]: float(shown[i]) for i in np.flatnonzero(passed)}


def thinned(cases: Variants, share: float, rng: Randomness) -> Variants:
    """Each case kept with this probability, whatever the others: less to read of a large log.

    Two neighbouring logs, with the same coins for the cases they share, give the same sample or
    neighbouring ones; so what is private for the sample is as private for the cases.
    """
    if share >= 1:
        return cases
    owner = np.repeat(np.arange(len(cases)), cases.counts)
    kept = owner[rng.words(len(owner)) < np.uint64(share * 2.0**64)]
    counts = np.bincount(kept, minlength=len(cases))
    present = np.flatnonzero(counts)
    return cases.take(present, counts[present])
