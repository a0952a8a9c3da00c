"""Traits of cases that an attribute may go with: activities, durations, earlier attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.cases import AMOUNT, KEY, amounts
from discreet.mechanisms.whole.timelines import Timelines, TimelineSums
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing

# Proof

GRAIN = 1 << 20
"""Shares are whole multiples of 1/GRAIN where candidates are scored, so that scores are exact."""

# Tuned: on the logs of docs/mechanisms/whole.md, see "What was chosen on what" there.

CLASSES = 4
"""Number of classes of about equal size for lengths and durations."""

PRESENCES = 10
"""Number of activities whose presence is a candidate: those that divide cases most evenly."""

NOISE_COST = 0.8
"""Mean absolute deviation of Gaussian noise, in standard deviations: √(2/π)."""


@dataclass(frozen=True, eq=False)
class Trait:
    """A class for every case of the log and for every released case.

    The class of a case of the log follows from that case alone, from what is public and from what
    is released already.
    """

    name: str
    raw: Callable[[Timelines], Integers]
    """Returns the class of some cases of the log."""
    drawn: Integers
    """The class of each released case."""
    classes: int
    """Number of classes."""

    def pooled(self, least: float) -> Trait:
        """The trait with classes below `least` released cases joined, or part of the largest."""
        counts = np.bincount(self.drawn, minlength=self.classes)
        frequent = counts >= least
        rest = int(frequent.sum())
        row = np.where(frequent, np.cumsum(frequent) - 1, rest)
        if rest and counts[~frequent].sum() < least:
            row = np.where(frequent, row, row[np.argmax(counts)])
        raw = self.raw
        return Trait(
            self.name,
            lambda timelines: row[raw(timelines)],
            row[self.drawn],
            int(row.max(initial=0)) + 1,
        )

    @property
    def expected(self) -> Floats:
        """The number of released cases in each class."""
        return np.bincount(self.drawn, minlength=self.classes).astype(np.float64)


def traits(codes: Integers, offsets: Integers, times: Integers) -> list[Trait]:
    """All traits that follow from activities and times; the first is the same for all cases."""
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


def _nothing(timelines: Timelines) -> Integers:
    return np.zeros(timelines.cases, dtype=np.int64)


def _last(size: int, timelines: Timelines) -> Integers:
    return _known(timelines.codes[timelines.offsets[1:] - 1], size)


def _first(size: int, timelines: Timelines) -> Integers:
    return _known(timelines.codes[timelines.offsets[:-1]], size)


def _known(codes: Integers, size: int) -> Integers:
    """The released activities as classes, and one more class for all others."""
    return np.where((codes >= 0) & (codes < size), codes, size)


def _length(timelines: Timelines) -> Integers:
    return timelines.lengths


def _duration(timelines: Timelines) -> Integers:
    begin, end = timelines.offsets[:-1], timelines.offsets[1:] - 1
    return timelines.instants[end] - timelines.instants[begin]


def _has(activity: int, timelines: Timelines) -> Integers:
    return _present(timelines.codes, timelines.offsets, activity)


def _present(codes: Integers, offsets: Integers, activity: int) -> Integers:
    """1 for each case with the activity, else 0."""
    if len(offsets) == 1:
        return np.zeros(0, dtype=np.int64)
    return np.logical_or.reduceat(codes == activity, offsets[:-1]).astype(np.int64)


def _by_quantile(name: str, raw: Callable[[Timelines], Integers], drawn: Integers) -> Trait:
    """A trait whose classes have about equal sizes in the release."""
    inner = np.arange(1, CLASSES) / CLASSES
    cuts = np.unique(np.quantile(drawn, inner, method="lower")) if len(drawn) else drawn[:0]
    cuts = cuts[cuts < drawn.max(initial=0)]

    def placed(timelines: Timelines) -> Integers:
        return np.searchsorted(cuts, raw(timelines)).astype(np.int64)

    return Trait(name, placed, np.searchsorted(cuts, drawn).astype(np.int64), len(cuts) + 1)


def choose_trait(
    source: TimelineSums, candidates: list[Trait], cell: Callable[[Timelines], Integers],
    shares: Floats, deviation: float, step: Choosing, rng: Randomness,
) -> Trait:  # fmt: skip
    """Spends a step: the trait with which values vary most, beyond what its table would cost.

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

    def tables(timelines: Timelines) -> pl.DataFrame:
        own, raw = cell(timelines), [trait.raw(timelines) for trait in candidates]
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
