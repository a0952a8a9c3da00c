"""The tail: what is said about the cases that the head does not show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.log.variants import Variants
from discreet.mechanisms.blocks.alphabet import projected
from discreet.mechanisms.headtail.candidates import Walker, enough, recombined
from discreet.mechanisms.headtail.loglinear import MANY, trained, weights_of
from discreet.mechanisms.headtail.ngrams import (
    Lengths,
    NGramNoise,
    found_activities,
    learned,
    standing_out,
)
from discreet.mechanisms.headtail.support import central
from discreet.mechanisms.headtail.tidy import tidied
from discreet.mechanisms.headtail.votes import Estimate, noisy_votes, onto_simplex, whole
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.randomness import Randomness

TYPICAL_LABELS, TYPICAL_LENGTH = 20, 10
"""What is expected of a log as long as nothing is known about it."""

SIZE = 0.06
"""Share of epsilon for the number of hidden cases beside a head; the rest is for the votes."""

LENGTHS, LEAST_LENGTHS, MOST_LENGTHS = 0.05, 0.02, 0.2
"""Share of epsilon for the lengths without a head; and what they are worth at least, up to the last
share: not to know how long cases are costs more than anything else."""

VOTES = 0.30
"""Share of epsilon for the votes without a head; the rest is for n-grams."""

ABSENT = 3
"""So many public activities that the head lacks may be in recombinations."""

UNDISCLOSED = "(undisclosed)"
"""The one event of cases of which not a single activity could be found privately."""


@dataclass(frozen=True)
class Tail:
    """A release of the hidden cases at `budget`, given a released head.

    `public` says whether the activities of the cases are a public alphabet.
    """

    budget: Budget
    public: bool

    def release(
        self, head: Variants, hidden: Variants, about: Estimate, source: Randomness
    ) -> Variants:
        """Head and support with the head's counts and the votes of the hidden cases.

        `about` is what is known of the number of hidden cases. Reads `hidden` at a cost of
        `budget`; the rest is post-processing, its random choices included.
        """
        generator = np.random.Generator(np.random.Philox(source.bits(64)))
        if len(head):
            size = self.budget.share(SIZE).epsilon
            counted = hidden.cases + int(discrete_laplace(1 / size, 1, source)[0])
            about = about.combined(Estimate(counted, math.sqrt(2) / size))
            candidates = recombined(self._named(head), enough(about.value), generator)
            votes = self.budget.share(1 - SIZE).epsilon
        else:
            lengths = Lengths.of(hidden, self.budget.share(self._lengths).epsilon, source)
            about = about.combined(lengths.total)
            candidates = self._modelled(hidden, about, lengths, generator, source)
            votes = self.budget.share(VOTES).epsilon
        return tidied(_voted(head, hidden, candidates, about, votes, source), head)

    def _named(self, head: Variants) -> Variants:
        """The head with the activities that recombinations may have.

        Its own, and the other public ones if they are few: of more most would be wrong guesses.
        """
        known = head.trimmed()
        absent = len(head.activities) - len(known.activities)
        return head if self.public and absent <= ABSENT else known

    def clear_per_case(self, cases: Variants) -> float:
        """How many deviations of the noise each case adds to the average pair of activities."""
        standing = max(standing_out(self._ngrams, TYPICAL_LENGTH))
        return TYPICAL_LENGTH * standing / (self._labels(cases) + 1) ** 2

    def _labels(self, cases: Variants) -> int:
        """How many activities there are, as far as that is public."""
        return len(cases.activities) if self.public else TYPICAL_LABELS

    @property
    def _lengths(self) -> float:
        return max(LENGTHS, min(LEAST_LENGTHS / self.budget.epsilon, MOST_LENGTHS))

    @property
    def _ngrams(self) -> Budget:
        return self.budget.share(1 - self._lengths - VOTES, 1)

    def _modelled(
        self,
        cases: Variants,
        about: Estimate,
        lengths: Lengths,
        generator: np.random.Generator,
        source: Randomness,
    ) -> Variants:
        """Samples of a chain of noisy n-grams."""
        noise = NGramNoise.suited(
            self._ngrams, self.public, self._labels(cases), about.value, lengths.mean
        )
        counts = found_activities(cases, self.public, noise, source)
        if not counts:
            return Variants.from_counts([((UNDISCLOSED,), 1)])
        frequencies = np.array(list(counts.values()))
        named = projected(cases, tuple(counts))
        chain: Walker
        if noise.log_linear and weights_of(len(counts)) <= MANY:
            chain = trained(named, about.value, noise.rho(1), source)
        else:
            chain = learned(named, frequencies, about.value, noise, source)
        return lengths.matched(chain.sample(lengths.longest, enough(about.value), generator))


def _voted(
    head: Variants,
    hidden: Variants,
    candidates: Variants,
    about: Estimate,
    epsilon: float,
    source: Randomness,
) -> Variants:
    """Head and central candidates, each with its noisy votes on top of the head's counts."""
    noise = math.sqrt(2) / epsilon
    chosen = central(candidates, head, about.value, noise)
    shown = head.to_dict()
    support = Variants.from_counts([*shown.items(), *((s, 1) for s, _ in chosen)])
    votes = noisy_votes(hidden, support, epsilon, source)
    counted = Estimate(float(votes.sum()), noise * math.sqrt(len(support)))
    total = about.combined(counted).value
    mass = onto_simplex(votes.astype(np.float64), total)
    own = np.array([shown.get(sequence, 0) for sequence, _ in support], dtype=np.float64)
    counts = whole(mass + own)
    if not counts.any():
        counts[int(np.argmax(votes))] = 1
    present = np.flatnonzero(counts > 0)
    return support.take(present, counts[present]).trimmed()
