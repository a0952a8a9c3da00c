"""The tail: what is said about the cases that the head does not show.

For logs of more variants than can be compared it reads a random sample of them. What that costs and
why is proved beside the step (`privacy/steps/sampling.py`). The tail works in numbers of the
sample; the share turns numbers of all cases into those, and its votes back. Coins of the operating
system, one for each case, decide which cases are in the sample, which is never told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.variants import VariantCounts, Variants
from discreet.mechanisms.blocks.alphabet import projected
from discreet.mechanisms.headtail.candidates import (
    SLIPS,
    Walker,
    central,
    enough,
    mixed,
    recombined,
    slipped,
)
from discreet.mechanisms.headtail.coverage import worth_learning
from discreet.mechanisms.headtail.lengths import Lengths
from discreet.mechanisms.headtail.loglinear import learnable, standing_out, trained
from discreet.mechanisms.headtail.ngrams import (
    FEWEST_LABELS,
    LABELS_PER_EVENT,
    Tables,
    found_activities,
    learned,
    reach,
)
from discreet.mechanisms.headtail.pruning import pruned
from discreet.mechanisms.headtail.spending import NO_HEAD, sample_name
from discreet.mechanisms.headtail.votes import (
    Estimate,
    gaps,
    joined,
    nearest,
    noisy_votes,
    onto_simplex,
    weighed,
    whole,
)
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Sampled, Step, noise_of

UNDISCLOSED = "(undisclosed)"
"""The one event of each case where not a single activity could be found privately."""

# Tuned for speed on two cores
MOST_VOTED = 1000
"""Most variants of the head that hidden cases may vote for, the most frequent ones: what is rare
among them stands for few cases, and votes take time."""

MOST_EVENTS = 1_000_000
"""Events that a model is learned from; of a larger log, those of a random sample of its cases."""


@dataclass(frozen=True)
class Tail:
    """A release of the hidden cases, given a released head.

    `steps` are what it may spend, `name` the name they begin with. `public` says whether the
    activities of the cases are a public alphabet, `clear_model` whether the release is pruned.
    `share` is the part of the hidden cases that it is given.
    """

    steps: Step
    name: str
    public: bool
    clear_model: bool
    share: float = 1.0

    def release(
        self, head: Variants, hidden: Variants, about: Estimate, rng: Randomness
    ) -> Variants:
        """Head and support with the head's counts and the hidden cases' votes; spends the tail.

        `about` is what is known of the number of hidden cases. Reads `hidden` by the steps only;
        the rest is post-processing, its random choices included. It may depend on the head as it
        is released only: in canonical order, with no activity but its own.
        """
        generator = np.random.Generator(np.random.Philox(rng.bits(64)))
        about, head = in_sample(about, self.share), head.trimmed()
        if self.name == NO_HEAD:
            candidates, about = self._modelled(head, hidden, about, generator, rng)
            return self._voted(head, hidden, candidates, about, "votes on a model", rng)
        counting = self._noise("number of cases")
        counted = int(counting.added(np.array([hidden.cases]), rng)[0])
        about = about.combined(Estimate(counted, counting.deviation))
        covered = self.share * head.cases / max(self.share * head.cases + about.value, 1.0)
        if len(head):
            samples = enough(about.value, float(head.lengths.mean()))
            candidates = self._near(head, samples, generator)
            if not self._worth_learning(head, about.value, covered):
                return self._voted(head, hidden, candidates, about, "votes", rng)
        modelled, about = self._modelled(head, hidden, about, generator, rng)
        candidates = mixed(candidates, modelled, covered) if len(head) else modelled
        return self._voted(head, hidden, candidates, about, "votes on a model", rng)

    def _near(self, head: Variants, samples: int, generator: np.random.Generator) -> Variants:
        """Sequences like those of the head: recombined and, unless they would blur it, slips."""
        walks = recombined(head, samples, generator, self.clear_model)
        if self.clear_model:
            return walks
        return joined(walks, slipped(head, round(SLIPS * samples), generator))[0]

    def _noise(self, step: str, sensitivity: int = 1) -> CountNoise:
        return noise_of(self.steps.named(f"{self.name}: {step}"), sensitivity)

    def _worth_learning(self, head: Variants, cases: float, covered: float) -> bool:
        """Whether a model of the hidden cases would say more than recombinations of the head."""
        following = self.steps.find(f"{self.name}: what follows", Gaussian)
        clear = standing_out(len(head.activities), cases, float(following.rho))
        return worth_learning(clear, covered)

    def _modelled(
        self,
        head: Variants,
        cases: Variants,
        about: Estimate,
        generator: np.random.Generator,
        rng: Randomness,
    ) -> tuple[Variants, Estimate]:
        """Samples of a model of the hidden cases, and what their lengths say of their number."""
        lengths = Lengths.of(cases, self._noise("lengths"), rng)
        about = about.combined(lengths.total)
        share = min(1.0, MOST_EVENTS / (max(about.value, 1.0) * lengths.mean))
        size, cases = share * max(about.value, 1.0), thinned(cases, share, rng)
        tables = Tables.of(self.steps, self.name, lengths.mean)
        fewest = 0 if len(head) else max(FEWEST_LABELS, round(LABELS_PER_EVENT * lengths.mean))
        counts = found_activities(cases, self.public, fewest, tables, rng)
        names = tuple(sorted({*counts, *head.activities}))
        if not names:
            return Variants.from_counts([((UNDISCLOSED,), 1)]), about
        named = projected(cases, names)
        following = tables.following
        chain: Walker
        if isinstance(following, Gaussian) and learnable(
            len(names), size, lengths.mean, tables.rho
        ):
            chain = trained(named, size, lengths.mean, following, rng)
        else:
            least = tables.naming.deviation
            often = [max(counts.get(name, 0.0), least) for name in names]
            reached = reach(tables, len(names), size, lengths.mean)
            chain = learned(named, np.append(often, size), tables, reached, rng)
        samples = enough(size, lengths.mean)
        sampled = chain.sample(lengths.longest, samples, generator)
        return lengths.matched(sampled), about

    def _voted(
        self,
        head: Variants,
        hidden: Variants,
        candidates: Variants,
        about: Estimate,
        step: str,
        rng: Randomness,
    ) -> Variants:
        """Head and central candidates, each with its noisy votes on top of the head's counts."""
        noise = self._noise(step)
        chosen = central(candidates, head, about.value, noise.deviation)
        support, (shown, added) = joined(head, chosen)
        often = np.argsort(-head.counts, kind="stable")[:MOST_VOTED]
        open_to_votes = np.union1d(shown[often], added)
        ballot = support if len(open_to_votes) == len(support) else support.take(open_to_votes)
        votes = noisy_votes(hidden, ballot, noise, rng)
        counted = Estimate(float(votes.sum()), noise.deviation * math.sqrt(len(ballot)))
        total = max(about.combined(counted).value, 0.0)
        mass = np.zeros(len(support))
        mass[shown] = head.counts
        weights = self._weights(votes, candidates, ballot, noise, total)
        mass[open_to_votes] += weights / self.share
        counts = whole(mass)
        if not counts.any():
            counts[open_to_votes[int(np.argmax(votes))]] = 1
        present = np.flatnonzero(counts > 0)
        release = support.take(present, counts[present]).trimmed()
        return pruned(release, head) if self.clear_model else release

    def _weights(
        self,
        votes: Integers,
        candidates: Variants,
        ballot: Variants,
        noise: CountNoise,
        total: float,
    ) -> Floats:
        """Weights of this total; for a clear model by noisy votes alone, without the rarest."""
        if self.clear_model:
            return onto_simplex(votes.astype(np.float64), total)
        near = nearest(candidates, ballot)
        predicted = np.bincount(near, candidates.counts, len(ballot)).astype(np.float64)
        return weighed(votes, predicted, gaps(ballot), float(noise.size), total)


def read_cases(
    cases: VariantCounts, places: Ints, steps: Step, way: str, share: float, rng: Randomness
) -> Variants:
    """The cases that the tail of a way reads: those at the places, or a sample of them."""
    if share == 1:
        return cases.take(places)
    sampling = steps.find(sample_name(way), Sampled)
    present, counts = sampling.draw(cases.counts[places], rng)
    return cases.take(places[present], counts)


def in_sample(about: Estimate, share: float) -> Estimate:
    """The estimated number of cases in the sample, from that of all cases."""
    spread = max(about.value, 0.0) * share * (1 - share)
    deviation = math.hypot(about.deviation * share, math.sqrt(spread))
    return Estimate(about.value * share, deviation)


def thinned(cases: Variants, share: float, rng: Randomness) -> Variants:
    """The log with each case kept by a coin of its own, so that less of a large log is read.

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
