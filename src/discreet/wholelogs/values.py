"""Attributes learnt from noisy tables, and new values drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.events import EventLog
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Gaussian, Step
from discreet.wholelogs.attributes import Observed
from discreet.wholelogs.chains import beyond_chance, draw_chains, learn_repeats
from discreet.wholelogs.courses import Courses, Released
from discreet.wholelogs.declaring import Attribute
from discreet.wholelogs.fitting import Row, fit_rows, nearest
from discreet.wholelogs.grids import Grid
from discreet.wholelogs.naming import OTHER, Names
from discreet.wholelogs.numbers import Numbers
from discreet.wholelogs.sampling import choose_by_row, fractions
from discreet.wholelogs.spending import TRAIT
from discreet.wholelogs.tables import Hits, Known, Manner, learn, noisy_sum
from discreet.wholelogs.traits import Trait, choose_trait

VALUE_MANNER = Manner(least=(), most_parts=1, weight=3.0, narrowed=False)

FREQUENT = 6
"""A class has a row of its own if so many deviations of the noise are expected in it."""

TRUST = 0.02
"""Relative deviation that the number of released cases is given."""

RAKED = 30
"""Rounds in which rows are scaled until together they have the shares of all cases."""


@dataclass(frozen=True, eq=False)
class Cells:
    """How values are counted: named ones one by one, others together or in parts, missing ones."""

    attribute: Attribute
    names: Names
    numbers: Numbers | None

    @classmethod
    def learn(
        cls, observed: Observed, courses: Courses, released: Released, attribute: Attribute,
        spending: Step, rng: Randomness,
    ) -> Cells:  # fmt: skip
        """Names, and for numbers that are not named the parts into which they fall.

        To magnitudes and grains a case adds one: its value, or that of one of its events.
        """
        names = Names.find(observed, courses, attribute, spending, rng)
        if not attribute.numeric:
            return cls(attribute, names, None)
        one = (
            observed.of_cases(courses.offsets)
            if attribute.of_case
            else observed.of_one_event(courses.offsets, rng)
        )
        named = np.append(names.number, 0)[one] < len(names)
        amount = np.append(observed.numbers(), np.nan)[np.where(named, -1, one)]
        seen = names.counts.sum() if attribute.of_case and names.counts is not None else 0.0
        expected = max(released.variants.cases - float(seen), 1.0)
        return cls(attribute, names, Numbers.learn(amount, expected, attribute, spending, rng))

    @property
    def size(self) -> int:
        """Number of cells; the last is for missing values."""
        return len(self.names) + (1 if self.numbers is None else len(self.numbers.starts)) + 1

    def of(self, observed: Observed) -> Integers:
        """The cell of each observed value, and behind them that of a missing one."""
        found = self.names.number
        if self.numbers is not None:
            part = len(self.names) + self.numbers.parts(observed.numbers())
            found = np.where(found < len(self.names), found, part)
        return np.append(found, self.size - 1)

    def seen(self) -> tuple[Floats, Floats]:
        """Of an attribute of cases: what is known of each cell, and the precision of that."""
        counts, precision = np.zeros(self.size), np.zeros(self.size)
        many = len(self.names)
        if self.names.counts is not None:
            counts[:many], precision[:many] = self.names.counts, self.names.deviation**-2.0
        if self.numbers is not None:
            counts[many:-1], precision[many:-1] = self.numbers.mass, self.numbers.deviation**-2.0
        return counts, precision

    def known(self) -> Known | None:
        """Of an attribute of events: how numbers that are not named divide into parts."""
        if self.numbers is None:
            return None
        return Known(len(self.names), self.numbers.mass, self.numbers.deviation)

    def shown(self, cell: Integers, rng: Randomness) -> pl.Series:
        """Values of cells, under the column's name and in its declared type."""
        many, name, kind = len(self.names), self.attribute.column, self.attribute.kind
        if self.numbers is not None:
            listed = self.names.named.to_numpy().astype(np.float64)
            found = np.append(listed, np.full(self.size - many, np.nan))[cell]
            rest = np.flatnonzero((cell >= many) & (cell < self.size - 1))
            found[rest] = self.numbers.draw(cell[rest] - many, listed, rng)
            shown = pl.Series(name, found).fill_nan(None)
            return shown.round().cast(pl.Int64) if kind == "integer" else shown
        further = pl.Series([OTHER, None], dtype=pl.String)
        texts = pl.concat([self.names.named, further]).gather(cell).alias(name)
        return texts if kind == "text" else texts == "true"


def draw_attribute(
    log: EventLog, courses: Courses, released: Released, attribute: Attribute, codes: Integers,
    offsets: Integers, traits: list[Trait], spending: Step, rng: Randomness,
) -> pl.Series:  # fmt: skip
    """Learn an attribute and draw a value for each event of the new cases.

    An attribute of cases becomes a trait that later ones may go with.
    """
    observed = Observed.of(log, attribute)
    cells = Cells.learn(observed, courses, released, attribute, spending, rng)
    if not attribute.of_case:
        return _of_events(observed, cells, courses, released, codes, offsets, spending, rng)
    own = cells.of(observed)[observed.of_cases(courses.offsets)]
    trait, shares = _by_trait(own, cells, released.variants.cases, traits, spending, rng)
    drawn = choose_by_row(shares, trait.drawn, rng)
    traits.append(Trait(attribute.column, own, drawn, cells.size))
    return cells.shown(drawn, rng).gather(np.repeat(np.arange(len(drawn)), np.diff(offsets)))


def _by_trait(
    own: Integers, cells: Cells, cases: int, traits: list[Trait], spending: Step, rng: Randomness
) -> tuple[Trait, Floats]:
    """With which trait the values of cases go, and their shares in each class of it.

    A case adds one to one cell of the table of values, moves the choice of the trait as
    `choose_trait` says, and adds one to one cell of the table of values by that trait.
    """
    attribute, everyone = cells.attribute, np.arange(len(own))
    alone = spending.find(attribute.step("values"), Gaussian)
    table = spending.find(attribute.step("values by trait"), Gaussian)
    noisy, deviation = noisy_sum(everyone, own, cells.size, len(own), 1, alone, rng)
    counts, precision = cells.seen()
    counts, precision = _joined(counts, precision, noisy, deviation**-2.0)
    spread = table.noise(1).deviation
    trait = choose_trait(
        [one.pooled(FREQUENT * spread) for one in traits],
        own,
        nearest(counts, precision, float(cases), TRUST),
        spread,
        spending.find(f"{TRAIT}{attribute.column}", Choosing),
        rng,
    )
    key = trait.raw * cells.size + own
    flat, _ = noisy_sum(everyone, key, trait.classes * cells.size, len(own), 1, table, rng)
    by_class = flat.reshape(trait.classes, cells.size)
    sums = by_class.sum(axis=0)
    counts, precision = _joined(counts, precision, sums, spread**-2.0 / trait.classes)
    whole = nearest(counts, precision, float(cases), TRUST)
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


def _of_events(
    observed: Observed, cells: Cells, courses: Courses, released: Released, codes: Integers,
    offsets: Integers, spending: Step, rng: Randomness,
) -> pl.Series:  # fmt: skip
    """Values by activity, kept from event to event as often as the log does it.

    A case adds one per event to the table of values, in the row of the activity, bounded as a
    whole by what is typical of released cases; to that of repeats likewise.
    """
    attribute = cells.attribute
    step = spending.find(attribute.step("values by activity"), Gaussian)
    counts, bound = released.events_by_activity(), released.typical_events()
    frequent = counts >= FREQUENT * step.noise(bound).deviation
    row_of = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
    row_of = np.unique(row_of, return_inverse=True)[1].astype(np.int64)
    by_row = np.maximum(np.bincount(row_of, counts, minlength=1), 1.0)
    hits = Hits(
        courses.case,
        np.append(row_of, -1)[courses.codes],
        cells.of(observed)[observed.codes],
        courses.cases,
    )
    shares = learn(
        hits, by_row, np.zeros(len(by_row), dtype=np.int64), Grid.plain(cells.size), VALUE_MANNER,
        bound, (step,), rng, known=cells.known(),
    ).shares  # fmt: skip
    repeats = beyond_chance(
        learn_repeats(observed, courses, released, attribute, spending, rng),
        shares,
        released,
        row_of,
    )
    row, missing = row_of[codes], cells.size - 1
    held = np.flatnonzero(fractions(len(codes), rng) >= shares[row, missing])
    case = np.searchsorted(offsets, held, side="right") - 1
    chain, kept_from = draw_chains(shares[:, :missing], row[held], case, repeats, rng)
    cell = np.full(len(codes), missing)
    cell[held] = chain
    origin = np.arange(len(codes))
    origin[held] = held[kept_from]
    return cells.shown(cell, rng).gather(origin)
