"""By activity: how often an event has an attribute, and that of the event before it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.attributes import Observed
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.declaring import Attribute
from discreet.mechanisms.whole.grids import Grid
from discreet.mechanisms.whole.released import Released
from discreet.mechanisms.whole.tables import Hits, Manner, learn
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step

VALUE_MANNER = Manner(least=(), most_parts=1, weight=3.0, narrowed=False)

FREQUENT = 6
"""A class has a row of its own if so many deviations of the noise are expected in it."""

NEGLIGIBLE = 2
"""Fewer events than so many deviations of the noise are taken for none."""

SOME = 3
"""So many deviations are exceeded by noise in the three kinds of values in 1 of 100 rows."""

MISSING, FIRST, OTHER, SAME = range(4)
"""No value, the first of the case, another than before, or the same as before."""

EVEN_DEVIATION = 12**-0.5
"""Of a share that may be anything from 0 to 1."""


def rows_of_frequent(counts: Floats, least: float) -> Integers:
    """A row for each activity that has so many events, and one for all others."""
    frequent = counts >= least
    row = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
    return np.asarray(np.unique(row, return_inverse=True)[1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Presence:
    """Of each released activity: which share of its events has a value, and repeats one."""

    given: Floats
    same: Floats
    """Of values that have one before them."""

    @classmethod
    def learn(
        cls, source: Source, released: Released, attribute: Attribute, spending: Step,
        rng: Randomness,
    ) -> Presence:  # fmt: skip
        """A case adds one per event, in the row of its activity, bounded by a typical case.

        Most attributes are always there with an activity, or never: shares that cannot be told
        from none or all are taken for that.
        """
        step = spending.find(attribute.step("presence and repeats by activity"), Gaussian)
        counts, bound = released.events_by_activity(), released.typical_events()
        deviation = step.noise(bound).deviation
        row_of = rows_of_frequent(counts, FREQUENT * deviation)
        by_row = np.maximum(np.bincount(row_of, counts, minlength=1), 1.0)

        def hits(courses: Courses) -> Hits:
            row = np.append(row_of, -1)[courses.codes]
            return Hits(courses.case, row, _kinds(courses.observed(attribute), courses))

        learnt = learn(
            source, hits, by_row, np.zeros(len(by_row), dtype=np.int64), Grid.plain(4),
            VALUE_MANNER, bound, (step,), rng,
        )  # fmt: skip
        noisy = np.stack([row.rounds[-1][1] for row in learnt.rows])
        events = learnt.shares * learnt.totals[:, None]
        return cls(
            share_given(noisy / deviation, learnt.shares)[row_of], _same(events, deviation)[row_of]
        )


def share_given(seen: Floats, shares: Floats) -> Floats:
    """Each row's share of events with a value; none or all where that explains the counts."""
    missing = np.maximum(seen[:, MISSING], 0)
    some = np.sqrt((np.maximum(seen[:, FIRST:], 0) ** 2).sum(axis=1))
    found = 1 - shares[:, MISSING]
    found = np.where((some < SOME) & (some < missing), 0.0, found)
    return np.asarray(np.where((missing < NEGLIGIBLE) & (missing <= some), 1.0, found))


def _same(events: Floats, deviation: float) -> Floats:
    """Each row's share of repeats, drawn to that of all rows by precision."""
    second = np.maximum(events[:, OTHER] + events[:, SAME], 1e-9)
    own, whole = events[:, SAME] / second, float(events[:, SAME].sum() / second.sum())
    precision, prior = (second / deviation) ** 2, EVEN_DEVIATION**-2
    return np.asarray((own * precision + whole * prior) / (precision + prior))


def _kinds(observed: Observed, courses: Courses) -> Integers:
    """Of each event: whether it has a value, and how that is to the last one of its case."""
    held = np.flatnonzero(observed.present)
    found = np.full(len(observed.codes), MISSING)
    found[held] = FIRST
    second = np.flatnonzero(courses.case[held[1:]] == courses.case[held[:-1]]) + 1
    kept = observed.codes[held[second]] == observed.codes[held[second - 1]]
    found[held[second]] = np.where(kept, SAME, OTHER)
    return found
