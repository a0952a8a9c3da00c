"""TraVaS and uTraVaS: trace variants by partition selection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from discreet.arrays import Integers
from discreet.log.events import EventLog, Reads
from discreet.log.neighbours import Case, Pair, traces
from discreet.log.variants import VariantCounts, Variants
from discreet.mechanisms.audit_cases import (
    FIRST_CASE,
    FREQUENT,
    ONE_MORE,
    SECOND_CASE,
    UNIQUE_VARIANT,
    AuditCase,
)
from discreet.mechanisms.base import Fidelity, Mechanism, delta_parameter
from discreet.mechanisms.blocks import closest
from discreet.parameters import between, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.partition import (
    LARGEST_EPSILON,
    OptimalSelection,
    TruncatedSelection,
)
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Selecting, Sequential, Statement, Step

PAPER = (
    "M. Rafiei, F. Wangelik, W. M. P. van der Aalst: TraVaS: Differentially Private Trace Variant "
    "Selection for Process Mining. ICPM Workshops 2022, arXiv:2210.14951"
)

VARIANTS = "selection and counts of variants"

_LETTERS = "klmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
TIED_CANDIDATES = Pair(
    "tied candidates",
    "one run shows two variants, the mean of two only one, and a case decides which is closer",
    traces("ababababab", 27, "cdcdcdcdcd", 13)
    | {tuple("abababab" + letter + "k"): 1 for letter in _LETTERS[:50]},
    Case(tuple("abababab" + _LETTERS[50] + "k")),
)
"""At ε = 1, δ = .01 and two runs: nobody else's variant is among the 51, and none of them is ever
shown, but they make up for the second variant."""
TIED_RUNS = Pair.told(
    "tied runs",
    "a rare variant grows from one case to two beside a frequent one",
    "7 ab, 1 c + c",
    public={"delta": 0.1},
)


@dataclass(frozen=True, kw_only=True)
class TraVaS(Mechanism[Variants]):
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
    reads: ClassVar[Reads] = "counts"

    delta: float = delta_parameter()
    fidelity: Fidelity = parameter(
        "strict", "strict: the best proved form; published: the paper's algorithm"
    )

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """Both forms at a large δ, and the default; see the base class."""
        pairs = ONE_MORE, UNIQUE_VARIANT, FIRST_CASE, SECOND_CASE
        return (
            AuditCase({"fidelity": "strict"}, pairs),
            AuditCase({"fidelity": "strict", "delta": 1e-6}, (FREQUENT,)),
            AuditCase({"fidelity": "published"}, pairs),
        )

    @property
    def selection(self) -> OptimalSelection | TruncatedSelection:
        """The selection that the budget buys."""
        found = self.step(VARIANTS, Selecting).selection
        assert isinstance(found, OptimalSelection | TruncatedSelection)
        return found

    def _spending(self, budget: Budget) -> Step:
        kind = OptimalSelection if self.fidelity == "strict" else TruncatedSelection
        return Selecting(VARIANTS, kind(min(budget.epsilon, LARGEST_EPSILON), budget.delta))

    def _statement(self, asked: Budget) -> Statement:
        return Statement(
            "A case changes the count of one variant by one, and each variant is shown or hidden "
            "with noise of its own."
        )

    def _notes(self) -> tuple[str, ...]:
        notes = [f"variants with a noisy count of at most {self.selection.threshold} are left out"]
        if isinstance(self.selection, OptimalSelection):
            notes.append(f"the noise on each count has mean {self.selection.mean:.4f}")
        return tuple(notes)

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        variants = log.counted
        shown, counts = self.step(VARIANTS, Selecting).select(variants.counts, rng)
        return variants.take(shown, counts).trimmed()

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Variants]:
        variants, step = log.variants, self.step(VARIANTS, Selecting)
        noisy = step.noisy(np.tile(variants.counts, runs), rng).reshape(runs, len(variants))
        return _built(variants, np.where(noisy > step.selection.threshold, noisy, 0))


@dataclass(frozen=True, kw_only=True)
class UTraVaS(Mechanism[Variants]):
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
    exponential mechanism picks one by how close it comes to the log (`blocks/closest.py`, where
    the argument stands).
    """

    name: ClassVar[str] = "utravas"
    summary: ClassVar[str] = "the mean of several TraVaS runs, their number fixed or chosen"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "variants"
    reads: ClassVar[Reads] = "counts"

    delta: float = delta_parameter()
    fidelity: Fidelity = parameter(
        "strict", "strict: runs are fixed or chosen privately; published: by raw utility"
    )
    choose: Literal["fixed", "private"] = parameter(
        "fixed", "strict only: average exactly `runs`, or let a private choice take fewer"
    )
    runs: int = parameter(
        1, "how many TraVaS runs are averaged; the most that are tried", between(1, 20)
    )

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """One run, two, a private choice between them, the published form; see the base class."""
        pairs = FREQUENT, ONE_MORE, UNIQUE_VARIANT, SECOND_CASE
        strict = {"fidelity": "strict"}
        return (
            AuditCase(strict, pairs),
            AuditCase({**strict, "delta": 1e-6}, (FREQUENT,)),
            AuditCase({**strict, "runs": 2}, pairs),
            AuditCase({**strict, "runs": 2, "choose": "private"}, (*pairs, TIED_CANDIDATES)),
            AuditCase({"fidelity": "published", "runs": 3}, (TIED_RUNS, *pairs)),
        )

    @property
    def _chosen(self) -> bool:
        """Whether a candidate is chosen, or the number of runs is fixed."""
        return self.runs > 1 and (self.fidelity == "published" or self.choose == "private")

    def _spending(self, budget: Budget) -> Step | None:
        if not self._chosen:
            return _runs("runs", budget, self.runs, "run")
        if self.fidelity == "published":
            return None
        each = budget.share((1 - closest.CHOICE_SHARE) / self.runs, 1 / self.runs)
        return Sequential(
            "candidates and choice",
            (
                *(
                    _runs(_candidate(i), each, i, f"candidate {i}, run")
                    for i in range(1, self.runs + 1)
                ),
                closest.choosing(budget),
            ),
        )

    def _statement(self, asked: Budget) -> Statement:
        if not self._chosen:
            return Statement("Each run is a TraVaS release at an equal part of the budget.")
        if self.fidelity == "published":
            return Statement(
                "The number of runs is chosen by comparing candidates with the raw log. "
                "Counterexample: 12 cases of one variant and 12 that differ only in their last "
                "activity; with 8 runs at ε = 1, δ = .01 each of the latter is shown with "
                "probability .04, four times δ. No finite bound is known.",
                status="refuted",
                claimed=asked,
            )
        return Statement(
            "Each candidate is a set of TraVaS runs at an equal part of the budget; the "
            "exponential mechanism chooses one by a score that a case raises by at most 2."
        )

    def _candidates(self) -> list[tuple[Selecting, ...]]:
        """The runs of every candidate."""
        if self.fidelity == "published":
            return [
                _selectings(_runs("runs", self.case_budget, i, "run"))
                for i in range(1, self.runs + 1)
            ]
        return [_selectings(self.step(_candidate(i), Sequential)) for i in range(1, self.runs + 1)]

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent: also a log too large to compare candidates with."""
        super().check(log)
        if self.runs > 1 and (self.fidelity, self.choose) != ("strict", "fixed"):
            closest.check_comparable(log)

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        return next(self._draw_many(log, 1, rng))

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Variants]:
        if not self._chosen:
            steps = _selectings(self.step("runs", Sequential))
            return _built(log.counted, _averages(log.counted, steps, runs, rng))
        variants = log.variants
        candidates = [_averages(variants, steps, runs, rng) for steps in self._candidates()]
        known: dict[bytes, int] = {}

        def score(counts: Integers) -> int:
            key = counts.tobytes()
            if key not in known:
                known[key] = closest.closeness(variants, next(_built(variants, counts[None])))
            return known[key]

        def winner(scores: list[int]) -> int:
            if self.fidelity == "published":
                return int(np.argmax(scores))
            return closest.chosen(scores, self.step(closest.CHOICE, Choosing), rng)

        taken = [
            rows[winner([score(row) for row in rows])] for rows in zip(*candidates, strict=True)
        ]
        return _built(variants, np.array(taken).reshape(runs, len(variants)))


def _built(variants: VariantCounts, rows: Integers) -> Iterator[Variants]:
    """One artefact per row of counts, zeros hidden; equal supports are built once."""
    supports: dict[bytes, Variants] = {}
    for row in rows:
        key = (row != 0).tobytes()
        if key not in supports:
            shown = np.flatnonzero(row)
            supports[key] = variants.take(shown, shown).trimmed()  # counted by where they are
        frame = supports[key]
        yield replace(frame, counts=row[frame.counts])


def _candidate(runs: int) -> str:
    return f"candidate {runs}"


def _runs(name: str, budget: Budget, runs: int, each: str) -> Sequential:
    """Equal TraVaS runs that together cost the budget."""
    part = budget.share(1 / runs)
    selection = TruncatedSelection(min(part.epsilon, LARGEST_EPSILON), part.delta)
    return Sequential(name, tuple(Selecting(f"{each} {i + 1}", selection) for i in range(runs)))


def _selectings(runs: Sequential) -> tuple[Selecting, ...]:
    return tuple(step for step in runs.steps if isinstance(step, Selecting))


def _averages(
    variants: VariantCounts, steps: tuple[Selecting, ...], size: int, rng: Randomness
) -> Integers:
    """Rounded mean counts of the variants that any of some TraVaS runs shows, one row a release."""
    runs, selection = len(steps), steps[0].selection
    hidden = expected_hidden_count(selection.epsilon, selection.threshold)
    counts, shape = np.tile(variants.counts, size), (size, len(variants))
    noisy = np.stack([step.noisy(counts, rng).reshape(shape) for step in steps], axis=1)
    passed = noisy > selection.threshold
    if size == 1:
        for step, row, over in zip(steps, noisy[0], passed[0], strict=True):
            step.note_shown(row[over])
    times = passed.sum(axis=1)
    total = np.where(passed, noisy, 0).sum(axis=1)
    mean = np.rint((total + (runs - times) * hidden) / runs).astype(np.int64)
    return np.where(times > 0, mean, 0)


@lru_cache(maxsize=64)
def expected_hidden_count(epsilon: float, k: int) -> float:
    """The mean count of a hidden variant, if counts 1 … 2k are equally likely beforehand.

    Count j is hidden with probability P[X ≤ k − j] (the paper's f̂). A public number.
    """
    noise = np.exp(-epsilon * np.abs(np.arange(-k, k + 1)))
    cumulative = np.cumsum(noise / noise.sum())
    counts = np.arange(1, 2 * k + 1)
    chance = cumulative[2 * k - counts]
    return float((counts * chance).sum() / chance.sum())
