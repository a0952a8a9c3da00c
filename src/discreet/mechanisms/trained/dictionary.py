"""Models that see a case as one column of a dictionary of variants: what DDPM and TraVaG share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.neighbours import Pair
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import (
    FREQUENT,
    NO_CASE,
    SHARED_VARIANT,
    UNIQUE_VARIANT,
    AuditCase,
)
from discreet.mechanisms.base import Fidelity
from discreet.mechanisms.trained.base import Generative, ModelState, Watch
from discreet.parameters import ParameterError, between, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.partition import LARGEST_EPSILON, OptimalSelection
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan, fitted
from discreet.privacy.steps import Selecting, Sequential, Statement, Step

# Tuned
MOST_COLUMNS = 100_000
"""Most variants of a dictionary."""


@dataclass(frozen=True)
class Dictionary:
    """Variants by column, in canonical order; what else there may be is in a last column."""

    variants: Variants
    other: bool
    """Whether there is a column for cases of any other variant."""

    @classmethod
    def of(cls, variants: Variants, *, other: bool) -> Dictionary:
        """A column for each variant; their counts are left behind."""
        trimmed = variants.trimmed()
        return cls(trimmed.take(np.arange(len(trimmed)), np.ones(len(trimmed), np.int64)), other)

    @property
    def columns(self) -> int:
        """How many columns a case is encoded in."""
        return len(self.variants) + self.other

    def counts(self, log: Variants) -> Integers:
        """How many cases of the log belong to each column; each case is judged on its own."""
        known = log.to_dict()
        found = [known.get(sequence, 0) for sequence, _ in self.variants]
        if self.other:
            found.append(log.cases - sum(found))
        return np.array(found, dtype=np.int64)

    def decode(self, columns: Integers) -> Variants:
        """The cases with these columns, those of the last one left out if it stands for others."""
        counts = np.bincount(columns, minlength=self.columns)[: len(self.variants)]
        shown = np.flatnonzero(counts)
        return self.variants.take(shown, counts[shown]).trimmed()

    def to_facts(self) -> dict[str, Any]:
        """Plain values for a model's file."""
        bounds, codes = self.variants.offsets.tolist(), self.variants.codes.tolist()
        return {
            "activities": list(self.variants.activities),
            "variants": [codes[a:b] for a, b in pairwise(bounds)],
            "other": self.other,
        }

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Dictionary:
        """Inverse of `to_facts`; raises ValueError if they do not make sense."""
        labels, rows = facts.get("activities"), facts.get("variants")
        if (
            not isinstance(labels, list)
            or not isinstance(rows, list)
            or not all(isinstance(label, str) for label in labels)
            or not all(isinstance(row, list) and set(map(type, row)) <= {int} for row in rows)
            or not isinstance(facts.get("other"), bool)
        ):
            raise ValueError("its dictionary of variants is malformed")
        if any(not 0 <= code < len(labels) for row in rows for code in row):
            raise ValueError("its dictionary names an activity that is not listed")
        sequences = [tuple(labels[code] for code in row) for row in rows]
        built = cls.of(Variants.from_counts((s, 1) for s in sequences), other=facts["other"])
        if [sequence for sequence, _ in built.variants] != sequences:
            raise ValueError("its dictionary is not in canonical order")
        return built


def dictionary_parameter() -> Any:
    """Declare the field `dictionary: tuple[tuple[str, ...], ...] | str | None` of a mechanism."""
    return parameter(
        None,
        "strict only: a public list of variants instead of one found in the log: a file with one "
        "variant per line, its activities separated by tabs",
        read=read_dictionary,
        canonical=_canonical,
    )


def read_dictionary(text: str) -> tuple[tuple[str, ...], ...]:
    """Variants from a file, one per line, activities separated by tabs."""
    try:
        lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ParameterError(
            f"the dictionary {text!r} cannot be read ({error}); give a UTF-8 text file with one "
            "variant per line, its activities separated by tabs"
        ) from error
    return tuple(tuple(line.split("\t")) for line in lines if line.strip())


def _canonical(given: Any) -> tuple[tuple[str, ...], ...]:
    """The public variants, each once."""
    if not given or isinstance(given, str) or any(isinstance(row, str) for row in given):
        raise ParameterError(
            "the dictionary must be a list of variants, each a list of activities, with at least "
            "one variant in it"
        )
    if len(given) > MOST_COLUMNS:
        raise ParameterError(f"a dictionary may have at most {MOST_COLUMNS:,} variants")
    return tuple(sorted({tuple(row) for row in given}))


PAPER = (
    "F. Wangelik, M. Rafiei, M. Pourbafrani, W. M. P. van der Aalst: Releasing Differentially "
    "Private Event Logs Using Generative Models. arXiv:2504.06418"
)

RARE_COLUMN = Pair.told(
    "rare column",
    "the only case of no known column, among frequent variants",
    "200 ab, 100 ac + dddd",
)

# Tuned, on public logs
DICTIONARY_SHARE, DICTIONARY_DELTA = 0.8, 0.5
"""Shares of epsilon and of delta for finding the dictionary."""
SAMPLING_RATE = Fraction(1, 4)
"""Default chance of a case to be in a training step."""
EPOCHS = 10
"""Default number of steps that show a network each case, on average."""
SIZE_SHARE = 0.25
"""Approximate cost of counting the cases, as a share of the cost of the noisy steps."""

DICTIONARY, SIZE = "dictionary of variants", "number of cases"


@dataclass(frozen=True, kw_only=True)
class OverDictionary(Generative):
    """Learns how often each column of a dictionary of variants occurs.

    strict, neighbours one case more or less. The dictionary is public, or found by partition
    selection at (ε₁, δ₁), which is proved in `privacy/partition.py`. Once it is fixed, each case
    belongs to one column, "other" included, by its own variant alone, so neighbours stay
    neighbours. The number of cases (discrete Gaussian noise, sensitivity 1: a step of sampling
    rate 1) and the noisy steps of training are composed by their Rényi divergences at integer
    orders to (ε₂, δ₂) (`privacy/renyi.py`); basic composition, valid adaptively, gives
    (ε₁ + ε₂, δ₁ + δ₂). Every other number is public or computed from these results: the divisor
    of the gradients (noisy number of cases times the sampling rate), the widths, rates and the
    starting point, which is made of the selection's own noisy counts.

    The sum of the bounded gradients is exact (`trained/clipping.py`), and a case's part is a
    function of its column and of public randomness alone: every column's gradient is computed at
    every step, whether a case has it or not, and weighted by how many sampled cases do.
    """

    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "variants"

    fidelity: Fidelity = parameter(
        "strict",
        "strict: columns found privately and everything noised; published: the paper's algorithm",
    )
    dictionary: tuple[tuple[str, ...], ...] | str | None = dictionary_parameter()
    sampling_rate: float | None = parameter(
        None, "the chance of each case to be in a training step; by default 1/4", between(1e-4, 1)
    )
    steps: int | None = parameter(
        None,
        "how many noisy training steps a network takes; by default as many as show it each case "
        "10 times on average",
        between(1, 1_000_000),
    )

    def _validate(self) -> None:
        super()._validate()
        if self.dictionary is not None and self.fidelity == "published":
            raise ParameterError("published takes its columns from the log; leave out dictionary")

    @classmethod
    def _strict_audit_cases(cls) -> tuple[AuditCase, ...]:
        """A public dictionary, with cases drawn from it and without; a found one; the default."""
        full = {"fidelity": "strict", "steps": 2, "sampling_rate": 1.0}
        quick = {**full, "cases": 0}
        listed = {"dictionary": (("a", "b"), ("a", "c"), ("a", "d"))}
        return (
            AuditCase({**quick, **listed}, (NO_CASE, UNIQUE_VARIANT), usual=False),
            AuditCase({**full, **listed}, (SHARED_VARIANT,), usual=False),
            AuditCase(quick, (FREQUENT, RARE_COLUMN), usual=False),
            AuditCase({"fidelity": "strict", "delta": 1e-6}, (FREQUENT,), False, shared=False),
        )

    @property
    def columns_from_log(self) -> bool:
        """Whether a column tells that the log has a variant."""
        return self.fidelity == "published"

    @property
    def _rate(self) -> Fraction:
        """The sampling rate, exactly as it is drawn."""
        return Fraction(self.sampling_rate or SAMPLING_RATE).limit_denominator(1 << 20)

    @property
    def planned_steps(self) -> int:
        """How many noisy steps a network takes."""
        return self.steps or max(1, round(EPOCHS / self._rate))

    @abstractmethod
    def _schedule(self) -> dict[str, TrainingPlan]:
        """The networks' steps before they are fitted: noise in proportion only."""

    @abstractmethod
    def _fit(
        self, counts: Integers, facts: dict[str, Any], rng: Randomness, watch: Watch
    ) -> ModelState:
        """Train on these numbers of cases per column, with the facts that `_begin` found."""

    @abstractmethod
    def _columns_of(
        self, model: ModelState, columns: Dictionary, cases: int, rng: Randomness
    ) -> Integers:
        """The columns of cases drawn from a trained model."""

    def _generate(self, model: ModelState, cases: int, rng: Randomness) -> Variants:
        columns = Dictionary.from_facts(model.facts)
        if len(columns.variants) == 0:
            return columns.variants
        return columns.decode(self._columns_of(model, columns, cases, rng))

    def _plans(self, budget: Budget) -> dict[str, TrainingPlan]:
        wanted = self._schedule()
        if self.fidelity == "strict":
            effort = sum(
                plan.steps * float(plan.sampling_rate / Fraction(plan.noise_multiplier)) ** 2
                for plan in wanted.values()
            )
            wanted[SIZE] = TrainingPlan(Fraction(1), 1, (SIZE_SHARE * effort) ** -0.5)
        share = self._training_share(budget)
        plans = fitted(share.epsilon, share.delta, tuple(wanted.values()))
        return dict(zip(wanted, plans, strict=True))

    def _training_share(self, budget: Budget) -> Budget:
        if self.fidelity == "published" or self.dictionary is not None:
            return budget
        return budget.share(1 - DICTIONARY_SHARE, 1 - DICTIONARY_DELTA)

    def _strict_spending(self, budget: Budget, networks: str) -> Step:
        training = self._training(f"number of cases and {networks}", budget)
        if self.dictionary is not None:
            return Sequential("release", (training,))
        share = budget.share(DICTIONARY_SHARE, DICTIONARY_DELTA)
        selection = OptimalSelection(min(share.epsilon, LARGEST_EPSILON), share.delta)
        return Sequential("release", (Selecting(DICTIONARY, selection), training))

    @property
    def selection(self) -> OptimalSelection:
        """How the dictionary is found."""
        found = self.step(DICTIONARY, Selecting).selection
        assert isinstance(found, OptimalSelection)
        return found

    def _strict_statement(self) -> Statement:
        conditions: tuple[str, ...] = ()
        if self.dictionary is not None:
            conditions = (f"the list of {len(self.dictionary)} variants that was given",)
        return Statement(
            "A case has one column of a dictionary that is public or was found by partition "
            "selection; it moves the noisy number of cases by one and the sum of gradients of each "
            "noisy step by at most the clip, exactly, in integers.",
            conditions=conditions,
        )

    def _published_statement(self, asked: Budget) -> Statement:
        """What holds with the number of cases public, which it is only for cases replaced.

        For a fixed number of cases in the divisor and the sampling, one case more or less costs
        the budget. Replacing a case is one less and one more.
        """
        return Statement(
            "Every step of training is noised for a case that is added or removed; a case that is "
            "replaced counts as both. The columns are the log's own variants, each of which may be "
            "generated, and the number of cases is the log's.",
            status="conditional",
            neighbours="swap",
            conditions=(
                "the set of variants in the log, also those that one person alone has",
                "the number of cases",
            ),
            claimed=asked,
        )

    def _notes(self) -> tuple[str, ...]:
        if self.fidelity == "published":
            return ("no variant is invented; each is one of the log's own",)
        notes = [
            "only variants of the dictionary are generated, by their frequencies among themselves"
        ]
        if self.dictionary is None:
            threshold = self.selection.threshold
            notes.append(f"variants with a noisy count of at most {threshold} have no column")
        return tuple(notes)

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent: also more variants than there may be columns."""
        super().check(log)
        if self.fidelity == "published" and len(log.variants) > MOST_COLUMNS:
            raise LogError(f"published has one column for each variant, at most {MOST_COLUMNS:,}")

    def _train(self, log: EventLog, rng: Randomness, watch: Watch) -> ModelState:
        saved = watch.resumed()
        facts = self._begin(log.variants, rng) if saved is None else saved.facts
        counts = Dictionary.from_facts(facts).counts(log.variants)
        return self._fit(counts, facts, rng, watch)

    def _begin(self, variants: Variants, rng: Randomness) -> dict[str, Any]:
        """The dictionary, the number of cases, and the frequencies that training starts from."""
        if self.fidelity == "published":
            columns = Dictionary.of(variants, other=False)
            return columns.to_facts() | {
                "cases": variants.cases if self.cases is None else self.cases,
                "trained_on": max(1, variants.cases),
            }
        noise = self.noisy_step(SIZE).noise()
        size = max(1, int(noise.added(np.array(variants.cases), rng)))
        if self.dictionary is None:
            shown, noisy = self.step(DICTIONARY, Selecting).select(variants.counts, rng)
            found = variants.take(shown, noisy).trimmed()
            start = np.maximum(found.counts - self.selection.mean, 0.5)
        else:
            found = Variants.from_counts((row, 1) for row in self.dictionary)
            start = np.full(len(found), size / (len(found) + 1))
        columns = Dictionary.of(found, other=True)
        rest = max(size - float(start.sum()), 0.02 * size, 1.0)
        return columns.to_facts() | {
            "cases": size if self.cases is None else self.cases,
            "trained_on": size,
            "start": [round(float(value), 3) for value in (*start, rest)],
        }
