"""What a distinguisher looks at: numbers read off releases and off what their noisy steps answered.

A mechanism's promise covers the whole transcript of its answers, so any event of it may be held
against that. A released log may hide a noisy answer; here it is seen as it was drawn.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.log.events import TIME, EventLog
from discreet.log.neighbours import Pair, Trace, arrow
from discreet.log.variants import Variants
from discreet.privacy.transcript import Transcript
from discreet.releases import Artefact, Document

# Tuned
MOST = 60
"""Most features of each sort."""
ENTRIES = 16
"""Entries of a step's answers that are features of their own; the rest is summed up."""
LONGEST = 4096
"""Most entries of a step's answers that are summed up along a direction."""


@dataclass(frozen=True)
class Features:
    """Named numbers of an artefact, measured on many artefacts at once."""

    names: list[str]
    measure: Callable[[Sequence[Any]], Floats]


def learn_features(pair: Pair, examples: Sequence[Artefact | None]) -> Features:
    """Choose what to look at, from what the attacker knows and from a few trial releases.

    None is a refused release: an error tells about the log like any other outcome.
    """
    drawn = [example for example in examples if example is not None]
    of_kind = _learner(drawn[0])(pair, drawn)

    def measure(artefacts: Sequence[Artefact | None]) -> Floats:
        refused = np.array([artefact is None for artefact in artefacts])
        result = np.zeros((len(artefacts), len(of_kind.names) + 1))
        result[refused, -1] = 1
        if not refused.all():
            present = [artefact for artefact in artefacts if artefact is not None]
            result[~refused, :-1] = of_kind.measure(present)
        return result

    return Features([*of_kind.names, "refusals"], measure)


def _learner(example: Artefact) -> Callable[[Pair, Sequence[Any]], Features]:
    if isinstance(example, Variants):
        return _variant_features
    if isinstance(example, EventLog):
        return _log_features
    if isinstance(example, Document):
        return _document_features
    raise TypeError(f"an audit cannot read a {type(example).__name__}")


def shown_name(trace: Trace) -> str:
    """The name of the feature that counts a variant's cases."""
    return f"cases of {arrow(trace)}"


def _variant_features(pair: Pair, examples: Sequence[Any]) -> Features:
    """Counts of variants, prefixes, activities and pairs: all linear in the released counts."""
    released = Counter(trace for example in examples for trace, _ in example)
    known = [trace for log in reversed(pair.logs) for trace, _ in log.variants]
    own = [case.trace for case in (pair.added, pair.removed) if case is not None]
    traces = list(dict.fromkeys([*own, *known, *(t for t, _ in released.most_common(MOST))]))
    traces = traces[: 2 * MOST]
    prefixes = _first(trace[:n] for trace in own for n in range(1, len(trace)))
    labels = _first(chain.from_iterable([*own, *traces]))
    follows = _first(step for trace in [*own, *traces] for step in pairwise(trace))
    names = [
        *map(shown_name, traces),
        *(f"cases that begin with {arrow(prefix)}" for prefix in prefixes),
        *(f"cases with {label}" for label in labels),
        *(f"steps {a} → {b}" for a, b in follows),
        "cases",
        "events",
        "variants",
        "longest case",
    ]
    at_trace = {trace: place for place, trace in enumerate(traces)}
    label_sets = [(place, label) for place, label in enumerate(labels, len(traces) + len(prefixes))]
    at_step = {
        step: place for place, step in enumerate(follows, len(traces) + len(prefixes) + len(labels))
    }
    linear = len(names) - 2

    def row(trace: Trace) -> Floats:
        values = np.zeros(linear)
        if trace in at_trace:
            values[at_trace[trace]] = 1
        for place, prefix in enumerate(prefixes, len(traces)):
            values[place] = trace[: len(prefix)] == prefix
        present = set(trace)
        for place, label in label_sets:
            values[place] = label in present
        for step in pairwise(trace):
            if step in at_step:
                values[at_step[step]] += 1
        values[-2:] = 1, len(trace)
        return values

    frames: dict[tuple[tuple[str, ...], bytes, bytes], tuple[Floats, int]] = {}
    rows: dict[Trace, Floats] = {}

    def frame(variants: Variants) -> tuple[Floats, int]:
        key = variants.activities, variants.codes.tobytes(), variants.offsets.tobytes()
        if key not in frames:
            if len(frames) > 20_000:
                frames.clear()
            stacked = np.zeros((len(variants), linear))
            for place, (trace, _) in enumerate(variants):
                if trace not in rows:
                    if len(rows) > 50_000:
                        rows.clear()
                    rows[trace] = row(trace)
                stacked[place] = rows[trace]
            longest = int(variants.lengths.max()) if len(variants) else 0
            frames[key] = stacked, longest
        return frames[key]

    def measure(artefacts: Sequence[Variants]) -> Floats:
        result = np.empty((len(artefacts), len(names)))
        for place, variants in enumerate(artefacts):
            matrix, longest = frame(variants)
            result[place, :linear] = variants.counts @ matrix
            result[place, linear:] = len(variants), longest
        return result

    return Features(names, measure)


def _log_features(pair: Pair, examples: Sequence[Any]) -> Features:
    """The features of the log's variants, and times: of the whole, of cases, of steps."""
    control = _variant_features(pair, [example.variants for example in examples])
    spans = ("shortest", "median", "longest")
    words = ("duration of a case", "time between two events")
    times = ["first event", "last event", *(f"{s} {w}" for w in words for s in spans)]

    def clock(log: EventLog) -> list[float]:
        if not log.has_times or not log.events:
            return [0.0] * len(times)
        moments = log.frame[TIME].dt.epoch("us").to_numpy().astype(np.float64)
        begins, ends = log.offsets[:-1], log.offsets[1:] - 1
        gaps = np.delete(np.diff(moments), ends[:-1]) if log.events > log.cases else np.zeros(1)
        figures = [moments.min(), moments.max()]
        for values in (moments[ends] - moments[begins], gaps):
            figures += [values.min(), float(np.median(values)), values.max()]
        return [float(figure) for figure in figures]

    def measure(artefacts: Sequence[EventLog]) -> Floats:
        flow = control.measure([log.variants for log in artefacts])
        return np.hstack([flow, np.array([clock(log) for log in artefacts])])

    return Features([*control.names, *times], measure)


def _document_features(pair: Pair, examples: Sequence[Any]) -> Features:
    """The numbers of a document by their place in it, how often each word occurs, and the whole."""
    suffixes = examples[0].suffixes
    suffix = ".json" if ".json" in suffixes else suffixes[0]

    def read(document: Document) -> tuple[str, dict[str, float]]:
        text = document.render(suffix)
        found: dict[str, float] = {}
        if suffix == ".json":
            for name, value in _leaves(json.loads(text)):
                found[name] = found.get(name, 0.0) + value
        else:
            words = Counter(re.findall(r"\w+|[^\w\s]", text))
            found = {f"word {word}": float(count) for word, count in words.items()}
        return text, found

    sample = [read(example) for example in examples]
    seen = Counter(name for _, found in sample for name in found)
    names = [name for name, _ in seen.most_common(4 * MOST)]
    wholes = [text for text, _ in Counter(text for text, _ in sample).most_common(MOST // 3)]

    def measure(artefacts: Sequence[Document]) -> Floats:
        result = np.empty((len(artefacts), len(names) + len(wholes)))
        for place, document in enumerate(artefacts):
            text, found = read(document)
            result[place] = [
                *(found.get(name, 0.0) for name in names),
                *(text == whole for whole in wholes),
            ]
        return result

    titles = [f"the whole is {text if len(text) < 80 else text[:77] + '…'}" for text in wholes]
    return Features([*names, *titles], measure)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Numbers by path; texts by path and value, counted; records of a list by their texts."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(entry, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        yield f"{path} entries", float(len(value))
        for entry in value:
            fields = entry.values() if isinstance(entry, dict) else entry
            flat = isinstance(entry, dict | list) and not any(
                isinstance(field, dict | list) for field in fields
            )
            texts = [field for field in fields if isinstance(field, str)] if flat else []
            yield from _leaves(entry, f"{path} {' '.join(texts)}" if texts else path)
    elif isinstance(value, bool | str) or value is None:
        yield f"{path} is {value}", 1.0
    else:
        yield path, float(value)


def _first(items: Iterable[Any]) -> list[Any]:
    """The first few distinct items."""
    return list(dict.fromkeys(items))[:MOST]


SUMMARY = (
    "number of answers",
    "number of entries",
    "total",
    "sum of squares",
    "largest entry",
    "smallest entry",
    "entries that are 0",
    "answers that are all 0",
)
DIRECTIONS = (
    "along the difference",
    "least answer along the difference",
    "largest answer along the difference",
)


@dataclass(frozen=True)
class StepFeatures:
    """Features of one step's answers."""

    step: str
    entries: int
    direction: Floats
    """The direction in which the answers of the two logs differ most in trials, as one vector."""
    each: Floats
    """The same for single answers of one size."""

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        single = [f"entry {place + 1}" for place in range(self.entries)]
        return [f"{self.step}: {what}" for what in (*SUMMARY, *DIRECTIONS, *single)]

    def measure(self, transcript: Transcript) -> list[float]:
        """The features of a transcript."""
        answers = transcript.get(self.step, [])
        if not answers:
            return [0.0] * (len(SUMMARY) + len(DIRECTIONS) + self.entries)
        flat = _flat(transcript, self.step)
        first = np.zeros(self.entries)
        first[: min(self.entries, len(flat))] = flat[: self.entries]
        along = _fitted(flat, len(self.direction)) @ self.direction
        single = [_fitted(answer, len(self.each)) @ self.each for answer in answers]
        return [
            float(len(answers)),
            float(len(flat)),
            float(flat.sum()),
            float(flat @ flat),
            float(flat.max(initial=0.0)),
            float(flat.min(initial=0.0)),
            float((flat == 0).sum()),
            float(sum(not answer.any() for answer in answers)),
            *(round(float(value), 6) for value in (along, min(single), max(single))),
            *first.tolist(),
        ]


def learn_answers(
    left: Sequence[Transcript], right: Sequence[Transcript], only: str | None = None
) -> tuple[list[StepFeatures], Callable[[Sequence[Transcript]], Floats]]:
    """Choose what to look at, from trial releases of either log that count for nothing else."""
    names = dict.fromkeys(name for one in (*left, *right) for name in one)
    steps = [_learn(name, left, right) for name in names if only in (None, name)]

    def measure(transcripts: Sequence[Transcript]) -> Floats:
        rows = [[v for step in steps for v in step.measure(one)] for one in transcripts]
        return np.array(rows, dtype=np.float64).reshape(len(transcripts), -1)

    return steps, measure


def _learn(name: str, left: Sequence[Transcript], right: Sequence[Transcript]) -> StepFeatures:
    size = max(len(_flat(one, name)) for one in (*left, *right))
    first = max(answer.size for one in (*left, *right) for answer in one.get(name, []))
    first = min(max(first, 1), LONGEST)
    whole = [
        np.array([_fitted(_flat(one, name), min(size, LONGEST)) for one in side])
        for side in (left, right)
    ]
    single = [
        np.array([_fitted(answer, first) for one in side for answer in one.get(name, [])]).reshape(
            -1, first
        )
        for side in (left, right)
    ]
    return StepFeatures(name, min(size, ENTRIES), _direction(*whole), _direction(*single))


def _direction(left: Floats, right: Floats) -> Floats:
    """Differences of the means over variances: where entries are independent, the best weights."""
    if not left.size or not right.size:
        return np.ones(left.shape[1])
    difference = right.mean(axis=0) - left.mean(axis=0)
    variance = left.var(axis=0) + right.var(axis=0)
    found: Floats = difference / (variance + 0.01 * variance.mean() + 1e-9)
    size = float(np.abs(found).max(initial=0.0))
    return found / size if size else np.ones_like(found)


def _flat(transcript: Transcript, name: str) -> Floats:
    answers = transcript.get(name, [])
    if not answers:
        return np.zeros(0)
    return np.concatenate([np.asarray(a, dtype=np.float64).ravel() for a in answers])


def _fitted(values: npt.ArrayLike, size: int) -> Floats:
    """The values as one vector of a size, cut or filled up with zeros."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    fitted = np.zeros(size)
    fitted[: min(size, len(flat))] = flat[:size]
    return fitted
