"""headtail: what it asks of the log, in which order, and why that is private."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.log.events import Reads
from discreet.log.neighbours import Case, Pair
from discreet.log.variants import VariantCounts, Variants
from discreet.mechanisms.audit_cases import (
    EMPTIED_HEAD,
    FILLED_HEAD,
    FREQUENT,
    LONE_HIDDEN,
    NEW_ACTIVITY,
    NO_CASE,
    ONE_MORE,
    SHARED_ENDLESS,
    AuditCase,
)
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.blocks.alphabet import (
    alphabet_parameter,
    alphabet_status,
    delta_or_alphabet_parameter,
    labels_of,
    outside_advice,
    projected,
)
from discreet.mechanisms.headtail.coverage import chosen_way
from discreet.mechanisms.headtail.spending import (
    FEW_HIDDEN,
    MANY_HIDDEN,
    NO_HEAD,
    reserved,
    spending,
)
from discreet.mechanisms.headtail.tail import MOST_VOTED, Tail, read_cases
from discreet.mechanisms.headtail.votes import Estimate
from discreet.parameters import ParameterError, between, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Selecting, Statement, Step

if TYPE_CHECKING:
    from discreet.log.events import EventLog

_LETTERS = ascii_uppercase + ascii_lowercase[:8]
"""Letters with more pairs than variants that hidden cases may vote for."""


def tied_head(voted: int, tied: int) -> Pair:
    """A head with `voted` variants open to votes; `tied` variants tie around the last of them."""
    words = list(product(_LETTERS, repeat=2))[: voted + tied - tied // 2]
    counts = {word: 50 if place < voted - tied // 2 else 40 for place, word in enumerate(words)}
    return Pair(
        "tied head",
        "more variants of one count than hidden cases may vote for, kept in an engine, and a case "
        "that makes one of them as frequent: shows ties broken by raw counts",
        counts | {words[-1]: 39},
        Case(words[-1]),
        in_engine=True,
    )


TIED_HEAD = tied_head(MOST_VOTED, 312)
"""The variant that one more case makes frequent comes last of its equals by any order but that of
raw counts, by which it came first of them without that case."""

LEAST_EPSILON, LEAST_DELTA = 1e-5, 1e-100
"""Least budget of a case: below it there is nothing but noise."""


@dataclass(frozen=True, kw_only=True)
class HeadTail(Mechanism[Variants]):
    """Frequent variants as they are, sequences that stand for the rest, and a vote on both.

    1. *Coverage probe.* With t half the number of cases of which a variant is shown half of the
       time, a public number: the noisy sums over the variants of max(0, n − t) and of min(n, t).
    2. *Head.* Unless the probe says that it would cover too little (`coverage.py`): variants by
       partition selection with a reserve (`privacy/reserved.py`).
    3. *Candidates.* Recombinations and slips of the head; and samples of a model of what is hidden,
       if these cases stand out from its noise, or if there is no head. Learning takes the noisy
       number and lengths of the cases, noisy counts of their activities, and noisy n-grams
       (`ngrams.py`) or noisy gradients of a log-linear model (`loglinear.py`), which is better
       where longer n-grams would drown in noise.
    4. *Support.* A few hundred central candidates by greedy k-median.
    5. *Nearest votes.* Every hidden case votes for the nearest element of head and support; the
       noisy votes are brought to nonnegative numbers of the right sum.
    6. *Model pruning*, only if a clear model is asked for: sequences that blur the model which a
       reader would discover are replaced by the nearest others (`pruning.py`).

    Neighbours: one case more or less. Proof of (ε, δ); `spending.py` has the steps.

    Probe. A case raises one of the two sums by one (the first if its variant had t cases or
    more), so with discrete Laplace noise of scale 1/ε₀ they are ε₀-DP. The rest must be
    (ε − ε₀, δ)-DP for every answer of the probe; then basic composition, which is valid
    adaptively, gives (ε, δ).

    Without a head every case is hidden, and the tail below gets (ε₂, δ₂) = (ε − ε₀, δ). With a
    head, ε₂ is .75 (for a clear model .6) or .85 of ε − ε₀, whichever the probe suggests, and
    δ₂ = .2δ.
    `ReservedSelection` proves that a selection at (ε − ε₀, .8δ) followed by any (ε₂, δ₂)-DP
    reading of the hidden cases, chosen after the head was seen, is (ε − ε₀, δ)-DP, because a case
    pays for being shown or for being hidden.

    Tail, (ε₂, δ₂)-DP on the hidden cases, by basic composition of
    - their number and the histogram of their lengths: a case changes one count by one; discrete
      Laplace;
    - the votes, by the same noise: for a released list the nearest element depends on the case
      only, ties going to the first;
    - the model, if one is learned. A case adds to each table (of activities; of pairs, triples and
      quadruples) a vector whose squared L2 norm is at most B, scaled and rounded down case by case
      (`Contributions`); B is chosen from the noisy lengths. Discrete Gaussian noise of variance
      B/(2ρᵢ) makes table i ρᵢ-zCDP (Canonne, Kane, Steinke 2020), also if its contexts were chosen
      by the noisy tables before it; Σρᵢ = ρ converts to (ε′, .8δ′). In place of the tables behind
      the first one a log-linear model may be learned, by gradient steps that together are ρᵢ-zCDP
      for what these tables would cost (`loglinear.py` has the proof). Without a public alphabet
      an activity is named if the head has it or if its noisy count passes a threshold. Activities
      that only one case has pass with probability at most .2δ′ altogether, and given that none
      does the two outputs are as if they did not exist: .2δ′-approximate zCDP. Activities that
      are not named are cut out of each case before the next table. Of a large log the model reads
      a random sample: each case is kept or not by a coin of its own, so samples of neighbours,
      with the same coins, are equal or neighbours.
    If the tail reads a random sample of the hidden cases (`tail_sample`), all of the above is paid
    for by (ε₃, δ₃) with ε₂ = ln(1 + q(e^ε₃ − 1)) and δ₂ = qδ₃, q being its share: amplification by
    sampling (`privacy/steps/sampling.py` has the proof).
    With δ = 0 there is no head, the alphabet is public and the tables have Laplace noise with an
    L1 bound. Choices of way and model, candidates, support, sums and pruning read released
    numbers only, and of the head no order but that of its sequences: ties of noisy counts are
    broken by what the variants are, never by raw counts.

    With a public alphabet every case is first mapped to that alphabet on its own, which keeps
    neighbours neighbours.
    """

    name: ClassVar[str] = "headtail"
    summary: ClassVar[str] = "frequent variants, sequences that stand for the rest, votes on both"
    paper: ClassVar[str] = "this library"
    returns: ClassVar[str] = "variants"
    reads: ClassVar[Reads] = "variants"

    delta: float = delta_or_alphabet_parameter()
    alphabet: tuple[str, ...] | str | None = alphabet_parameter()
    clear_model: bool = parameter(
        False,
        "leave out rare sequences that would blur the model which is discovered from the release",
    )

    tail_sample: float = parameter(
        1.0,
        "the part of the cases that the tail reads, at random: for logs of millions of variants",
        between(0.0001, 1.0),
    )

    def _validate(self) -> None:
        super()._validate()
        if self.alphabet is None and self.delta == 0:
            raise ParameterError(
                "with delta = 0 no activity of the log may be shown unless the list of activities "
                "is public: give --alphabet FILE, or a small delta such as 1e-6"
            )
        if self.case_budget.epsilon < LEAST_EPSILON or 0 < self.case_budget.delta < LEAST_DELTA:
            raise ParameterError(
                f"each case would have {self.case_budget}, too little to say anything: raise "
                "epsilon or delta, or allow fewer cases per individual"
            )

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """With and without a public alphabet, δ and a sample; and each way of the probe."""
        pairs = FREQUENT, ONE_MORE, FILLED_HEAD, EMPTIED_HEAD, NEW_ACTIVITY
        hidden = NO_CASE, LONE_HIDDEN, FREQUENT
        probe, counted = "coverage probe", "many hidden: number of cases"
        return (
            AuditCase({"delta": 1e-6}, (*hidden, SHARED_ENDLESS), False, {probe: (0, 800)}),
            *(
                AuditCase({"delta": 1e-6}, hidden, False, {probe: answer})
                for answer in ((60, 0), (600, 800))
            ),
            AuditCase({"delta": 1e-6}, hidden[1:], False, {probe: (600, 800), counted: (-800,)}),
            AuditCase(
                {"delta": 1e-6, "tail_sample": 0.01}, (LONE_HIDDEN,), False, {probe: (60, 0)}
            ),
            AuditCase({}, pairs),
            AuditCase({"alphabet": None}, pairs),
            AuditCase({"alphabet": None, "delta": 1e-6}, pairs, usual=False),
            AuditCase({"delta": 0.0}, pairs, usual=False),
            AuditCase(
                {"alphabet": None, "delta": 1e-6, "tail_sample": 0.01},
                (TIED_HEAD,),
                False,
                {probe: (40_000, 30_000), counted: (206,)},
                shared=False,
            ),
        )

    def _spending(self, budget: Budget) -> Step:
        return spending(budget, self.tail_sample, self.clear_model)

    @property
    def _needs(self) -> Reads:
        """Counts only if the tail reads a sample, which needs the sequences of a few variants."""
        return "counts" if self.tail_sample < 1 and self.alphabet is None else self.reads

    @property
    def _tree(self) -> Step:
        assert self.spending is not None
        return self.spending

    def _statement(self, asked: Budget) -> Statement:
        status, conditions = (
            ("proved", ()) if self.alphabet is None else alphabet_status(self.alphabet)
        )
        return Statement(
            "A case is counted once by the coverage probe. Then its variant is shown with a "
            "noisy count, or the case is hidden and adds a bounded amount to noisy n-grams or "
            "gradients and one vote; it pays for one of the two only.",
            status=status,
            conditions=conditions,
        )

    def _notes(self) -> tuple[str, ...]:
        invented = "some sequences are invented: they stand for cases that were too rare to show"
        if self.delta == 0:
            return (invented,)
        least = min(reserved(self._selecting(way)).middle for way in (FEW_HIDDEN, MANY_HIDDEN))
        return (f"a variant of fewer than {least} cases is rather hidden than shown", invented)

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log; see the base class."""
        outside = [] if self.alphabet is None else outside_advice(log.variants, self.alphabet)
        return super().advice(log) + outside

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        cases: VariantCounts = log.counted if self._needs == "counts" else log.variants
        if self.alphabet is not None:
            cases = projected(log.variants, labels_of(self.alphabet, log.variants))
        about, chosen = self._probed(cases, rng)
        share = self.tail_sample
        tail = Tail(self._tree, chosen, self.alphabet is not None, self.clear_model, share)
        places = np.arange(len(cases))
        if chosen == NO_HEAD:
            read = read_cases(cases, places, self._tree, chosen, share, rng)
            return tail.release(Variants.empty(cases.activities), read, about, rng)
        selecting = self._selecting(chosen)
        shown, counts = selecting.select(cases.counts, rng)
        head = cases.take(shown, counts)
        places = np.setdiff1d(places, shown)
        hidden = read_cases(cases, places, self._tree, chosen, share, rng)
        noise = reserved(selecting).deviation * math.sqrt(len(shown))
        about = Estimate(about.value - head.cases, math.hypot(about.deviation, noise))
        return tail.release(head, hidden, about, rng)

    def _selecting(self, way: str) -> Selecting:
        return self.step(f"{way}: head", Selecting)

    def _probed(self, cases: VariantCounts, rng: Randomness) -> tuple[Estimate, str]:
        """The number of cases, and the way to go; spends the coverage probe.

        By noisy numbers of cases beyond half the selection's threshold, and up to it.
        """
        pure = self.delta == 0
        half = 0 if pure else reserved(self._selecting(FEW_HIDDEN)).middle // 2
        beyond = int(np.maximum(cases.counts - half, 0).sum())
        noise = self.noise("coverage probe")
        noisy = noise.added(np.array([beyond, cases.cases - beyond]), rng)
        frequent, rare = noisy.tolist()
        about = Estimate(frequent + rare, math.sqrt(2) * noise.deviation)
        if pure:
            return about, NO_HEAD
        model = self.step(f"{NO_HEAD}: what follows", Gaussian)
        rho = float(model.rho) * self.tail_sample**2
        return about, chosen_way(frequent, rare, noise, rho, self.alphabet is not None)
