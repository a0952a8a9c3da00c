"""Attributes of events: learnt by activity, and drawn so that values stay from event to event."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.cells import Cells
from discreet.mechanisms.whole.chains import beyond_chance, draw_chains
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.declaring import Attribute
from discreet.mechanisms.whole.grids import Grid
from discreet.mechanisms.whole.presence import (
    FREQUENT,
    NEGLIGIBLE,
    VALUE_MANNER,
    Presence,
    rows_of_frequent,
)
from discreet.mechanisms.whole.released import Released
from discreet.mechanisms.whole.sampling import even_fractions, in_parts
from discreet.mechanisms.whole.tables import Hits, Learnt, learn
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step


def draw_events(
    source: Source, released: Released, attribute: Attribute, codes: Integers, offsets: Integers,
    spending: Step, rng: Randomness,
) -> pl.Series:  # fmt: skip
    """Learn an attribute of events and draw a value for each event of the new cases.

    First it is learnt with which activities there are values at all. Of these a case adds one
    per value to each further table, bounded as a whole by what is then typical of released cases.
    """
    presence = Presence.learn(source, released, attribute, spending, rng)
    expected = released.events_by_activity() * presence.given
    bound = released.typical_events(presence.given)
    some = np.append(expected > 0, False)

    def asked(courses: Courses) -> Integers:
        return np.flatnonzero(some[courses.codes] & courses.observed(attribute).present)

    def held(courses: Courses) -> tuple[Integers, Integers]:
        events = asked(courses)
        return courses.case[events], courses.observed(attribute).codes[events]

    cells = Cells.learn(source, held, float(expected.sum()), bound, attribute, spending, rng)
    step = spending.find(attribute.step("values by activity"), Gaussian)
    row_of = rows_of_frequent(expected, FREQUENT * step.noise(bound).deviation)
    by_row = np.maximum(np.bincount(row_of, expected, minlength=1), 1.0)

    def hits(courses: Courses) -> Hits:
        case, code = held(courses)
        row = row_of[courses.codes[asked(courses)]]
        return Hits(case, row, cells.of(courses.observed(attribute))[code])

    learnt = learn(
        source, hits, by_row, np.zeros(len(by_row), dtype=np.int64), Grid.plain(cells.size - 1),
        VALUE_MANNER, bound, (step,), rng, known=cells.known(),
    )  # fmt: skip
    shares = clear_values_alone(learnt)
    same = _of_rows(presence.same, expected, row_of)
    repeats = beyond_chance(same, shares, released, row_of)

    def drawn(codes: Integers, offsets: Integers) -> pl.Series:
        given = np.flatnonzero(even_fractions(codes, rng) < presence.given[codes])
        case = np.searchsorted(offsets, given, side="right") - 1
        chain, kept_from = draw_chains(shares, row_of[codes[given]], case, repeats, rng)
        cell = np.full(len(codes), cells.size - 1)
        cell[given] = chain
        origin = np.arange(len(codes))
        origin[given] = given[kept_from]
        return cells.shown(cell, rng).gather(origin)

    found = [drawn(codes[start:end], part) for start, end, part in in_parts(offsets)]
    return pl.concat(found) if found else drawn(codes, offsets)


def _of_rows(share: Floats, weight: Floats, row_of: Integers) -> Floats:
    """Means of shares of activities in each row."""
    both = np.bincount(row_of, share * weight), np.bincount(row_of, weight)
    return np.asarray(both[0] / np.maximum(both[1], 1e-300))


def clear_values_alone(learnt: Learnt) -> Floats:
    """Shares in each row; where a row has few values only, none of the others.

    Many values go with some activities alone. A row has only the values that stand out of the
    noise if the others have together so little that it may be noise, and less than they have in
    all rows.
    """
    shares = learnt.shares.copy()
    pooled = learnt.totals @ shares / learnt.totals.sum()
    for row, own in zip(learnt.rows, shares, strict=True):
        _, noisy, deviation = row.rounds[-1]
        clear = noisy > NEGLIGIBLE * deviation
        left = float(noisy[~clear].sum())
        least = NEGLIGIBLE * deviation * float((~clear).sum()) ** 0.5
        if clear.any() and left < least and left + least < row.total * pooled[~clear].sum():
            own[:] = np.where(clear, noisy, 0.0) / noisy[clear].sum()
    return shares
