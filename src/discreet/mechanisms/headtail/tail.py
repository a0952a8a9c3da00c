"""The tail: what is said about the cases that the head does not show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.log.variants import Variants
from discreet.mechanisms.headtail.candidates import Walker, enough, mixed, recombined
from discreet.mechanisms.headtail.lengths import Lengths
from discreet.mechanisms.headtail.loglinear import fitted, learnable, trained
from discreet.mechanisms.headtail.ngrams import learned, reach
from discreet.mechanisms.headtail.pruning import pruned
from discreet.mechanisms.headtail.support import central
from discreet.mechanisms.headtail.tables import TableNoise, found_activities
from discreet.mechanisms.headtail.votes import (
    Estimate,
    expected_votes,
    nearest,
    noisy_votes,
    onto_simplex,
    whole,
)
from discreet.mechanisms.parts.alphabet import projected
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.randomness import Randomness

SIZE = 0.06
"""Share of epsilon for the number of hidden cases beside a head."""

LENGTHS, LEAST_LENGTHS, MOST_LENGTHS = 0.05, 0.02, 0.2
"""Share of epsilon for the lengths of cases; and what they are worth at least, up to the last
share: not to know how long cases are costs more than anything else."""

VOTES = 0.35
"""Share of epsilon for the votes if a model is learned."""

ACTIVITIES = 0.15
"""Share of a model's budget for its activities."""

UNDISCLOSED = "(undisclosed)"
"""The one event of cases of which not a single activity could be found privately."""

MODEL = None  # experiment: True/False forces
WARM = True
CLEAR = 3.0


@dataclass(frozen=True)
class Tail:
    """A release of the hidden cases at `budget`, given a released head.

    `public` says whether the activities of the cases are a public alphabet.
    """

    budget: Budget
    public: bool
    clear_model: bool = False

    def release(
        self, head: Variants, hidden: Variants, about: Estimate, source: Randomness
    ) -> Variants:
        """Head and support with the head's counts and the votes of the hidden cases.

        `about` is what is known of the number of hidden cases. Reads `hidden` at a cost of
        `budget`; the rest is post-processing, its random choices included.
        """
        generator = np.random.Generator(np.random.Philox(source.bits(64)))
        left = 1.0
        pools = []
        if len(head):
            size = self.budget.share(SIZE).epsilon
            counted = hidden.cases + int(discrete_laplace(1 / size, 1, source)[0])
            about = about.combined(Estimate(counted, math.sqrt(2) / size))
            left -= SIZE
            pools.append(
                recombined(head.trimmed(), enough(about.value), generator, self.clear_model)
            )
        if not len(head) or self._worth_a_model(head, about):
            lengths = Lengths.of(hidden, self.budget.share(self._lengths).epsilon, source)
            about = about.combined(lengths.total)
            left -= self._lengths
            budget = self.budget.share(left - VOTES, 1)
            left = VOTES
            pools.append(self._modelled(head, hidden, budget, about, lengths, generator, source))
        candidates = pools[0] if len(pools) == 1 else mixed(*pools)
        votes = self.budget.share(left).epsilon
        release = _voted(head, hidden, candidates, about, votes, source)
        return pruned(release, head) if self.clear_model else release

    def _worth_a_model(self, head: Variants, about: Estimate) -> bool:
        """Whether the hidden cases would say more than recombinations of the head."""
        if MODEL is not None:
            return MODEL
        budget = self.budget.share(1 - SIZE - self._lengths - VOTES, 1)
        return False

    @property
    def _lengths(self) -> float:
        return max(LENGTHS, min(LEAST_LENGTHS / self.budget.epsilon, MOST_LENGTHS))

    def _modelled(
        self,
        head: Variants,
        cases: Variants,
        budget: Budget,
        about: Estimate,
        lengths: Lengths,
        generator: np.random.Generator,
        source: Randomness,
    ) -> Variants:
        """Samples of a model of the hidden cases."""
        noise = TableNoise.suited(budget, lengths.mean)
        counts = found_activities(cases, self.public, noise, ACTIVITIES, source)
        known = head.trimmed().activities
        names = tuple(sorted({*counts, *known}))
        if not names:
            return Variants.from_counts([((UNDISCLOSED,), 1)])
        named = projected(cases, names)
        size, labels = max(about.value, 1.0), len(names)
        reached = reach(noise, labels, size, lengths.mean)
        rho = noise.rho(1 - ACTIVITIES) if noise.norm == "l2" else 0.0
        chain: Walker
        if reached < (labels + 1) ** 2 and learnable(labels, size, lengths.mean, rho):
            begin = fitted(projected(head, names)) if WARM and len(head) else None
            chain = trained(named, size, rho, source, begin)
        else:
            least = noise.of(ACTIVITIES).deviation
            often = [max(counts.get(name, 0.0), least) for name in names]
            overall = np.append(often, size)
            chain = learned(named, overall, noise, 1 - ACTIVITIES, reached, source)
        return lengths.matched(chain.sample(lengths.longest, enough(size), generator))


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
    total = max(about.combined(counted).value, 0.0)
    predicted = np.bincount(
        nearest(candidates, support), weights=candidates.counts, minlength=len(support)
    )
    predicted *= max(total, 1.0) / predicted.sum()
    mass = onto_simplex(votes.astype(np.float64), total)
    expected = expected_votes(votes, predicted, 1 / epsilon)
    mass = (mass + expected * (total / max(expected.sum(), 1e-9))) / 2
    own = np.array([shown.get(sequence, 0) for sequence, _ in support], dtype=np.float64)
    counts = whole(mass + own)
    if not counts.any():
        counts[int(np.argmax(votes))] = 1
    present = np.flatnonzero(counts > 0)
    return support.take(present, counts[present]).trimmed()
