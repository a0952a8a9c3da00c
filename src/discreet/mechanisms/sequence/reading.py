"""What is read of the log: which activities, how many cases, and each case through them.

What the noisy answers cost is given by the caller and proved in `mechanism.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from discreet.log.variants import Variants
from discreet.mechanisms.blocks.alphabet import projected
from discreet.mechanisms.blocks.contributions import Contributions
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import SampledGaussian
from discreet.privacy.transcript import note

PER_CASE = 64
"""Activities of a case that may be found through it."""
BOUND = 6
"""The largest squared norm of a case's part in the counts of activities."""
UNDISCLOSED = "(undisclosed)"
"""The one event of every case, where no activity could be found."""


@dataclass(frozen=True)
class ActivitySearch:
    """A private search for the activities of a log."""

    spending: SampledGaussian
    chance: float
    """How likely an activity that only one case has may be named, at most."""
    most: int
    """How many are named, at most."""

    @property
    def noise(self) -> CountNoise:
        """Noise of the number of cases that have an activity."""
        return self.spending.noise(BOUND)

    @property
    def threshold(self) -> float:
        """A count that activities of a single case pass with `chance` at most, all together.

        Such an activity counts 1 at most, and a case has at most PER_CASE of them. Discrete
        Gaussian noise reaches x no more likely than continuous noise reaches x less one step of
        the grid, which is 1 at most.
        """
        spread = -NormalDist().inv_cdf(self.chance / PER_CASE) * self.noise.deviation
        return (2 + spread) * (1 + 1e-6)

    def of(self, log: Variants, rng: Randomness) -> tuple[str, ...]:
        """The activities whose noisy count passes; of each case the first PER_CASE count.

        Only activities that some case counts towards may pass at all: a case with very many of
        its own adds no further chances.
        """
        owner = np.repeat(np.arange(len(log)), log.lengths)
        given = Contributions.of(owner, log.codes, len(log.activities))
        first = np.searchsorted(given.owner, np.arange(len(log)))
        few = np.arange(len(given.owner)) - first[given.owner] < PER_CASE
        ones = np.ones(int(few.sum()), dtype=np.int64)
        given = Contributions(given.owner[few], given.key[few], ones, given.size)
        unnoted = replace(self.noise, name="")
        counts = given.noisy_counts(log.counts, BOUND, "l2", unnoted, rng)
        eligible = np.zeros(given.size, dtype=np.bool_)
        eligible[given.key] = True
        counts[~eligible] = -np.inf
        largest = np.argsort(-counts, kind="stable")[: self.most]
        named = np.sort(largest[counts[largest] > self.threshold])
        note(self.spending.name, np.sort(counts[named])[::-1])
        return tuple(log.activities[code] for code in named)


def noisy_size(log: Variants, noise: CountNoise, rng: Randomness) -> int:
    """How many cases there are, at least 1."""
    return max(1, int(noise.added(np.array(log.cases), rng)))


def seen_through(log: Variants, labels: tuple[str, ...], max_length: int) -> Variants:
    """Each case on its own: only these activities, cut at the length, dropped if empty.

    Where nothing may be named every case is one undisclosed event.
    """
    if labels == (UNDISCLOSED,):
        return Variants.from_counts([(labels, log.cases)])
    seen = projected(log, labels)
    position = np.arange(len(seen.codes)) - np.repeat(seen.offsets[:-1], seen.lengths)
    return seen.keeping(position < max_length).merged()
