"""Numbers read off the transcript of a release: what its noisy steps answered, step by step.

The whole transcript is covered by a mechanism's promise, so any event of it may be held against
that. A released log may hide a noisy answer; here it is seen as it was drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.privacy.transcript import Transcript

ENTRIES = 16
"""So many entries of a step's answers are looked at one by one, the rest together."""
LONGEST = 4096
"""Entries that are looked at together."""
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
    """What is looked at of one step's answers."""

    step: str
    entries: int
    direction: Floats
    """Where the answers on the two logs differ most, by trials, all answers as one vector."""
    each: Floats
    """The same for single answers, if there are several of one size."""

    @property
    def names(self) -> list[str]:
        """What the numbers are."""
        single = [f"entry {place + 1}" for place in range(self.entries)]
        return [f"{self.step}: {what}" for what in (*SUMMARY, *DIRECTIONS, *single)]

    def measure(self, transcript: Transcript) -> list[float]:
        """The numbers."""
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
    """As one vector, cut or filled up with zeros."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    fitted = np.zeros(size)
    fitted[: min(size, len(flat))] = flat[:size]
    return fitted
