"""The tail: what is said about the cases that the head does not show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.log.variants import Variants
from discreet.mechanisms.headtail.candidates import recombined
from discreet.mechanisms.headtail.ngrams import (
    Lengths,
    NGramNoise,
    found_activities,
    learned,
    standing_out,
)
from discreet.mechanisms.headtail.support import central
from discreet.mechanisms.headtail.votes import Estimate, noisy_votes, onto_simplex, whole
from discreet.mechanisms.parts.alphabet import projected
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.randomness import Randomness

CLEAR = 10.0
"""N-grams beside a head are worth it if a pair would on average exceed the noise so many times."""

RARE = 3.0
"""They are also if the hidden cases are so many times those that the head shows."""

TYPICAL_LABELS, TYPICAL_LENGTH = 20, 10
"""What is expected of a log as long as nothing is known about it."""

SIZE = 0.06
"""Share of epsilon for the number of hidden cases, where no n-grams are asked for."""

LENGTHS, VOTES = 0.05, 0.30
"""Shares of epsilon for the lengths and for the votes beside n-grams."""

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
        if self._worth_ngrams(head, about):
            lengths = Lengths.of(hidden, self.budget.share(LENGTHS).epsilon, source)
            about = about.combined(lengths.total)
            candidates = self._modelled(head, hidden, about, lengths, generator, source)
            votes = self.budget.share(VOTES).epsilon
        else:
            size = self.budget.share(SIZE).epsilon
            counted = hidden.cases + int(discrete_laplace(1 / size, 1, source)[0])
            about = about.combined(Estimate(counted, math.sqrt(2) / size))
            candidates = recombined(head.trimmed(), generator)
            votes = self.budget.share(1 - SIZE).epsilon
        return _voted(head, hidden, candidates, about, votes, source)

    def _worth_ngrams(self, head: Variants, about: Estimate) -> bool:
        """Whether n-grams would find more than the head's own recombinations."""
        if not len(head) or about.value > RARE * head.cases:
            return True
        pairs = (len(np.unique(head.codes)) + 1) ** 2
        steps = about.value * TYPICAL_LENGTH
        return steps * max(standing_out(self._ngrams, TYPICAL_LENGTH)) > CLEAR * pairs

    @property
    def _ngrams(self) -> Budget:
        return self.budget.share(1 - LENGTHS - VOTES, 1)

    def _modelled(
        self,
        head: Variants,
        hidden: Variants,
        about: Estimate,
        lengths: Lengths,
        generator: np.random.Generator,
        source: Randomness,
    ) -> Variants:
        """Samples of a chain of noisy n-grams, and recombinations of the head if there is one."""
        labels = len(hidden.activities) if self.public else TYPICAL_LABELS
        settled = self.public or len(head) > 0
        noise = NGramNoise.suited(self._ngrams, settled, labels, about.value, lengths.mean)
        known = {hidden.activities[code] for code in np.unique(head.codes)}
        counts = found_activities(hidden, known, self.public, noise, source)
        if not counts:
            return Variants.from_counts([((UNDISCLOSED,), 1)])
        frequencies = np.array(list(counts.values()))
        named = projected(hidden, tuple(counts))
        chain = learned(named, frequencies, about.value, noise, source)
        samples = lengths.matched(chain.sample(lengths.longest, generator))
        if not len(head):
            return samples
        share = samples.cases / 2
        again = recombined(head.trimmed(), generator)
        return Variants.from_counts(
            [*samples, *((s, round(c * share / again.cases)) for s, c in again)]
        )


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
