"""Attributes drawn anew: those of cases by the trait that they go with, and those of events."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.cells import Cells
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.declaring import Attribute
from discreet.mechanisms.whole.event_values import draw_events
from discreet.mechanisms.whole.fitting import Row, fit_rows, nearest
from discreet.mechanisms.whole.presence import FREQUENT, VALUE_MANNER
from discreet.mechanisms.whole.released import Released
from discreet.mechanisms.whole.sampling import choose_by_row
from discreet.mechanisms.whole.spending import TRAIT
from discreet.mechanisms.whole.tables import noisy_sum
from discreet.mechanisms.whole.traits import Trait, choose_trait
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Gaussian, Step

TRUST = 0.02
"""Relative deviation that the number of released cases is given."""

RAKED = 30
"""Rounds in which rows are scaled until together they have the shares of all cases."""


def draw_attribute(
    source: Source, released: Released, attribute: Attribute, codes: Integers, offsets: Integers,
    traits: list[Trait], spending: Step, rng: Randomness,
) -> pl.Series:  # fmt: skip
    """Learn an attribute and draw a value for each event of the new cases.

    An attribute of cases becomes a trait that later ones may go with.
    """
    if not attribute.of_case:
        return draw_events(source, released, attribute, codes, offsets, spending, rng)

    def held(courses: Courses) -> tuple[Integers, Integers]:
        code = courses.observed(attribute).of_cases(courses.offsets)
        return np.arange(len(code)), code

    cases = float(released.variants.cases)
    cells = Cells.learn(source, held, cases, 1, attribute, spending, rng)

    def own(courses: Courses) -> Integers:
        return cells.of(courses.observed(attribute))[held(courses)[1]]

    trait, shares = _by_trait(source, own, cells, cases, traits, spending, rng)
    drawn = choose_by_row(shares, trait.drawn, rng)
    traits.append(Trait(attribute.column, own, drawn, cells.size))
    return cells.shown(drawn, rng).gather(np.repeat(np.arange(len(drawn)), np.diff(offsets)))


def _by_trait(
    source: Source, own: Callable[[Courses], Integers], cells: Cells, cases: float,
    traits: list[Trait], spending: Step, rng: Randomness,
) -> tuple[Trait, Floats]:  # fmt: skip
    """With which trait the values of cases go, and their shares in each class of it.

    A case adds one to one cell of the table of values, moves the choice of the trait as
    `choose_trait` says, and adds one to one cell of the table of values by that trait.
    """
    attribute, many = cells.attribute, cells.size
    alone = spending.find(attribute.step("values"), Gaussian)
    table = spending.find(attribute.step("values by trait"), Gaussian)

    def values(courses: Courses) -> tuple[Integers, Integers]:
        return np.arange(courses.cases), own(courses)

    noisy, deviation = noisy_sum(source, values, many, 1, alone, rng)
    counts, precision = cells.seen()
    counts, precision = _joined(counts, precision, noisy, deviation**-2.0)
    spread = table.noise(1).deviation
    trait = choose_trait(
        source,
        [one.pooled(FREQUENT * spread) for one in traits],
        own,
        nearest(counts, precision, cases, TRUST),
        spread,
        spending.find(f"{TRAIT}{attribute.column}", Choosing),
        rng,
    )

    def by_trait(courses: Courses) -> tuple[Integers, Integers]:
        return np.arange(courses.cases), trait.raw(courses) * many + own(courses)

    flat, _ = noisy_sum(source, by_trait, trait.classes * many, 1, table, rng)
    by_class = flat.reshape(trait.classes, many)
    sums = by_class.sum(axis=0)
    counts, precision = _joined(counts, precision, sums, spread**-2.0 / trait.classes)
    whole = nearest(counts, precision, cases, TRUST)
    return trait, _rows(by_class, spread, trait.expected, whole)


def _joined(counts: Floats, precision: Floats, noisy: Floats, by: float) -> tuple[Floats, Floats]:
    """Two estimates of the same counts as one."""
    both = precision + by
    return (counts * precision + noisy * by) / both, both


def _rows(by_class: Floats, spread: float, expected: Floats, whole: Floats) -> Floats:
    """Shares in each class, drawn to those of all cases, and together just those."""
    if len(by_class) == 1:
        return whole[None, :]
    weight = np.maximum(expected, 1.0)
    first = np.arange(len(whole))
    rows = [
        Row(0, len(whole), total, [(first, noisy, spread)])
        for noisy, total in zip(by_class, weight.tolist(), strict=True)
    ]
    shares = fit_rows(rows, np.tile(whole, (len(rows), 1)), VALUE_MANNER.weight)
    weight = weight / weight.sum()
    for _ in range(RAKED):
        shares = shares * (whole / np.maximum(weight @ shares, 1e-300))
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return shares
