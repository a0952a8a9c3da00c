"""The cells in which the values of an attribute are counted.

Values that enough cases have are named, and have a cell each. Numbers that are not named fall
into parts of a public grid of magnitudes. The last cell is for missing values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.cases import AMOUNT, KEY, Cases, Sums, amounts
from discreet.mechanisms.blocks.contributions import grid_of
from discreet.mechanisms.whole.allocation import NAMES
from discreet.mechanisms.whole.declared_attributes import (
    MOST_VOTES,
    DeclaredAttribute,
    ObservedValues,
)
from discreet.mechanisms.whole.distributions import choose, choose_by_row, fractions
from discreet.mechanisms.whole.grids import Grid
from discreet.mechanisms.whole.noisy_tables import (
    CellContributions,
    PriorCounts,
    TableSettings,
    added_by,
    learn,
)
from discreet.mechanisms.whole.timelines import Timelines, TimelineSums
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step
from discreet.privacy.transcript import note, unheard

OTHER = "(other)"
"""What is released in place of values that are not named."""

# Proof: questions may depend on these because they are public, the same for every log.

PER_DECADE = 24
"""Number of cells of magnitudes in each decade."""

SMALLEST, DECADES = 1e-3, 15
"""Magnitudes from .001 to 10¹²; smaller numbers count as zero, larger ones as the largest."""

GRAINS = np.array([100_000, 50_000, 10_000, 5_000, 1_000, 500, 100, 50, 10, 5, 1], dtype=np.int64)
"""Hundredths of which numbers may be multiples, from 1000 down to .01; the last cell is finer."""

_EDGES = SMALLEST * 10.0 ** (np.arange(DECADES * PER_DECADE + 1) / PER_DECADE)
_SIDE = len(_EDGES) - 1
"""Number of cells of negative numbers, and of positive ones; also the cell of zero."""

# Tuned: on sample logs with invented columns, see "What was chosen on what" in
# docs/mechanisms/whole.md. Of TRIES and MUCH_LOST no measurement is noted.

NUMBER_SETTINGS = TableSettings(
    least=(4.0,), most_parts=60, weight=3.0, downwards=True, steps=(1.5, 1.8, 2.1), even=0.2,
)  # fmt: skip
GRAIN_SETTINGS = TableSettings(least=(), most_parts=1, weight=3.0, narrowed=False)

TRIES = 4
"""Number of times a drawn number that is a named one is drawn again."""

MUCH_LOST = 0.2
"""Share of the events with values too rare to be named from which the holder is warned."""


@dataclass(frozen=True, eq=False)
class Names:
    """The values that are named, and their noisy counts unless they are public."""

    named: pl.Series
    """The values in order."""
    counts: Floats | None
    deviation: float
    """The deviation of the noise in each count."""

    def __len__(self) -> int:
        return len(self.named)

    def numbers(self, values: pl.Series) -> Integers:
        """The place of each value among the named ones, or their number if it is not named."""
        if not len(self):
            return np.zeros(len(values), dtype=np.int64)
        place = self.named.search_sorted(values).to_numpy().astype(np.int64)
        held = self.named.gather(np.minimum(place, len(self) - 1)) == values
        return np.where(held.to_numpy(), place, len(self))

    @classmethod
    def find(
        cls, source: TimelineSums, attribute: DeclaredAttribute, spending: Step, rng: Randomness
    ) -> Names:
        """The public values, or else (spends a step) those whose noisy count reaches a threshold.

        A case gives 1/√k to each of k of its values: one if it is the case's, else up to
        `MOST_VOTES`, so a vector of length 1 at most. A value is named if its sum with noise N
        reaches T: of t values that only one case has some is named with probability at most
        t·P[N ≥ T − 1/√t] ≤ t·e^{−(T − 1/√t)²/2σ²} ≤ δ′, since the discrete Gaussian is subgaussian
        (Canonne, Kane, Steinke 2020). Counts of values that are not named are dropped.
        """
        if attribute.known:
            return cls(pl.Series(attribute.known, dtype=pl.String), None, 0.0)
        step = spending.find(f"{NAMES}{attribute.column}", Gaussian)
        noise = step.noise(1)
        grid = grid_of(noise)
        key = 0 if attribute.of_case else rng.bits(63)
        votes = source.total(votes_for(attribute, key, grid))
        with unheard():
            noisy = noise.finer(grid).added(votes[AMOUNT].to_numpy(), rng) / grid
        least = naming_threshold(step, 1 if attribute.of_case else MOST_VOTES)
        shown = np.flatnonzero(noisy >= least)
        note(step.name, noisy[shown])
        return cls(votes[KEY].gather(shown), noisy[shown], noise.deviation)


def votes_for(
    attribute: DeclaredAttribute, key: int, grid: int
) -> Callable[[Timelines], pl.DataFrame]:
    """A question: the votes of the cases for each value, in whole multiples of 1/grid."""

    def question(timelines: Timelines) -> pl.DataFrame:
        observed = timelines.observed(attribute)
        if attribute.of_case:
            one = observed.of_cases(timelines.offsets)
            owner, value = np.flatnonzero(one >= 0), one[one >= 0]
        else:
            owner, value = observed.votes(timelines.offsets, timelines.instants, key)
        many = max(1, len(observed.values))
        by_code = added_by(lambda _: (owner, value), many, 1, grid)(timelines)
        return by_code.with_columns(observed.values.gather(by_code[KEY]).alias(KEY))

    return question


def naming_threshold(step: Gaussian, votes: int) -> float:
    """The least noisy sum at which a value is named, where a case has at most `votes` votes."""
    spread = math.sqrt(step.noise(1).size)
    many = range(1, votes + 1)
    return max(
        1 / math.sqrt(t) + spread * math.sqrt(2 * math.log(t / step.failing)) for t in many
    ) * (1 + 1e-9)


def least_named(attribute: DeclaredAttribute, spending: Step | None) -> int:
    """The number of cases, about, that a value needs to be named; 0 where names are public."""
    if attribute.known or spending is None:
        return 0
    step = spending.find(f"{NAMES}{attribute.column}", Gaussian)
    return math.ceil(naming_threshold(step, 1 if attribute.of_case else MOST_VOTES))


def rare_values(sums: Sums, attribute: DeclaredAttribute, spending: Step | None) -> list[str]:
    """A warning to the log's holder if much becomes `(other)`. Reads the raw log, unpaid."""
    least = least_named(attribute, spending)
    if not least or attribute.numeric:
        return []
    events, cases = (sums.total(partial(_holders, attribute, one)) for one in (False, True))
    held = events[AMOUNT].to_numpy()
    rare = cases[AMOUNT].to_numpy() < least
    lost = float(held[rare].sum() / max(1, held.sum()))
    if lost < MUCH_LOST:
        return []
    return [
        f"{int(rare.sum()):,} of {len(rare):,} values of {attribute.column} are in fewer than "
        f"{least:,} cases; they have {lost:.0%} of its events and will mostly become {OTHER}. "
        f"Leave the column out, release a coarser one, name its values if they are public "
        f"({attribute.column}=A|B|C), or raise epsilon"
    ]


def _holders(attribute: DeclaredAttribute, by_case: bool, cases: Cases) -> pl.DataFrame:
    """The number of events, or of cases, with each value."""
    observed = ObservedValues.of(cases.column(attribute.column), attribute)
    held = np.flatnonzero(observed.present)
    wide = max(1, len(observed.values))
    keys = observed.codes[held]
    if by_case:
        case = np.searchsorted(cases.offsets, held, side="right") - 1
        keys = np.unique(case * wide + keys) % wide
    value, many = np.unique(keys, return_counts=True)
    return amounts(observed.values.gather(value), many)


def magnitude_grid() -> Grid:
    """Cells of negative numbers, zero and positive numbers, half a decade to a group."""
    half = PER_DECADE // 2
    groups = np.concatenate(
        [np.arange(0, _SIDE, half), [_SIDE], np.arange(_SIDE + 1, 2 * _SIDE + 1, half)]
    )
    width = np.full(2 * _SIDE + 1, 1.0)
    return Grid(groups, width / width.sum())


def magnitude_cells(numbers: Floats) -> Integers:
    """The cell of each number."""
    step = np.searchsorted(_EDGES, np.abs(numbers), side="right") - 1
    step = np.minimum(step, _SIDE - 1)
    cells = np.where(numbers < 0, _SIDE - 1 - step, _SIDE + 1 + step)
    return np.asarray(np.where(step < 0, _SIDE, cells), dtype=np.int64)


def grain_cells(numbers: Floats) -> Integers:
    """The cell of the largest grain that divides each number, cut to the largest of the grid."""
    hundredths = np.minimum(np.abs(numbers), _EDGES[-1]) * 100
    whole = np.abs(hundredths - np.round(hundredths)) < 1e-6
    near = np.round(hundredths).astype(np.int64)
    multiple = (near[:, None] % GRAINS == 0) & whole[:, None]
    return np.where(multiple.any(axis=1), multiple.argmax(axis=1), len(GRAINS))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers that are not named, in parts of about equal mass, and the grains of all of them."""

    starts: Integers
    """The first cells of the parts."""
    mass: Floats
    """The estimated number of cases in each part, or of events if the attribute is theirs."""
    deviation: float
    """The deviation of the noise in each mass."""
    within: Floats
    """The shares of the cells of each part."""
    grains: Floats
    """The share of each grain."""

    @classmethod
    def learn(
        cls, source: TimelineSums, numbers: Callable[[Timelines], tuple[Integers, Floats]],
        expected: float, bound: int, attribute: DeclaredAttribute, spending: Step, rng: Randomness,
    ) -> Numbers:  # fmt: skip
        """Spends on magnitudes in two rounds and on grains.

        To each table a case adds one for each of its numbers, bounded in L2 as a whole.
        """

        def by(cells: Callable[[Floats], Integers]) -> Callable[[Timelines], CellContributions]:
            def contributions(timelines: Timelines) -> CellContributions:
                case, number = numbers(timelines)
                return CellContributions(case, np.zeros_like(case), cells(number))

            return contributions

        total = np.array([max(expected, 1.0)])

        def steps(*names: str) -> tuple[Gaussian, ...]:
            return tuple(spending.find(attribute.step(name), Gaussian) for name in names)

        learnt = learn(
            source, by(magnitude_cells), total, magnitude_grid(), NUMBER_SETTINGS, bound,
            steps("magnitudes, coarse", "magnitudes, fine"), rng,
        )  # fmt: skip
        grains = learn(
            source, by(grain_cells), total, Grid.plain(len(GRAINS) + 1), GRAIN_SETTINGS, bound,
            steps("grains"), rng,
        ).shares[0]  # fmt: skip
        starts, _, deviation = learnt.rows[0].rounds[-1]
        shares = learnt.shares[0]
        part = np.maximum(np.searchsorted(starts, np.arange(len(shares)), side="right") - 1, 0)
        within = np.zeros((len(starts), len(shares)))
        within[part, np.arange(len(shares))] = shares
        mass = within.sum(axis=1)
        return cls(starts, mass * learnt.rows[0].total, deviation, within, grains)

    def parts(self, numbers: Floats) -> Integers:
        """The part of each number; those beyond the ends belong to the first or last part."""
        cell = magnitude_cells(numbers)
        return np.maximum(np.searchsorted(self.starts, cell, side="right") - 1, 0)

    def draw(self, part: Integers, named: Floats, rng: Randomness) -> Floats:
        """A number in each part, drawn again where it is a named one, which has its own cell."""
        found = self._tried(part, rng)
        for _ in range(TRIES):
            again = np.flatnonzero(np.isin(found, named))
            if not len(again):
                break
            found[again] = self._tried(part[again], rng)
        return found

    def _tried(self, part: Integers, rng: Randomness) -> Floats:
        many = len(part)
        cell = choose_by_row(self.within, part, rng)
        step = np.where(cell > _SIDE, cell - _SIDE - 1, _SIDE - 1 - cell)
        step = np.clip(step, 0, _SIDE - 1)
        low, high = _EDGES[step], _EDGES[step + 1]
        size = low * (high / low) ** fractions(many, rng)
        grain = np.append(GRAINS / 100, 0.0)[choose(self.grains, many, rng)]
        grain = np.where(grain > size, 0.01, grain)
        rounded = np.where(grain > 0, np.round(size / np.maximum(grain, 1e-9)) * grain, size)
        rounded = np.where(grain > 0, np.round(rounded, 2), rounded)
        return np.where(cell == _SIDE, 0.0, np.where(cell < _SIDE, -rounded, rounded))


@dataclass(frozen=True, eq=False)
class ValueCells:
    """The cells of an attribute: named values, others together or in parts, missing ones."""

    attribute: DeclaredAttribute
    names: Names
    numbers: Numbers | None

    @classmethod
    def learn(
        cls, source: TimelineSums, held: Callable[[Timelines], tuple[Integers, Integers]],
        expected: float, bound: int, attribute: DeclaredAttribute, spending: Step, rng: Randomness,
    ) -> ValueCells:  # fmt: skip
        """Spends on names, and on the parts of numbers that are not named.

        `held` returns cases and the codes of their values, −1 for none; about `expected` in all.
        To magnitudes and grains a case adds one for each, bounded as a whole by `bound`.
        """
        names = Names.find(source, attribute, spending, rng)
        if not attribute.numeric:
            return cls(attribute, names, None)

        def unnamed(timelines: Timelines) -> tuple[Integers, Floats]:
            observed, (case, code) = timelines.observed(attribute), held(timelines)
            rest = np.append(names.numbers(observed.values) == len(names), False)[code]
            return case[rest], observed.numbers()[code[rest]]

        seen = names.counts.sum() if attribute.of_case and names.counts is not None else 0.0
        numbers = Numbers.learn(
            source, unnamed, expected - float(seen), bound, attribute, spending, rng
        )
        return cls(attribute, names, numbers)

    @property
    def size(self) -> int:
        """Number of cells; the last is for missing values."""
        return len(self.names) + (1 if self.numbers is None else len(self.numbers.starts)) + 1

    def of(self, observed: ObservedValues) -> Integers:
        """The cell of each observed value, followed by that of a missing one."""
        found = self.names.numbers(observed.values)
        if self.numbers is not None:
            part = len(self.names) + self.numbers.parts(observed.numbers())
            found = np.where(found < len(self.names), found, part)
        return np.append(found, self.size - 1)

    def seen(self) -> tuple[Floats, Floats]:
        """Noisy counts of the cells of an attribute of cases, and the precision of each."""
        counts, precision = np.zeros(self.size), np.zeros(self.size)
        many = len(self.names)
        if self.names.counts is not None:
            counts[:many], precision[:many] = self.names.counts, self.names.deviation**-2.0
        if self.numbers is not None:
            counts[many:-1], precision[many:-1] = self.numbers.mass, self.numbers.deviation**-2.0
        return counts, precision

    def known(self) -> PriorCounts | None:
        """How the numbers of an attribute of events that are not named divide into parts."""
        if self.numbers is None:
            return None
        return PriorCounts(len(self.names), self.numbers.mass, self.numbers.deviation)

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
