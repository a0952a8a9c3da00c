"""Noisy tables: sums over cases of bounded vectors, asked in rounds that grow finer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.cases import AMOUNT, KEY, amounts
from discreet.mechanisms.blocks.contributions import Contributions, grid_of
from discreet.mechanisms.whole.distributions import NoisyRow, equal_mass, fit_rows, reach
from discreet.mechanisms.whole.grids import Grid
from discreet.mechanisms.whole.timelines import Timelines, TimelineSums
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian

# Tuned: on the logs of docs/mechanisms/whole.md, see "What was chosen on what" there.

FREQUENT = 6
"""A class gets a row of its own if this many deviations of the noise are expected in it."""


@dataclass(frozen=True, eq=False)
class CellContributions:
    """What some cases add to a table: `case[i]` adds one to `cell[i]` of `row[i]`.

    Each entry must follow from that case alone and from what is public or released already.
    Entries of row −1 are not counted.
    """

    case: Integers
    row: Integers
    cell: Integers

    def asked(self) -> CellContributions:
        """The entries that are counted."""
        kept = self.row >= 0
        return replace(self, case=self.case[kept], row=self.row[kept], cell=self.cell[kept])


def added_by(
    entries: Callable[[Timelines], tuple[Integers, Integers]], size: int, bound: int, grid: int
) -> Callable[[Timelines], pl.DataFrame]:
    """A question: the counts of each key, with each case's vector bounded by itself.

    `entries` returns a case and a key for each one that some cases add.
    """

    def question(timelines: Timelines) -> pl.DataFrame:
        case, key = entries(timelines)
        given = Contributions.of(case, key, size)
        steps = given.bounded(bound, "l2", timelines.cases, grid)
        total = np.bincount(given.key, steps, minlength=1)  # exact: whole numbers below 2⁵³
        held = np.flatnonzero(total)
        return amounts(held, total[held].astype(np.int64))

    return question


def noisy_sum(
    source: TimelineSums,
    entries: Callable[[Timelines], tuple[Integers, Integers]],
    size: int,
    bound: int,
    step: Gaussian,
    rng: Randomness,
) -> tuple[Floats, float]:
    """Spends a step: counts of each key over the cases, and the deviation of their noise.

    A case's vector of counts is scaled down until the sum of its squares is at most `bound`, by
    itself and rounded towards zero on a grid (`Contributions.bounded`). So one case more moves
    the sum by a vector of L2 norm at most √bound, and discrete Gaussian noise of variance
    bound/2ρ on every key makes it ρ-zCDP.
    """
    noise = step.noise(bound)
    grid = grid_of(noise)
    answer = source.total(added_by(entries, size, bound, grid))
    total = np.zeros(size, dtype=np.int64)
    total[answer[KEY].to_numpy()] = answer[AMOUNT].to_numpy()
    return noise.finer(grid).added(total, rng) / grid, noise.deviation


@dataclass(frozen=True)
class TableSettings:
    """How a table is asked: what follows from public constants alone."""

    least: tuple[float, ...]
    """Least deviations of the noise in a part, for each round after the first."""
    most_parts: int
    """The most parts of a row."""
    weight: float
    """Weight of the prior in the fit."""
    certain: float = 4.5
    """Deviations that are no noise: of 64 empty groups one passes in 1 of 4,500 releases."""
    steps: tuple[float, ...] = (1.5, 1.8, 2.1, 2.1)
    """Deviations above which the next 1, 2, … groups extend what a row reaches; see `reach`."""
    downwards: bool = False
    """Whether a row may begin above the first group."""
    narrowed: bool = True
    """Whether the first round narrows a row to the groups that it reaches."""
    zero_alone: bool = False
    """Whether the first cell of the grid is a part of its own."""
    even: float = 0.15
    """Share of the grid's own width where parts of equal mass are sought."""
    trust: float = 0.25
    """Relative deviation given to the total of a row that comes from released counts."""


@dataclass(frozen=True, eq=False)
class LearntTable:
    """A distribution over the cells for each row, and the noisy counts it was learnt from."""

    shares: Floats
    rows: list[NoisyRow]

    @property
    def totals(self) -> Floats:
        """The estimated sum of the counts of each row."""
        return np.array([row.total for row in self.rows])

    def parts(self, row: int) -> Integers:
        """The first cells of the finest parts of a row."""
        return self.rows[row].rounds[-1][0]


@dataclass(frozen=True, eq=False)
class PriorCounts:
    """Noisy counts of adjacent cells from a table asked before, perhaps on another scale."""

    first: int
    """The first of the cells."""
    counts: Floats
    deviation: float
    """The deviation of the noise in each count."""

    def joined(self, together: Floats, deviation: float) -> Floats:
        """Counts over all rows, in which the shares of these cells are averaged by precision."""
        place = slice(self.first, self.first + len(self.counts))
        before = np.maximum(self.counts, 1e-9 * self.deviation)
        whole, total = float(together[place].sum()), float(before.sum())
        spread, other = (deviation / whole) ** 2, (self.deviation / total) ** 2
        found = together.copy()
        share = (found[place] / whole * other + before / total * spread) / (spread + other)
        found[place] = whole * share
        return found


def learn(
    source: TimelineSums,
    contributions: Callable[[Timelines], CellContributions],
    expected: Floats,
    grid: Grid,
    settings: TableSettings,
    bound: int,
    steps: tuple[Gaussian, ...],
    rng: Randomness,
    family: Integers | None = None,
    reaching: int | None = None,
    known: PriorCounts | None = None,
) -> LearntTable:
    """Spends each step on a round, and learns a distribution for each row.

    `contributions` returns what some cases add. `expected` are the totals of the rows by what is
    released already. Rows of the same `family` are alike, by default all of them. Rows reach up
    to the cell `reaching` if it is known already, else the first round finds it. `known` are
    cells that were counted before, in another way.

    The first round counts the grid's groups. Each later one counts parts of about equal mass by
    what is known so far, as many as the noise allows. Each round is one `noisy_sum`, so it is
    ρ-zCDP with the ρ of its step, and its cells follow from the answers before it.
    """
    many = len(expected)
    family = np.zeros(many, dtype=np.int64) if family is None else family
    groups, wide = grid.group_of_cell, len(grid.groups)

    def first_round(timelines: Timelines) -> tuple[Integers, Integers]:
        asked = contributions(timelines).asked()
        return asked.case, asked.row * wide + groups[asked.cell]

    flat, deviation = noisy_sum(source, first_round, many * wide, bound, steps[0], rng)
    counts = flat.reshape(many, -1)
    rows = []
    for noisy in counts:
        low, high = 0, len(grid.groups)
        edges = np.append(grid.groups, grid.cells)
        if reaching is not None:
            high = int(np.searchsorted(edges, reaching))
        elif settings.narrowed:
            low, high = reach(
                noisy, deviation, settings.steps, settings.certain, settings.downwards
            )
        row = NoisyRow(int(edges[low]), int(edges[high]), 0.0)
        row.rounds.append((grid.groups[low:high], noisy[low:high], deviation))
        rows.append(row)
    together = np.maximum(counts.sum(axis=0), 0) + 1e-9 * deviation
    if known is not None:
        together = known.joined(together, deviation * many**0.5)
    share = grid.width / np.bincount(groups, grid.width)[groups]
    pooled = 0.97 * (together / together.sum())[groups] * share + 0.03 * grid.width
    _estimate_totals(rows, expected, settings)
    shares = _fitted(rows, pooled, family, settings)
    for step, least in zip(steps[1:], settings.least, strict=True):
        _ask_again(source, rows, shares, contributions, grid, settings, least, bound, step, rng)
        _estimate_totals(rows, expected, settings)
        shares = _fitted(rows, pooled, family, settings)
    return LearntTable(shares, rows)


def _ask_again(
    source: TimelineSums,
    rows: list[NoisyRow],
    shares: Floats,
    contributions: Callable[[Timelines], CellContributions],
    grid: Grid,
    settings: TableSettings,
    least: float,
    bound: int,
    step: Gaussian,
    rng: Randomness,
) -> None:
    """Spends a round on parts of equal mass in each row, cells beyond its reach at its edge."""
    deviation = step.noise(bound).deviation
    part_of_cell = np.empty((len(rows), grid.cells), dtype=np.int64)
    starts, size = [], 0
    for number, row in enumerate(rows):
        parts = int(np.clip(row.total / (least * deviation), 1, settings.most_parts))
        width = grid.width[row.low : row.high]
        mass = (1 - settings.even) * shares[number, row.low : row.high]
        alone = settings.zero_alone and row.low == 0 and row.high - row.low > 1
        first = equal_mass(mass + settings.even * width / width.sum(), parts, alone) + row.low
        cells = np.clip(np.arange(grid.cells), row.low, row.high - 1)
        part_of_cell[number] = size + np.searchsorted(first, cells, side="right") - 1
        starts.append(first)
        size += len(first)

    def again(timelines: Timelines) -> tuple[Integers, Integers]:
        asked = contributions(timelines).asked()
        return asked.case, part_of_cell[asked.row, asked.cell]

    noisy, deviation = noisy_sum(source, again, size, bound, step, rng)
    begin = 0
    for row, first in zip(rows, starts, strict=True):
        row.rounds.append((first, noisy[begin : begin + len(first)], deviation))
        begin += len(first)


def _estimate_totals(rows: list[NoisyRow], expected: Floats, settings: TableSettings) -> None:
    """Set each row's total: the mean of its noisy sums and of what is expected, by precision.

    Clipping takes a part away; the sum of all rows shows how large a part.
    """
    sums = np.array([[noisy.sum() for _, noisy, _ in row.rounds] for row in rows])
    variances = np.array(
        [[len(noisy) * deviation**2 for _, noisy, deviation in row.rounds] for row in rows]
    )
    weights = 1 / variances.sum(axis=0)
    whole = float((sums.sum(axis=0) * weights).sum() / weights.sum())
    kept = float(np.clip(whole / max(expected.sum(), 1e-9), 0.05, 1.5))
    for number, row in enumerate(rows):
        guess = expected[number] * kept
        precision = np.append(1 / variances[number], 1 / (settings.trust * guess + 1e-9) ** 2)
        values = np.append(sums[number], guess)
        row.total = max(1.0, float((precision * values).sum() / precision.sum()))


def _fitted(
    rows: list[NoisyRow], pooled: Floats, family: Integers, settings: TableSettings
) -> Floats:
    """Each row's distribution, fitted with all rows as its prior, then with those of its family."""
    priors = np.tile(pooled, (len(rows), 1))
    shares = fit_rows(rows, priors, settings.weight)
    if len(rows) == 1:
        return shares
    mass = shares * np.array([row.total for row in rows])[:, None]
    families = np.zeros((int(family.max()) + 1, mass.shape[1]))
    np.add.at(families, family, mass)
    alike = families / np.maximum(families.sum(axis=1, keepdims=True), 1e-300)
    return fit_rows(rows, 0.9 * alike[family] + 0.1 * priors, settings.weight)


def rows_of_frequent(counts: Floats, least: float) -> Integers:
    """The row of each class: its own with a count of `least` or more, else one for all others."""
    frequent = counts >= least
    row = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
    return np.asarray(np.unique(row, return_inverse=True)[1], dtype=np.int64)
