"""The mechanism `sequence`: what it asks of the log, in which order, and why that is private.

First what is read of the log: which activities, how many cases, and each case through them. Then
the mechanism, with the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import (
    FREQUENT,
    NEW_ACTIVITY,
    NO_CASE,
    SHARED_VARIANT,
    AuditCase,
)
from discreet.mechanisms.blocks.alphabet import (
    alphabet_parameter,
    alphabet_status,
    labels_of,
    outside_advice,
    projected,
)
from discreet.mechanisms.blocks.contributions import Contributions
from discreet.mechanisms.trained.base import Generative, ModelState, Watch
from discreet.mechanisms.trained.layers import (
    MEMORY,
    SEQUENCE_NETWORK,
    check_layers,
    sequence_layers,
)
from discreet.parameters import ParameterError, between, parameter
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan, fitted
from discreet.privacy.steps import SampledGaussian, Sequential, Statement, Step
from discreet.privacy.transcript import note

# Proof: a case counts towards this many activities at most, with a part of this squared norm
PER_CASE = 64
"""Most activities of a case that count towards naming them."""
BOUND = 6
"""Largest squared norm of a case's part in the counts of activities."""

UNDISCLOSED = "(undisclosed)"
"""The only event of every case, where no activity could be named."""


@dataclass(frozen=True)
class ActivitySearch:
    """A private search for the activities of a log."""

    spending: SampledGaussian
    chance: float
    """Largest chance that an activity of a single case is named."""
    most: int
    """Most activities that are named."""

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


ACTIVITIES, SIZE = "activities", "number of cases"

# Tuned, on public logs
SHARES = {ACTIVITIES: 0.25, SIZE: 0.05, SEQUENCE_NETWORK: 0.7}
"""Approximate shares of the budget by noisy step."""

UNSEEN_SHARE = 0.2
"""Part of delta for naming an activity that only one case has."""
LEAST_DELTA = 1e-100
"""Smallest delta of a case; with less there is too little to learn from."""
MOST_LABELS = 1000
"""Most activities that can be learned."""


@dataclass(frozen=True, kw_only=True)
class Sequence(Generative):
    """Learn what comes next in a case, activity by activity; write new cases in the same way.

    A small network (`network.py`) gives the chances of the next activity, or of the end, from the
    last activity, those seen so far, the position, and a recurrent memory. It can write any
    sequence, so it needs no list of variants and reveals none. Whoever has the model can write
    as many cases as they like: that is post-processing.

    Neighbours: one case more or less. Proof of (ε, δ).

    1. *Activities*, unless the list is public. The noisy number of cases that have each: a case's
       vector of zeros and ones is scaled to a squared norm of at most B and rounded down, on its
       own (`Contributions`); discrete Gaussian noise of deviation z₁√B in every entry. An
       activity is named if its count passes a threshold. Then every case is mapped to the named
       activities and cut at `max_length`, and one left without any is dropped: each on its own,
       so neighbours stay neighbours or become equal.
    2. *Number of cases*: discrete Gaussian noise of deviation z₂, sensitivity 1.
    3. *Training*: T noisy gradient steps on Poisson samples of rate q. The gradient of a case,
       over all its positions and all weights together, is one integer vector of norm at most Δ,
       exactly (`trained/clipping.py`); noise of deviation z₃Δ.

    Each is a step of the form that `privacy/renyi.py` bounds (1 and 2 with q = 1), also
    when it was chosen by the results before it, so their Rényi divergences at integer orders add
    up; z₁, z₂, z₃ are the smallest in fixed proportions that give (ε, δ₁). With a public list of
    activities δ₁ = δ.

    Otherwise δ₁ = .8δ. Take neighbours L and L + c. Activities that count in c alone, at most 64,
    all stay below the threshold with probability 1 − p, p ≤ .2δ. Given that, and because the
    noise of the entries is independent, the run on L + c is as if they did not exist: (ε, δ₁)
    from the run on L. So P(L + c ∈ S) ≤ p + e^ε·P(L ∈ S) + δ₁, and in the other direction
    P(L ∈ S) ≤ p + (1 − p)·P(L ∈ S) ≤ p + e^ε·P(L + c ∈ S) + δ₁. Both are within δ.

    Widths, rates, steps and starting weights are public constants, chosen on public logs; the
    divisor of the gradients is computed from the noisy number of cases.

    Left to the machine: that what a matrix product computes for one row does not depend on the
    rows beside it. Rows stand in blocks of fixed shape, in double precision, so a difference
    would have to be in the last bits and at the edge of a rounding step (`trained/clipping.py`).
    """

    name: ClassVar[str] = "sequence"
    summary: ClassVar[str] = "a recurrent network that writes cases activity by activity"
    paper: ClassVar[str] = "this library"
    returns: ClassVar[str] = "variants"

    alphabet: tuple[str, ...] | str | None = alphabet_parameter()
    max_length: int = parameter(
        64, "longest case that is learned and written; longer ones are cut", between(1, 1000)
    )
    sampling_rate: float = parameter(
        0.25, "chance of each case to take part in a training step", between(1e-4, 1)
    )
    steps: int = parameter(60, "how many training steps are taken", between(1, 10_000))

    def _validate(self) -> None:
        super()._validate()
        if isinstance(self.alphabet, tuple) and len(self.alphabet) > MOST_LABELS:
            raise ParameterError(
                f"sequence can learn at most {MOST_LABELS:,} activities, not {len(self.alphabet):,}"
            )
        if self.case_budget.delta < LEAST_DELTA:
            raise ParameterError(
                f"each case would have {self.case_budget}, too little to learn from: raise delta, "
                "or allow fewer cases per individual"
            )

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The default, few steps with a public alphabet and without, as many cases as counted."""
        full = {"steps": 2, "sampling_rate": 1.0, "max_length": 2}
        quick = {"cases": 0, **full}
        return (
            AuditCase(quick, (NO_CASE, NEW_ACTIVITY), usual=False),
            AuditCase(full, (SHARED_VARIANT,), usual=False),
            AuditCase({**quick, "alphabet": None}, (FREQUENT, NEW_ACTIVITY), usual=False),
            AuditCase({"delta": 1e-6, "alphabet": None}, (FREQUENT,), False, shared=False),
        )

    def _plans(self, budget: Budget) -> dict[str, TrainingPlan]:
        rate = Fraction(self.sampling_rate).limit_denominator(1_000_000)
        wanted = {SEQUENCE_NETWORK: _plan(SEQUENCE_NETWORK, rate, self.steps), SIZE: _plan(SIZE)}
        if self.alphabet is None:
            wanted[ACTIVITIES] = _plan(ACTIVITIES)
        share = self._training_share(budget)
        plans = fitted(share.epsilon, share.delta, tuple(wanted.values()))
        return dict(zip(wanted, plans, strict=True))

    def _training_share(self, budget: Budget) -> Budget:
        return budget if self.alphabet is not None else budget.share(1, 1 - UNSEEN_SHARE)

    @property
    def finding(self) -> ActivitySearch:
        """How activities are found."""
        chance = self.case_budget.share(0, UNSEEN_SHARE).delta
        return ActivitySearch(self.noisy_step(ACTIVITIES), chance, MOST_LABELS)

    def _spending(self, budget: Budget) -> Step:
        if self.alphabet is not None:
            return Sequential("release", (self._training(f"{SIZE} and training", budget),))
        naming = budget.share(0, UNSEEN_SHARE).delta
        return Sequential(
            "release", (self._training(f"{ACTIVITIES}, {SIZE} and training", budget, naming),)
        )

    def _statement(self, asked: Budget) -> Statement:
        reason = (
            "A case moves the noisy number of cases by one and the sum of gradients of each noisy "
            "training step by at most the clip, exactly, in integers"
        )
        if self.alphabet is None:
            return Statement(
                f"{reason}; activities are named only if their noisy count hides any one case."
            )
        status, conditions = alphabet_status(self.alphabet)
        return Statement(f"{reason}.", status=status, conditions=conditions)

    def _notes(self) -> tuple[str, ...]:
        notes = ["every case is written anew, activity by activity"]
        if self.alphabet is None:
            least = math.ceil(self.finding.threshold)
            notes.append(f"activities with a noisy count below {least:,} are left out")
        return tuple(notes)

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent; see the base class."""
        super().check(log)
        if isinstance(self.alphabet, str) and len(log.variants.activities) > MOST_LABELS:
            raise LogError(f"sequence can learn at most {MOST_LABELS:,} activities; name fewer")

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log; see the base class."""
        found = super().advice(log) + outside_advice(log.variants, self.alphabet)
        longer = log.variants.counts[log.variants.lengths > self.max_length].sum()
        if longer > 0.05 * log.cases:
            found.append(
                f"{longer / log.cases:.0%} of the cases are longer than max_length = "
                f"{self.max_length} and are cut; a larger one takes longer to train"
            )
        return found

    def _train(self, log: EventLog, rng: Randomness, watch: Watch) -> ModelState:
        from discreet.mechanisms.trained.sequence.network import trained

        saved = watch.resumed()
        facts = self._begin(log.variants, rng) if saved is None else saved.facts
        seen = seen_through(log.variants, tuple(facts["activities"]), self.max_length)
        return trained(seen, self.noisy_step(SEQUENCE_NETWORK), facts, rng, watch)

    def _begin(self, log: Variants, rng: Randomness) -> dict[str, Any]:
        """The activities and the number of cases."""
        if self.alphabet is None:
            labels = self.finding.of(log, rng) or (UNDISCLOSED,)
        else:
            labels = labels_of(self.alphabet, log) or (UNDISCLOSED,)
        seen = seen_through(log, labels, self.max_length)
        size = noisy_size(seen, self.noisy_step(SIZE).noise(), rng)
        cases = size if self.cases is None else max(1, self.cases)
        return {"activities": list(labels), "cases": cases, "trained_on": size}

    def _generate(self, model: ModelState, cases: int, rng: Randomness) -> Variants:
        from discreet.mechanisms.trained.sequence.network import written

        labels = tuple(model.facts["activities"])
        longest = 1 if labels == (UNDISCLOSED,) else self.max_length
        codes, lengths = written(model.tensors, len(labels), MEMORY, longest, cases, rng)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Variants.of_cases(labels, codes.astype(np.int32), offsets)[0].trimmed()

    def _check_model(self, model: ModelState) -> None:
        labels = model.facts["activities"]
        if (
            not isinstance(labels, list)
            or not 1 <= len(labels) <= MOST_LABELS
            or not all(isinstance(label, str) for label in labels)
            or sorted(set(labels)) != labels
        ):
            raise ValueError("its list of activities is malformed")
        check_layers(model.tensors, sequence_layers(len(labels)))


def _plan(name: str, rate: Fraction = Fraction(1), steps: int = 1) -> TrainingPlan:
    """Steps whose noise is in proportion to their share; not yet fitted to a budget."""
    return TrainingPlan(rate, steps, float(rate) * math.sqrt(steps / SHARES[name]))
