"""Values of attributes: learnt from noisy tables, and drawn for the events of new cases.

An attribute of cases goes with a trait of the case. One of events goes with the activity, and its
values repeat from one event of a case to the next as often as in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.allocation import TRAIT
from discreet.mechanisms.whole.declared_attributes import DeclaredAttribute, ObservedValues
from discreet.mechanisms.whole.distributions import (
    NoisyRow,
    choose_by_row,
    even_fractions,
    fit_rows,
    fractions,
    in_parts,
    nearest,
)
from discreet.mechanisms.whole.grids import Grid
from discreet.mechanisms.whole.noisy_tables import (
    FREQUENT,
    CellContributions,
    LearntTable,
    TableSettings,
    learn,
    noisy_sum,
    rows_of_frequent,
)
from discreet.mechanisms.whole.released_variants import ReleasedVariants
from discreet.mechanisms.whole.timelines import Timelines, TimelineSums
from discreet.mechanisms.whole.traits import Trait, choose_trait
from discreet.mechanisms.whole.value_cells import ValueCells
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Gaussian, Step

MISSING, FIRST, OTHER, SAME = range(4)
"""Kinds of values: none, the first of the case, another than before, the same as before."""

# Tuned: on the logs of docs/mechanisms/whole.md, see "What was chosen on what" there.

VALUE_SETTINGS = TableSettings(least=(), most_parts=1, weight=3.0, narrowed=False)

TRUST = 0.02
"""Relative deviation given to the number of released cases."""

RAKED = 30
"""Rounds of scaling rows until together they have the shares of all cases."""

NEGLIGIBLE = 2
"""Deviations of the noise below which a number of events counts as none."""

SOME = 3
"""Threshold in noise deviations for the three kinds of values; noise passes it in 1% of rows."""

EVEN_DEVIATION = 12**-0.5
"""Standard deviation of a share that is uniform between 0 and 1."""


def draw_attribute(
    source: TimelineSums, released: ReleasedVariants, attribute: DeclaredAttribute,
    codes: Integers, offsets: Integers, traits: list[Trait], spending: Step, rng: Randomness,
) -> pl.Series:  # fmt: skip
    """Spends: learns an attribute and draws a value for each event of the new cases.

    An attribute of cases becomes a trait that later ones may go with.
    """
    if not attribute.of_case:
        return draw_events(source, released, attribute, codes, offsets, spending, rng)

    def held(timelines: Timelines) -> tuple[Integers, Integers]:
        code = timelines.observed(attribute).of_cases(timelines.offsets)
        return np.arange(len(code)), code

    cases = float(released.variants.cases)
    cells = ValueCells.learn(source, held, cases, 1, attribute, spending, rng)

    def own(timelines: Timelines) -> Integers:
        return cells.of(timelines.observed(attribute))[held(timelines)[1]]

    trait, shares = _by_trait(source, own, cells, cases, traits, spending, rng)
    drawn = choose_by_row(shares, trait.drawn, rng)
    traits.append(Trait(attribute.column, own, drawn, cells.size))
    return cells.shown(drawn, rng).gather(np.repeat(np.arange(len(drawn)), np.diff(offsets)))


def _by_trait(
    source: TimelineSums, own: Callable[[Timelines], Integers], cells: ValueCells, cases: float,
    traits: list[Trait], spending: Step, rng: Randomness,
) -> tuple[Trait, Floats]:  # fmt: skip
    """Spends: the trait that the values of cases go with, and their shares in each of its classes.

    A case adds one to one cell of the table of values, moves the choice of the trait as
    `choose_trait` says, and adds one to one cell of the table of values by that trait.
    """
    attribute, many = cells.attribute, cells.size
    alone = spending.find(attribute.step("values"), Gaussian)
    table = spending.find(attribute.step("values by trait"), Gaussian)

    def values(timelines: Timelines) -> tuple[Integers, Integers]:
        return np.arange(timelines.cases), own(timelines)

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

    def by_trait(timelines: Timelines) -> tuple[Integers, Integers]:
        return np.arange(timelines.cases), trait.raw(timelines) * many + own(timelines)

    flat, _ = noisy_sum(source, by_trait, trait.classes * many, 1, table, rng)
    by_class = flat.reshape(trait.classes, many)
    sums = by_class.sum(axis=0)
    counts, precision = _joined(counts, precision, sums, spread**-2.0 / trait.classes)
    whole = nearest(counts, precision, cases, TRUST)
    return trait, _rows(by_class, spread, trait.expected, whole)


def _joined(counts: Floats, precision: Floats, noisy: Floats, by: float) -> tuple[Floats, Floats]:
    """Two estimates of the same counts as one, with its precision."""
    both = precision + by
    return (counts * precision + noisy * by) / both, both


def _rows(by_class: Floats, spread: float, expected: Floats, whole: Floats) -> Floats:
    """Shares in each class, fitted with those of all cases as their prior and adding up to them."""
    if len(by_class) == 1:
        return whole[None, :]
    weight = np.maximum(expected, 1.0)
    first = np.arange(len(whole))
    rows = [
        NoisyRow(0, len(whole), total, [(first, noisy, spread)])
        for noisy, total in zip(by_class, weight.tolist(), strict=True)
    ]
    shares = fit_rows(rows, np.tile(whole, (len(rows), 1)), VALUE_SETTINGS.weight)
    weight = weight / weight.sum()
    for _ in range(RAKED):
        shares = shares * (whole / np.maximum(weight @ shares, 1e-300))
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    return shares


def draw_events(
    source: TimelineSums, released: ReleasedVariants, attribute: DeclaredAttribute,
    codes: Integers, offsets: Integers, spending: Step, rng: Randomness,
) -> pl.Series:  # fmt: skip
    """Spends: learns an attribute of events and draws a value for each event of the new cases.

    The first table says which activities have values at all. To each further table a case adds
    one per value of these activities, bounded as a whole by what is typical of released cases.
    """
    presence = Presence.learn(source, released, attribute, spending, rng)
    expected = released.events_by_activity() * presence.given
    bound = released.typical_events(presence.given)
    some = np.append(expected > 0, False)

    def asked(timelines: Timelines) -> Integers:
        return np.flatnonzero(some[timelines.codes] & timelines.observed(attribute).present)

    def held(timelines: Timelines) -> tuple[Integers, Integers]:
        events = asked(timelines)
        return timelines.case[events], timelines.observed(attribute).codes[events]

    cells = ValueCells.learn(source, held, float(expected.sum()), bound, attribute, spending, rng)
    step = spending.find(attribute.step("values by activity"), Gaussian)
    row_of = rows_of_frequent(expected, FREQUENT * step.noise(bound).deviation)
    by_row = np.maximum(np.bincount(row_of, expected, minlength=1), 1.0)

    def contributions(timelines: Timelines) -> CellContributions:
        case, code = held(timelines)
        row = row_of[timelines.codes[asked(timelines)]]
        return CellContributions(case, row, cells.of(timelines.observed(attribute))[code])

    learnt = learn(
        source, contributions, by_row, Grid.plain(cells.size - 1), VALUE_SETTINGS, bound, (step,),
        rng, known=cells.known(),
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
    """The weighted mean of the activities' shares in each row."""
    both = np.bincount(row_of, share * weight), np.bincount(row_of, weight)
    return np.asarray(both[0] / np.maximum(both[1], 1e-300))


def clear_values_alone(learnt: LearntTable) -> Floats:
    """Shares in each row, and none but of its clear values in a row that has few.

    Many values go with some activities alone. A row keeps only the values that stand out of the
    noise if the others together have no more than noise may be, and less than in all rows.
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


@dataclass(frozen=True, eq=False)
class Presence:
    """How often events of each released activity have a value, and repeat one."""

    given: Floats
    """The share of each activity's events that have a value."""
    same: Floats
    """The share of repeats in its values that have one before them in their case."""

    @classmethod
    def learn(
        cls, source: TimelineSums, released: ReleasedVariants, attribute: DeclaredAttribute,
        spending: Step, rng: Randomness,
    ) -> Presence:  # fmt: skip
        """Spends a step: a case adds one per event, in its activity's row, bounded as a whole.

        Most attributes are always there with an activity, or never, so shares that the noise
        does not tell from none or all count as none or all.
        """
        step = spending.find(attribute.step("presence and repeats by activity"), Gaussian)
        counts, bound = released.events_by_activity(), released.typical_events()
        deviation = step.noise(bound).deviation
        row_of = rows_of_frequent(counts, FREQUENT * deviation)
        by_row = np.maximum(np.bincount(row_of, counts, minlength=1), 1.0)

        def contributions(timelines: Timelines) -> CellContributions:
            row = np.append(row_of, -1)[timelines.codes]
            return CellContributions(
                timelines.case, row, _kinds(timelines.observed(attribute), timelines)
            )

        learnt = learn(
            source, contributions, by_row, Grid.plain(4), VALUE_SETTINGS, bound, (step,), rng
        )
        noisy = np.stack([row.rounds[-1][1] for row in learnt.rows])
        events = learnt.shares * learnt.totals[:, None]
        return cls(
            share_given(noisy / deviation, learnt.shares)[row_of], _same(events, deviation)[row_of]
        )


def share_given(seen: Floats, shares: Floats) -> Floats:
    """The share of events with a value in each row: none or all where that explains the counts."""
    missing = np.maximum(seen[:, MISSING], 0)
    some = np.sqrt((np.maximum(seen[:, FIRST:], 0) ** 2).sum(axis=1))
    found = 1 - shares[:, MISSING]
    found = np.where((some < SOME) & (some < missing), 0.0, found)
    return np.asarray(np.where((missing < NEGLIGIBLE) & (missing <= some), 1.0, found))


def _same(events: Floats, deviation: float) -> Floats:
    """The share of repeats in each row, averaged with that of all rows by precision."""
    second = np.maximum(events[:, OTHER] + events[:, SAME], 1e-9)
    own, whole = events[:, SAME] / second, float(events[:, SAME].sum() / second.sum())
    precision, prior = (second / deviation) ** 2, EVEN_DEVIATION**-2
    return np.asarray((own * precision + whole * prior) / (precision + prior))


def _kinds(observed: ObservedValues, timelines: Timelines) -> Integers:
    """The kind of each event's value: none, the first of its case, another, or the same."""
    held = np.flatnonzero(observed.present)
    found = np.full(len(observed.codes), MISSING)
    found[held] = FIRST
    second = np.flatnonzero(timelines.case[held[1:]] == timelines.case[held[:-1]]) + 1
    kept = observed.codes[held[second]] == observed.codes[held[second - 1]]
    found[held[second]] = np.where(kept, SAME, OTHER)
    return found


def draw_chains(
    given: Floats, row: Integers, case: Integers, repeats: Floats, rng: Randomness
) -> tuple[Integers, Integers]:
    """A cell for each event by the shares of its row, and the event whose value it repeats.

    With the probability `repeats` of its row an event keeps the cell of the one before it in its
    case, as far as its own row allows: a cell of share p there and q here is kept with the
    probability min(1, q/p), and else one is drawn from the excess of q over p. So shares by row
    stay as they are, and values repeat as often as that allows.
    """
    first = np.diff(case, prepend=-1) > 0
    begin = np.maximum.accumulate(np.where(first, np.arange(len(case)), 0))
    rank = np.arange(len(case)) - begin
    cell = choose_by_row(given, row, rng)
    origin = np.arange(len(case))
    later = np.flatnonzero(~first)
    pairs, pair = np.unique(row[later - 1] * len(given) + row[later], return_inverse=True)
    more = np.maximum(given[pairs % len(given)] - given[pairs // len(given)], 0)
    tried = fractions(len(later), rng) < repeats[row[later]]
    later, pair = later[tried], pair[tried]
    order = np.argsort(rank[later], kind="stable")
    later, pair = later[order], pair[order]
    bounds = np.searchsorted(rank[later], np.arange(1, int(rank.max(initial=0)) + 2))
    for begins, ends in pairwise(bounds.tolist()):
        here, of_pair = later[begins:ends], pair[begins:ends]
        kept = cell[here - 1]
        chance = given[row[here], kept] / np.maximum(given[row[here - 1], kept], 1e-300)
        keeps = fractions(len(here), rng) < chance
        cell[here] = np.where(keeps, kept, choose_by_row(more, of_pair, rng))
        origin[here] = np.where(keeps, origin[here - 1], here)
    return cell, origin


def beyond_chance(
    same: Floats, shares: Floats, released: ReleasedVariants, row_of: Integers
) -> Floats:
    """The probability of keeping a value in each row at which values repeat as often as in `same`.

    `same` is the share of each row's values that are those of the event before. Some of them
    repeat by chance.
    """
    many = len(shares)
    if not len(released.relations):
        return np.zeros(many)
    first = shares[row_of[released.sources]]
    here = row_of[released.targets]
    second = shares[here]
    weight = np.maximum(np.bincount(here, released.counts, many), 1e-300)

    def on_average(of_relation: Floats) -> Floats:
        return np.asarray(np.bincount(here, released.counts * of_relation, many) / weight)

    by_chance = on_average((first[:, :-1] * second[:, :-1]).sum(axis=1))
    at_most = on_average(np.minimum(first, second).sum(axis=1))
    return np.clip((same - by_chance) / np.maximum(at_most - by_chance, 1e-9), 0, 1)
