"""Attributes learnt from noisy tables, and new values drawn from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.events import EventLog
from discreet.mechanisms.amun.sampling import choose_by_row, fractions
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step
from discreet.privacy.transcript import note, unheard
from discreet.wholelogs.attributes import MOST_VOTES, Observed
from discreet.wholelogs.courses import Courses, Released
from discreet.wholelogs.declaring import Attribute
from discreet.wholelogs.grids import Grid
from discreet.wholelogs.numbers import Numbers, learn_numbers
from discreet.wholelogs.spending import NAMES
from discreet.wholelogs.tables import Hits, Manner, learn, noisy_sum

VALUE_MANNER = Manner(least=(), most_parts=1, weight=3.0, narrowed=False)

OTHER = "(other)"
"""Stands for all values that are not named."""

MUCH_LOST = 0.2
"""The holder is warned if values that are too rare to be named have such a share of the events."""

FREQUENT = 6
"""An activity has a row of its own if so many deviations of the noise are expected in it."""


@dataclass(frozen=True, eq=False)
class Values:
    """What was learnt of an attribute: shares of named values, of others and of none, by row."""

    attribute: Attribute
    named: pl.Series
    shares: Floats
    """Columns: the named values, all others, none."""
    row_of_activity: Integers
    repeats: float
    """The probability that an event has the value of the one before it, beyond chance."""
    numbers: Numbers | None

    def draw(self, codes: Integers, offsets: Integers, rng: Randomness) -> pl.Series:
        """A value for each event, the same for all events of a case if it is the case's."""
        if self.attribute.of_case:
            row = self.row_of_activity[codes[offsets[1:] - 1]]
            return self._shown(choose_by_row(self.shares, row, rng), rng).gather(
                np.repeat(np.arange(len(row)), np.diff(offsets))
            )
        row = self.row_of_activity[codes]
        missing = len(self.named) + 1
        held = np.flatnonzero(fractions(len(codes), rng) >= self.shares[row, missing])
        case = np.searchsorted(offsets, held, side="right") - 1
        chain = _chain(self.shares[:, :missing], row[held], case, self.repeats, rng)
        cell = np.full(len(codes), missing)
        cell[held] = chain[0]
        origin = np.arange(len(codes))
        origin[held] = held[chain[1]]
        return self._shown(cell, rng).gather(origin)

    def _shown(self, cell: Integers, rng: Randomness) -> pl.Series:
        """The values of cells, under the column's name and in its declared type."""
        other, name = len(self.named), self.attribute.column
        if self.numbers is not None:
            listed = np.append(self.named.to_numpy().astype(np.float64), [np.nan, np.nan])
            found = listed[cell]
            rest = np.flatnonzero(cell == other)
            found[rest] = self.numbers.draw(len(rest), listed[:other], rng)
            shown = pl.Series(name, found).fill_nan(None)
            return shown.round().cast(pl.Int64) if self.attribute.kind == "integer" else shown
        texts = (
            pl.concat([self.named, pl.Series([OTHER, None], dtype=pl.String)])
            .gather(cell)
            .alias(name)
        )
        return texts if self.attribute.kind == "text" else texts == "true"


def _chain(
    shares: Floats, row: Integers, case: Integers, repeats: float, rng: Randomness
) -> tuple[Integers, Integers]:
    """A cell for each event by the shares of its row, and which event's value it takes over.

    With the probability `repeats` an event keeps the cell of the one before it in its case, as
    far as its own row allows: a cell of share p there and q here is kept with the probability
    min(1, q/p), and else one is drawn from what q has more than p. So shares by row stay as they
    are, and values repeat as often as that allows.
    """
    given = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    first = np.diff(case, prepend=-1) > 0
    begin = np.maximum.accumulate(np.where(first, np.arange(len(case)), 0))
    rank = np.arange(len(case)) - begin
    cell = choose_by_row(given, row, rng)
    origin = np.arange(len(case))
    later = np.flatnonzero(~first)
    pairs, pair = np.unique(row[later - 1] * len(given) + row[later], return_inverse=True)
    more = np.maximum(given[pairs % len(given)] - given[pairs // len(given)], 0)
    tried = fractions(len(later), rng) < repeats
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


def learn_attribute(
    log: EventLog,
    courses: Courses,
    released: Released,
    attribute: Attribute,
    spending: Step,
    rng: Randomness,
) -> Values:
    """Learn an attribute. A case adds, to the table of

    - names: one to its value, or 1/√k to each of k values of its events, chosen at random;
    - values: one, in the row of its last activity; or one per event in the row of the activity,
      bounded as a whole by what is typical of released cases;
    - repeats: one per event that has a value after another one that has, likewise bounded;
    - magnitudes and grains: one, if its value is a number that is not named.
    """
    observed = Observed.of(log, attribute)
    one = (
        observed.of_cases(courses.offsets)
        if attribute.of_case
        else observed.of_one_event(courses.offsets, rng)
    )
    named, number_of, seen = _names(observed, courses, attribute, spending, rng)
    other = len(named)
    cell_of = np.append(number_of, other + 1)  # missing has the code −1
    step = spending.find(attribute.step("values"), Gaussian)
    activities = len(released.variants.activities)
    counts = _rows_of_cases(released) if attribute.of_case else released.events_by_activity()
    bound = 1 if attribute.of_case else released.typical_events()
    frequent = counts >= FREQUENT * step.noise(bound).deviation
    row_of = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
    row_of = np.unique(row_of, return_inverse=True)[1].astype(np.int64)
    if attribute.of_case:
        everyone = np.arange(courses.cases)
        activity = courses.codes[courses.offsets[1:] - 1]
        hits = Hits(everyone, _row(row_of, activity), cell_of[one], courses.cases)
    else:
        hits = Hits(
            courses.case, _row(row_of, courses.codes), cell_of[observed.codes], courses.cases
        )
    by_row = np.maximum(np.bincount(row_of, counts, minlength=1), 1.0)
    shares = learn(
        hits, by_row, np.zeros(len(by_row), dtype=np.int64), Grid.plain(other + 2), VALUE_MANNER,
        bound, (step,), rng, known=seen if attribute.of_case else None,
    ).shares  # fmt: skip
    repeats = 0.0
    if not attribute.of_case:
        repeats = _repeats(observed, courses, released, attribute, spending, rng)
        repeats = _beyond_chance(repeats, shares, released, row_of)
    numbers = None
    if attribute.numeric:
        rest = np.where(cell_of[one] == other, one, -1)
        amount = np.append(observed.values.to_numpy().astype(np.float64), np.nan)[rest]
        activity = courses.codes[courses.offsets[1:] - 1]
        expected = float((by_row / by_row.sum()) @ shares[:, other]) * released.variants.cases
        numbers = learn_numbers(amount, expected, attribute, spending, rng)
    if not activities:
        row_of = np.zeros(0, dtype=np.int64)
    return Values(attribute, named, shares, row_of, repeats, numbers)


def _row(row_of: Integers, activity: Integers) -> Integers:
    """The row of an activity, −1 for one that the release lacks."""
    return np.append(row_of, -1)[activity]


def _names(
    observed: Observed, courses: Courses, attribute: Attribute, spending: Step, rng: Randomness
) -> tuple[pl.Series, Integers, tuple[Floats, float] | None]:
    """The values that are named, the number of each observed value, and noisy counts if any.

    A case gives 1/√k to each of k of its values: one if it is the case's, else up to
    `MOST_VOTES`, so a vector of length 1 at most. A value is named if its sum with noise N reaches
    T: of t values that only one case has some is named with probability at most
    t·P[N ≥ T − 1/√t] ≤ t·e^{−(T − 1/√t)²/2σ²} ≤ δ′, since the discrete Gaussian is subgaussian
    (Canonne, Kane, Steinke 2020). Counts of values that are not named are dropped.
    """
    values = observed.values
    if attribute.known:
        named = pl.Series(attribute.known, dtype=pl.String)
        place = {value: i for i, value in enumerate(attribute.known)}
        number = np.array([place.get(v, len(named)) for v in values.to_list()], dtype=np.int64)
        return named, number, None
    step = spending.find(f"{NAMES}{attribute.column}", Gaussian)
    if attribute.of_case:
        one = observed.of_cases(courses.offsets)
        owner, value = np.flatnonzero(one >= 0), one[one >= 0]
    else:
        owner, value = observed.votes(courses.offsets, rng)
    with unheard():
        noisy, deviation = noisy_sum(owner, value, len(values), courses.cases, 1, step, rng)
    shown = np.flatnonzero(noisy >= naming_threshold(step, 1 if attribute.of_case else MOST_VOTES))
    note(step.name, noisy[shown])
    number = np.full(len(values), len(shown))
    number[shown] = np.arange(len(shown))
    return values.gather(shown), number, (noisy[shown], deviation)


def naming_threshold(step: Gaussian, votes: int) -> float:
    """The least noisy sum at which a value is named, where a case has so many votes at most."""
    spread = math.sqrt(step.noise(1).size)
    many = range(1, votes + 1)
    return max(
        1 / math.sqrt(t) + spread * math.sqrt(2 * math.log(t / step.failing)) for t in many
    ) * (1 + 1e-9)


def least_named(attribute: Attribute, spending: Step | None) -> int:
    """In about how many cases a value must be to be named, 0 where names are public."""
    if attribute.known or spending is None:
        return 0
    step = spending.find(f"{NAMES}{attribute.column}", Gaussian)
    return math.ceil(naming_threshold(step, 1 if attribute.of_case else MOST_VOTES))


def rare_values(log: EventLog, attribute: Attribute, spending: Step | None) -> list[str]:
    """For the holder of the log: what becomes `(other)` if that is much. Reads the raw log."""
    least = least_named(attribute, spending)
    observed = Observed.of(log, attribute)
    held = np.flatnonzero(observed.present)
    if not least or attribute.numeric or not len(held):
        return []
    case = np.searchsorted(log.offsets, held, side="right") - 1
    wide = max(1, len(observed.values))
    cases = np.bincount(np.unique(case * wide + observed.codes[held]) % wide, minlength=wide)
    rare = cases < least
    lost = float(rare[observed.codes[held]].mean())
    if lost < MUCH_LOST:
        return []
    return [
        f"{int(rare.sum()):,} of {wide:,} values of {attribute.column} are in fewer than {least:,} "
        f"cases; they have {lost:.0%} of its events and will mostly become {OTHER}. Leave the "
        f"column out, release a coarser one, name its values if they are public "
        f"({attribute.column}=A|B|C), or raise epsilon"
    ]


def _rows_of_cases(released: Released) -> Floats:
    variants = released.variants
    last = variants.codes[variants.offsets[1:] - 1]
    return np.bincount(last, variants.counts, minlength=len(variants.activities)).astype(np.float64)


def _repeats(
    observed: Observed,
    courses: Courses,
    released: Released,
    attribute: Attribute,
    spending: Step,
    rng: Randomness,
) -> float:
    """How often an event has the value of the one before that has any."""
    held = np.flatnonzero(observed.present)
    same_case = courses.case[held[1:]] == courses.case[held[:-1]]
    second, first = held[1:][same_case], held[:-1][same_case]
    cell = (observed.codes[first] == observed.codes[second]).astype(np.int64)
    variants = released.variants
    lengths = np.maximum(variants.lengths - 1, 1) ** 1.5
    bound = max(1, round(released.weighted_quantile(lengths, 0.5))) if len(variants) else 1
    step = spending.find(attribute.step("repeats"), Gaussian)
    counts, _ = noisy_sum(courses.case[second], cell, 2, courses.cases, bound, step, rng)
    total = float(np.maximum(counts, 0).sum())
    return float(np.clip(counts[1] / total, 0, 1)) if total > 0 else 0.0


def _beyond_chance(same: float, shares: Floats, released: Released, row_of: Integers) -> float:
    """How often a value must be kept so that, with chance, values repeat that often."""
    if not len(released.keys):
        return 0.0
    given = shares[:, :-1] / np.maximum(shares[:, :-1].sum(axis=1, keepdims=True), 1e-300)
    first = given[row_of[released.keys // len(released.variants.activities)]]
    second = given[row_of[released.targets]]
    weight = released.counts / released.counts.sum()
    by_chance = float(weight @ (first[:, :-1] * second[:, :-1]).sum(axis=1))
    at_most = float(weight @ np.minimum(first, second).sum(axis=1))
    return float(np.clip((same - by_chance) / max(at_most - by_chance, 1e-9), 0, 1))
