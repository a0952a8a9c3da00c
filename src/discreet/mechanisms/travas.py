"""TraVaS and uTraVaS: trace variants by partition selection."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.log.variants import Variants
from discreet.mechanisms.base import Fidelity, Mechanism, delta_parameter
from discreet.mechanisms.parameters import parameter
from discreet.mechanisms.parts.closest import (
    CHOICE_SHARE,
    check_comparable,
    chosen,
    closeness,
)
from discreet.privacy.guarantee import Budget, Guarantee, Part
from discreet.privacy.partition import (
    LARGEST_EPSILON,
    OptimalSelection,
    TruncatedSelection,
    select,
)
from discreet.privacy.randomness import Integers, Randomness

if TYPE_CHECKING:
    from discreet.log.events import EventLog

PAPER = (
    "M. Rafiei, F. Wangelik, W. M. P. van der Aalst: TraVaS: Differentially Private Trace Variant "
    "Selection for Process Mining. ICPM Workshops 2022, arXiv:2210.14951"
)


@dataclass(frozen=True, kw_only=True)
class TraVaS(Mechanism):
    """Show each variant with a noisy count if that count passes a threshold.

    Neighbours: one case more or less. A case belongs to exactly one variant, so it changes one
    count by one; the noise is independent per variant; variants nobody followed are never
    touched. Hence the whole release is exactly as private as the selection of one key with
    counts n and n + 1, which `privacy/partition.py` proves: (ε, δ), with no public alphabet,
    no maximum length and no other public input.

    strict uses the optimal selection (`OptimalSelection`); published is the paper's Algorithm 1,
    noise truncated at ⌈k⌉ (`TruncatedSelection`). Both are proved; strict shows more variants.
    """

    name: ClassVar[str] = "travas"
    summary: ClassVar[str] = "variants whose noisy count passes a threshold; invents nothing"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "variants"

    delta: float = delta_parameter()
    fidelity: Fidelity = parameter(
        "strict", "strict: the best proved form; published: the paper's algorithm"
    )

    @cached_property
    def selection(self) -> OptimalSelection | TruncatedSelection:
        """The selection that this budget buys."""
        kind = OptimalSelection if self.fidelity == "strict" else TruncatedSelection
        return kind(min(self.case_budget.epsilon, LARGEST_EPSILON), self.case_budget.delta)

    def _guarantee(self, budget: Budget) -> Guarantee:
        return Guarantee(
            status="proved",
            claimed=budget,
            holds=budget,
            reason="A case changes the count of one variant by one, and each variant is shown or "
            "hidden with noise of its own.",
            parts=(Part("selection and counts of variants", budget.epsilon, budget.delta),),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = [f"variants with a noisy count of at most {self.selection.threshold} are left out"]
        if isinstance(self.selection, OptimalSelection):
            notes.append(f"the noise on each count has mean {self.selection.mean:.4f}")
        return tuple(notes)

    def _prepare(self) -> None:
        _ = self.selection

    def _draw(self, log: EventLog, source: Randomness) -> Variants:
        variants = log.variants
        shown, counts = select(self.selection, variants.counts, source)
        return variants.take(shown, counts).trimmed()

    def _draw_many(self, log: EventLog, runs: int, source: Randomness) -> Iterator[Variants]:
        variants, selection = log.variants, self.selection
        noise = selection.noise(runs * len(variants), source).reshape(runs, len(variants))
        noisy = variants.counts + noise
        return _built(variants, np.where(noisy > selection.threshold, noisy, 0))


@dataclass(frozen=True, kw_only=True)
class UTraVaS(Mechanism):
    """Average several TraVaS runs with smaller budgets, and choose how many.

    For i runs at (ε/i, δ/i) each, the union of the shown variants with the mean of their counts
    (an expected count where a run hid the variant) is (ε, δ)-DP by basic composition and
    post-processing, for any i fixed in advance.

    published tries i = 1 … max_runs and releases the candidate most similar to the raw log.
    That choice reads the log and is not paid for: refuted. Take 12 cases of one variant and 12
    that differ from each other only in their last activity. A candidate that shows one of the
    latter stands for all of them and wins, so at ε = 1, δ = .01 and 8 runs each of them is shown
    with probability .04 where a case of its own variant may be shown with probability δ.

    strict with choose="fixed" uses i = runs. strict with choose="private" spends a tenth of ε
    on the choice: candidates i = 1 … n get an n-th of the rest of ε and of δ each, and the
    exponential mechanism picks one by how close it comes to the log (`parts/closest.py`, where
    the argument stands).
    """

    name: ClassVar[str] = "utravas"
    summary: ClassVar[str] = "the mean of several TraVaS runs, their number fixed or chosen"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "variants"

    delta: float = delta_parameter()
    fidelity: Fidelity = parameter(
        "strict", "strict: runs are fixed or chosen privately; published: by raw utility"
    )
    choose: Literal["fixed", "private"] = parameter(
        "fixed", "strict only: average exactly `runs`, or let a private choice take fewer"
    )
    runs: int = parameter(
        1, "how many TraVaS runs are averaged; the most that are tried", low=1, high=20
    )

    def _guarantee(self, budget: Budget) -> Guarantee:
        if self.fidelity == "published" and self.runs > 1:
            return Guarantee(
                status="refuted",
                claimed=budget,
                holds=None,
                reason="The number of runs is chosen by comparing candidates with the raw log. "
                "Counterexample: 12 cases of one variant and 12 that differ only in their last "
                "activity; with 8 runs at ε = 1, δ = .01 each of the latter is shown with "
                "probability .04, four times δ. No finite bound is known.",
            )
        if self.choose == "fixed" or self.runs == 1:
            each = budget.share(1 / self.runs)
            parts = tuple(
                Part(f"run {i}", each.epsilon, each.delta) for i in range(1, self.runs + 1)
            )
            reason = "Each run is a TraVaS release at an equal part of the budget."
        else:
            each, choice = self._shares(budget)
            parts = (
                *(
                    Part(f"candidate {i}", each.epsilon, each.delta)
                    for i in range(1, self.runs + 1)
                ),
                Part("choice of the candidate", choice.epsilon),
            )
            reason = (
                "Each candidate is a set of TraVaS runs at an equal part of the budget; the "
                "exponential mechanism chooses one by a score that a case raises by at most 2."
            )
        return Guarantee(
            status="proved",
            claimed=budget,
            holds=budget,
            reason=reason,
            parts=parts,
            composition="basic",
        )

    def _shares(self, budget: Budget) -> tuple[Budget, Budget]:
        """What each candidate and the private choice among them cost."""
        each = budget.share((1 - CHOICE_SHARE) / self.runs, 1 / self.runs)
        return each, budget.share(CHOICE_SHARE, 0)

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent: also a log too large to compare candidates with."""
        super().check(log)
        if self.runs > 1 and (self.fidelity, self.choose) != ("strict", "fixed"):
            check_comparable(log)

    def _prepare(self) -> None:
        budget, tried = self.case_budget, range(1, self.runs + 1)
        if self.fidelity == "strict" and self.choose == "fixed":
            tried = range(self.runs, self.runs + 1)
        elif self.fidelity == "strict" and self.runs > 1:
            budget, _ = self._shares(budget)
        for runs in tried:
            _part(budget, runs)

    def _draw(self, log: EventLog, source: Randomness) -> Variants:
        return next(self._draw_many(log, 1, source))

    def _draw_many(self, log: EventLog, runs: int, source: Randomness) -> Iterator[Variants]:
        variants, budget = log.variants, self.case_budget
        if self.fidelity == "strict" and (self.choose == "fixed" or self.runs == 1):
            return _built(variants, _averages(variants, budget, self.runs, runs, source))
        each, choice = self._shares(budget) if self.fidelity == "strict" else (budget, budget)
        candidates = [_averages(variants, each, i, runs, source) for i in range(1, self.runs + 1)]
        known: dict[bytes, int] = {}

        def score(counts: Integers) -> int:
            key = counts.tobytes()
            if key not in known:
                known[key] = closeness(variants, next(_built(variants, counts[None])))
            return known[key]

        def winner(scores: list[int]) -> int:
            if self.fidelity == "published":
                return int(np.argmax(scores))
            return chosen(scores, choice.epsilon, source)

        taken = [
            rows[winner([score(row) for row in rows])] for rows in zip(*candidates, strict=True)
        ]
        return _built(variants, np.array(taken).reshape(runs, len(variants)))


def _built(variants: Variants, rows: Integers) -> Iterator[Variants]:
    """One artefact per row of counts, a count of 0 being hidden; equal supports are built once."""
    supports: dict[bytes, tuple[Integers, Variants]] = {}
    for row in rows:
        key = (row != 0).tobytes()
        if key not in supports:
            shown = np.flatnonzero(row)
            supports[key] = shown, variants.take(shown).trimmed()
        shown, frame = supports[key]
        yield Variants(frame.activities, frame.codes, frame.offsets, row[shown])


def _averages(
    variants: Variants, budget: Budget, runs: int, size: int, source: Randomness
) -> Integers:
    """Per row: union of the variants of some TraVaS runs, mean of their counts, rounded."""
    selection = _part(budget, runs)
    hidden = expected_hidden_count(selection)
    shape = (size, runs, len(variants))
    noisy = variants.counts + selection.noise(math.prod(shape), source).reshape(shape)
    passed = noisy > selection.threshold
    times = passed.sum(axis=1)
    total = np.where(passed, noisy, 0).sum(axis=1)
    mean = np.rint((total + (runs - times) * hidden) / runs).astype(np.int64)
    return np.where(times > 0, mean, 0)


@lru_cache(maxsize=64)
def _part(budget: Budget, runs: int) -> TruncatedSelection:
    """The selection of each of several equal runs."""
    each = budget.share(1 / runs)
    return TruncatedSelection(min(each.epsilon, LARGEST_EPSILON), each.delta)


@lru_cache(maxsize=64)
def expected_hidden_count(selection: TruncatedSelection) -> float:
    """The mean count of a hidden variant, if counts 1 … 2k are equally likely beforehand.

    Count j is hidden with probability P[X ≤ k − j] (the paper's f̂). A public number.
    """
    k = selection.threshold
    noise = np.exp(-selection.epsilon * np.abs(np.arange(-k, k + 1)))
    cumulative = np.cumsum(noise / noise.sum())
    counts = np.arange(1, 2 * k + 1)
    chance = cumulative[2 * k - counts]
    return float((counts * chance).sum() / chance.sum())
