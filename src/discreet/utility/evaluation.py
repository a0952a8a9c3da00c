"""Evaluate a release against the raw log. Every figure is for the holder of the log only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np

from discreet import notebook
from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.models.similarity import log_similarity
from discreet.privacy.randomness import Randomness
from discreet.utility import attributes, model, published
from discreet.utility.anomalies import Normality
from discreet.utility.calendar import LOG_MEASURES, MEASURES, Timed
from discreet.utility.complexity import sequence_entropy
from discreet.utility.difference import absolute_log_difference
from discreet.utility.follows import FollowsDistance, follows_distance
from discreet.utility.model import Quality
from discreet.utility.subject import Subject, subject_of

WARNING = "computed on the raw log: for its holder, not for publication"

Group = Literal[
    "similarity",
    "difference",
    "follows",
    "model",
    "entropy",
    "size",
    "normal",
    "times",
    "attributes",
    "published",
]
GROUPS: tuple[Group, ...] = get_args(Group)

USUAL: tuple[Group, ...] = tuple(group for group in GROUPS if group != "published")
"""The groups measured by default: all but those that papers measured by wrong rules."""

# Tuned
HALVINGS = 3
"""Number of random halvings over which the ceiling is averaged."""


@dataclass(frozen=True)
class Figure:
    """One measured value and its reference.

    `reference` is what a perfect copy of the process would score: for distances between logs
    the ceiling (one random half of the log against the other), else the raw log's own value.
    """

    name: str
    value: float
    reference: float | None
    best: str
    meaning: str


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The figures of a release, and what could not be measured."""

    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    warning: str = field(default=WARNING, init=False)

    def __getitem__(self, name: str) -> float:
        for figure in self.figures:
            if figure.name == name:
                return figure.value
        raise KeyError(f"{name!r} was not measured; there are {', '.join(self.names)}")

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the figures."""
        return tuple(figure.name for figure in self.figures)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{figure.name} = {figure.value:.4g}" for figure in self)
        return f"Evaluation({shown or 'nothing measured'}; {self.warning})"

    def _repr_html_(self) -> str:
        rows = [
            (
                f.name,
                f"{f.value:.4g}",
                "" if f.reference is None else f"{f.reference:.4g}",
                f.best,
                f.meaning,
            )
            for f in self
        ]
        heads = ("figure", "value", "reference", "better if", "meaning")
        notes = "".join(notebook.paragraph(note) for note in self.notes)
        return notebook.box(f"Evaluation: {self.warning}", notebook.table(heads, rows), notes)


def evaluate(
    log: EventLog | Variants,
    released: Any,
    *,
    measures: Sequence[Group] = USUAL,
    reference: bool = True,
) -> Evaluation:
    """Measure a Release, an EventLog, Variants or a released file against the raw log.

    Reads the raw log: the figures are for its holder. Choosing a release by them, or publishing
    them, gives away more than the release's guarantee covers.
    """
    return Evaluator(log).evaluate(released, measures=measures, reference=reference)


class Evaluator:
    """The raw log, with everything about it that is computed only once."""

    def __init__(self, log: EventLog | Variants) -> None:
        self.log = log if isinstance(log, EventLog) else None
        variants = log.variants if isinstance(log, EventLog) else log
        self.variants = variants.take(np.flatnonzero(variants.counts))

    def evaluate(
        self, released: Any, *, measures: Sequence[Group] = USUAL, reference: bool = True
    ) -> Evaluation:
        """Measure one release."""
        unknown = set(measures) - set(GROUPS)
        if unknown:
            raise ValueError(f"unknown measures {sorted(unknown)}; known are {', '.join(GROUPS)}")
        subject = subject_of(released)
        found: list[Figure] = []
        notes: list[str] = []
        for group in GROUPS:
            if group in measures:
                found += getattr(self, f"_{group}")(subject, reference, notes)
        if not found:
            notes.append(f"nothing asked for can be measured on a {subject.kind}")
        return Evaluation(tuple(found), tuple(notes))

    @cached_property
    def by_appearance(self) -> Variants:
        """The log's variants by first appearance; those of a bare table in their own order."""
        return self.variants if self.log is None else published.by_appearance(self.log)

    @cached_property
    def halves(self) -> list[tuple[Variants, Variants]]:
        """Random halves of the log, for ceilings."""
        cases = np.repeat(np.arange(len(self.variants)), self.variants.counts)
        pairs = []
        for _ in range(HALVINGS):
            shuffled = cases[Randomness.system().permutation(len(cases))]
            both = np.array_split(shuffled, 2)
            pairs.append((self._recount(both[0]), self._recount(both[1])))
        return pairs

    def _recount(self, cases: Any) -> Variants:
        counts = np.bincount(cases, minlength=len(self.variants))
        kept = np.flatnonzero(counts)
        return self.variants.take(kept, counts[kept])

    def _ceiling(self, measure: Callable[[Variants, Variants], float]) -> float | None:
        if self.variants.cases < 2:
            return None
        return float(np.mean([measure(left, right) for left, right in self.halves]))

    @cached_property
    def ceiling(self) -> float | None:
        """Mean similarity of one random half of the log to the other."""
        return self._ceiling(lambda left, right: log_similarity(left, right).value)

    @cached_property
    def follows_ceiling(self) -> FollowsDistance | None:
        """Mean directly-follows distances of one random half of the log to the other."""
        if self.variants.cases < 2:
            return None
        found = [follows_distance(left, right) for left, right in self.halves]
        return FollowsDistance(
            float(np.mean([d.total_variation for d in found])),
            float(np.mean([d.percentage_error for d in found])),
        )

    @cached_property
    def difference_ceiling(self) -> float | None:
        """Twice the edits between halves, comparable with those between whole logs."""
        return self._ceiling(lambda left, right: 2.0 * absolute_log_difference(left, right).cost)

    @cached_property
    def own_quality(self) -> Quality:
        """Quality of the model discovered from the raw log itself."""
        return model.discover(self.variants).quality(self.variants)

    @cached_property
    def normality(self) -> Normality:
        """The isolation forest trained on the raw log."""
        return Normality(self.variants)

    def _similarity(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.variants is None:
            return []
        found = log_similarity(self.variants, subject.variants)
        if not found.exact:
            notes.append("similarity is a lower bound: the logs are too large for an exact one")
        ceiling = self.ceiling if reference else None
        meaning = "1 − earth mover's distance between the variants"
        return [Figure("similarity", found.value, ceiling, "high", meaning)]

    def _difference(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.variants is None:
            return []
        edits = absolute_log_difference(self.variants, subject.variants)
        if not edits.exact:
            notes.append("absolute difference is an upper bound: the logs are too large")
        ceiling = self.difference_ceiling if reference else None
        meaning = "edits from log to log"
        return [Figure("absolute_difference", float(edits.cost), ceiling, "low", meaning)]

    def _published(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.variants is None:
            return []
        written = published.as_written(self.by_appearance, subject.variants)
        similar = published.similarity_by_index(self.by_appearance, written)
        edits = published.absolute_difference_as_travas(self.variants, subject.variants)
        if not (similar.exact and edits.exact):
            notes.append("the figures by published rules are not exact: the logs are too large")
        return [
            Figure(name, value, None, best, meaning)
            for (name, best, meaning), value in zip(
                _PUBLISHED, (similar.value, float(edits.cost)), strict=True
            )
        ]

    def _follows(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        other = subject.follows if subject.variants is None else subject.variants
        if other is None:
            return []
        found = follows_distance(self.variants, other)
        ceiling = self.follows_ceiling if reference else None
        return [
            Figure(
                "follows_total_variation",
                found.total_variation,
                ceiling.total_variation if ceiling else None,
                "low",
                "total variation between the shares of directly-follows pairs",
            ),
            Figure(
                "follows_percentage_error",
                found.percentage_error,
                ceiling.percentage_error if ceiling else None,
                "low",
                "mean error of the directly-follows counts, relative to the true count",
            ),
        ]

    def _model(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if not model.can_discover():
            notes.append(model.MISSING)
            return []
        quality: Quality | None
        if subject.tree is not None:
            from discreet.models.pm4py import to_pm4py

            quality = model.model_of(to_pm4py(subject.tree)).quality(self.variants)
        elif subject.variants is not None and len(subject.variants):
            quality = model.discover(subject.variants).quality(self.variants)
        elif subject.variants is not None:
            notes.append("an empty release has no model: its quality counts as 0")
            quality = None
        else:
            if subject.empty:
                notes.append("no tree was released")
            return []
        own = self.own_quality if reference else None
        return [
            Figure(name, getattr(quality, name, 0.0), getattr(own, name, None), "high", meaning)
            for name, meaning in _QUALITY.items()
        ]

    def _entropy(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.variants is None:
            return []
        own = sequence_entropy(self.variants) if reference else None
        value = sequence_entropy(subject.variants)
        return [Figure("entropy", value, own, "near", "normalised sequence entropy")]

    def _size(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.variants is None or not self.variants.cases:
            return []
        value = subject.variants.cases / self.variants.cases
        meaning = "released cases over true cases (the oversampling ratio of Amun's paper)"
        return [Figure("size_ratio", value, 1.0 if reference else None, "near", meaning)]

    def _normal(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.variants is None:
            return []
        if find_spec("sklearn") is None:
            notes.append("normal_share needs scikit-learn: pip install 'discreet[evaluate]'")
            return []
        value = self.normality.share(subject.variants)
        own = self.normality.share(self.variants) if reference else None
        meaning = "share of cases that an isolation forest takes for normal"
        return [Figure("normal_share", value, own, "near", meaning)]

    def _times(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.log is None or self.log is None or not self.log.has_times:
            return []
        calendar = self._calendar(subject.log, reference) if subject.log.cases else []
        return calendar + [
            Figure(name, measure(self.log, subject.log), None, "low", meaning)
            for name, (measure, meaning) in LOG_MEASURES.items()
        ]

    def _attributes(self, subject: Subject, reference: bool, notes: list[str]) -> list[Figure]:
        if subject.log is None or self.log is None or not subject.log.cases:
            return []
        halves = self.log_halves if reference else None
        return [
            Figure(
                f"{name}({column})",
                measure(self.log, subject.log, column),
                measure(*halves, column) if halves else None,
                "low",
                text,
            )
            for column in attributes.common_columns(self.log, subject.log)
            for name, (measure, text) in attributes.MEASURES.items()
        ]

    def _calendar(self, released: EventLog, reference: bool) -> list[Figure]:
        """Figures of waits, durations, calendar and remaining times; the reference is one half of
        the log against the other."""
        return [
            Figure(
                name,
                measure(self.timed, Timed(released)),
                self.time_ceilings.get(name) if reference else None,
                "low",
                meaning,
            )
            for name, (measure, meaning) in MEASURES.items()
        ]

    @cached_property
    def timed(self) -> Timed:
        """The raw log with the arrays that measures of times share."""
        assert self.log is not None
        return Timed(self.log)

    @cached_property
    def log_halves(self) -> tuple[EventLog, EventLog] | None:
        """Two random halves of the log; None if it is too small."""
        assert self.log is not None
        if self.log.cases < 2:
            return None
        shuffled = Randomness.system().permutation(self.log.cases)
        left, right = np.array_split(shuffled, 2)
        return self.log.take_cases(np.sort(left)), self.log.take_cases(np.sort(right))

    @cached_property
    def time_ceilings(self) -> dict[str, float]:
        """Each measure of times of one random half of the log against the other."""
        if self.log_halves is None:
            return {}
        left, right = (Timed(half) for half in self.log_halves)
        return {name: measure(left, right) for name, (measure, _) in MEASURES.items()}


_PUBLISHED = (
    ("similarity_by_index", "high", "with moves from place to place free, as TraVaS's authors"),
    ("absolute_difference_as_travas", "low", "with their fine for a case without a partner"),
)

_QUALITY = {
    "fitness": "of the model mined from the release (inductive miner, 20%), replayed on the log",
    "precision": "of that model, by escaping edges as PM4Py computes them",
    "precision_complete": "the same with every enabled activity counted",
    "f_score": "harmonic mean of fitness and precision",
    "generalisation": "how often each part of the model is used",
    "simplicity": "of the net, by its arcs per node",
}
