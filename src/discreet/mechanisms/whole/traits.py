"""What an attribute of a case may go with: its course, its duration, attributes before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.cases import AMOUNT, KEY, amounts
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing

CLASSES = 4
"""Lengths and durations are told apart in so many classes of about equal size."""

PRESENCES = 10
"""So many activities are candidates by being in a case or not: those that divide cases best."""

GRAIN = 1 << 20
"""Shares are whole multiples of 1/GRAIN where candidates are scored."""

NOISE_COST = 0.8
"""Of a cell that is counted with Gaussian noise: its mean absolute deviation, √(2/π)."""


@dataclass(frozen=True, eq=False)
class Trait:
    """A class of every case of the log and of every case that is released.

    The class of a case of the log follows from that case alone, from what is public and from what
    is released already.
    """

    name: str
    raw: Callable[[Courses], Integers]
    drawn: Integers
    classes: int

    def pooled(self, least: float) -> Trait:
        """Classes of fewer released cases than `least` become one, or part of the largest."""
        counts = np.bincount(self.drawn, minlength=self.classes)
        frequent = counts >= least
        rest = int(frequent.sum())
        row = np.where(frequent, np.cumsum(frequent) - 1, rest)
        if rest and counts[~frequent].sum() < least:
            row = np.where(frequent, row, row[np.argmax(counts)])
        raw = self.raw
        return Trait(
            self.name,
            lambda courses: row[raw(courses)],
            row[self.drawn],
            int(row.max(initial=0)) + 1,
        )

    @property
    def expected(self) -> Floats:
        """How many cases each class has in the release."""
        return np.bincount(self.drawn, minlength=self.classes).astype(np.float64)


def traits(codes: Integers, offsets: Integers, times: Integers) -> list[Trait]:
    """All candidates that follow from activities and times; the first says nothing."""
    size = int(codes.max(initial=-1)) + 1
    found = [Trait("nothing", _nothing, np.zeros_like(offsets[1:]), 1)]
    if not size:
        return found
    last, first = codes[offsets[1:] - 1], codes[offsets[:-1]]
    found += [
        Trait("last activity", partial(_last, size), last, size + 1),
        Trait("first activity", partial(_first, size), first, size + 1),
        _by_quantile("number of events", _length, np.diff(offsets)),
        _by_quantile("duration", _duration, times[offsets[1:] - 1] - times[offsets[:-1]]),
    ]
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    cases = np.bincount(np.unique(owner * size + codes) % size, minlength=size)
    balance = np.abs(cases / (len(offsets) - 1) - 0.5)
    for activity in np.argsort(balance, kind="stable")[:PRESENCES].tolist():
        drawn = _present(codes, offsets, activity)
        found.append(Trait("presence", partial(_has, activity), drawn, 2))
    return found


def _nothing(courses: Courses) -> Integers:
    return np.zeros(courses.cases, dtype=np.int64)


def _last(size: int, courses: Courses) -> Integers:
    return _known(courses.codes[courses.offsets[1:] - 1], size)


def _first(size: int, courses: Courses) -> Integers:
    return _known(courses.codes[courses.offsets[:-1]], size)


def _known(codes: Integers, size: int) -> Integers:
    """The activities that the release has, and one class for all others."""
    return np.where((codes >= 0) & (codes < size), codes, size)


def _length(courses: Courses) -> Integers:
    return courses.lengths


def _duration(courses: Courses) -> Integers:
    begin, end = courses.offsets[:-1], courses.offsets[1:] - 1
    return courses.instants[end] - courses.instants[begin]


def _has(activity: int, courses: Courses) -> Integers:
    return _present(courses.codes, courses.offsets, activity)


def _present(codes: Integers, offsets: Integers, activity: int) -> Integers:
    """Which cases have an activity, as 0 and 1."""
    if len(offsets) == 1:
        return np.zeros(0, dtype=np.int64)
    return np.logical_or.reduceat(codes == activity, offsets[:-1]).astype(np.int64)


def _by_quantile(name: str, raw: Callable[[Courses], Integers], drawn: Integers) -> Trait:
    """Classes of about equal size in the release."""
    inner = np.arange(1, CLASSES) / CLASSES
    cuts = np.unique(np.quantile(drawn, inner, method="lower")) if len(drawn) else drawn[:0]
    cuts = cuts[cuts < drawn.max(initial=0)]

    def placed(courses: Courses) -> Integers:
        return np.searchsorted(cuts, raw(courses)).astype(np.int64)

    return Trait(name, placed, np.searchsorted(cuts, drawn).astype(np.int64), len(cuts) + 1)


def choose_trait(
    source: Source, candidates: list[Trait], cell: Callable[[Courses], Integers], shares: Floats,
    deviation: float, step: Choosing, rng: Randomness,
) -> Trait:  # fmt: skip
    """The trait with which the values of cases vary most, beyond what its table would cost.

    With M(x, v) the cases of class x that have the value v, and released shares p whose sum is
    one, a candidate's score is Σ |M(x, v) − M(x, ·)·p(v)| over all x and v, less what the noise of
    its table would add. A case adds one to M(x, v) and to M(x, ·) of one class, so it moves the
    score by at most |1 − p(v)| + Σ p(w) over the other w ≤ 2. Scores are computed in whole
    multiples of 1/`GRAIN`; the cost of noise follows from released numbers. Candidates may move
    apart, so the exponential mechanism with sensitivity 2 is not monotone: ε-DP, ε²/8-zCDP.
    """
    share = np.floor(shares / max(shares.sum(), 1e-300) * GRAIN).astype(np.int64)
    share[np.argmax(share)] += GRAIN - int(share.sum())
    many = len(share)
    begin = np.cumsum([0, *(trait.classes * many for trait in candidates)])

    def tables(courses: Courses) -> pl.DataFrame:
        own, raw = cell(courses), [trait.raw(courses) for trait in candidates]
        keys = [start + x * many + own for start, x in zip(begin, raw, strict=False)]
        key, counts = np.unique(np.concatenate(keys), return_counts=True)
        return amounts(key, counts)

    answer = source.total(tables)
    flat = np.zeros(begin[-1], dtype=np.int64)
    flat[answer[KEY].to_numpy()] = answer[AMOUNT].to_numpy()
    scores = []
    for trait, start in zip(candidates, begin, strict=False):
        table = flat[start : start + trait.classes * many].reshape(trait.classes, many)
        apart = np.abs(table * GRAIN - table.sum(axis=1, keepdims=True) * share)
        cells = (trait.classes - 1) * len(share)
        scores.append(int(apart.sum()) - round(NOISE_COST * deviation * cells * GRAIN))
    return candidates[step.choose(scores, 2 * GRAIN, monotone=False, rng=rng)]
