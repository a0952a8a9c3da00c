"""Noisy tables: sums over cases of bounded vectors, asked in rounds that grow finer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.cases import AMOUNT, KEY, amounts
from discreet.mechanisms.blocks.contributions import Contributions, grid_of
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.fitting import Row, equal_mass, fit_rows, reach
from discreet.mechanisms.whole.grids import Grid
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian


@dataclass(frozen=True, eq=False)
class Hits:
    """What some cases add to a table: `case[i]` one to `cell[i]` of `row[i]`.

    Each must follow from that case alone and from what is public or released already. Entries
    of row −1 are not asked for.
    """

    case: Integers
    row: Integers
    cell: Integers

    def asked(self) -> Hits:
        """Without what is not asked for."""
        kept = self.row >= 0
        return replace(self, case=self.case[kept], row=self.row[kept], cell=self.cell[kept])


def added_by(
    entries: Callable[[Courses], tuple[Integers, Integers]], size: int, bound: int, grid: int
) -> Callable[[Courses], pl.DataFrame]:
    """A question: the counts of each key, each case's vector bounded by itself.

    `entries` has cases and keys, each to be counted once, among some cases.
    """

    def question(courses: Courses) -> pl.DataFrame:
        case, key = entries(courses)
        given = Contributions.of(case, key, size)
        steps = given.bounded(bound, "l2", courses.cases, grid)
        total = np.bincount(given.key, steps, minlength=1)  # exact: whole numbers below 2⁵³
        held = np.flatnonzero(total)
        return amounts(held, total[held].astype(np.int64))

    return question


def noisy_sum(
    source: Source,
    entries: Callable[[Courses], tuple[Integers, Integers]],
    size: int,
    bound: int,
    step: Gaussian,
    rng: Randomness,
) -> tuple[Floats, float]:
    """Counts of each key over the cases, and the deviation of their noise.

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
class Manner:
    """How a table is asked: what follows from public constants alone."""

    least: tuple[float, ...]
    """Of the rounds after the first: a part shall hold so many deviations of the noise."""
    most_parts: int
    weight: float
    """Of the prior in the fit."""
    certain: float = 4.5
    """So many deviations are no noise: of 64 empty groups one passes in 1 of 4,500 releases."""
    steps: tuple[float, ...] = (1.5, 1.8, 2.1, 2.1)
    downwards: bool = False
    narrowed: bool = True
    zero_alone: bool = False
    even: float = 0.15
    """Share of the grid's own width where parts of equal mass are sought."""
    trust: float = 0.25
    """Relative deviation that a row's total is given where it comes from released counts."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """Distributions over the cells, one in each row, and what they were learnt from."""

    shares: Floats
    rows: list[Row]

    @property
    def totals(self) -> Floats:
        """The estimated number of hits of each row."""
        return np.array([row.total for row in self.rows])

    def parts(self, row: int) -> Integers:
        """The first cells of the finest parts of a row."""
        return self.rows[row].rounds[-1][0]


@dataclass(frozen=True, eq=False)
class Known:
    """Counts of some cells next to each other, on another scale, with noise of their own."""

    first: int
    counts: Floats
    deviation: float

    def joined(self, together: Floats, deviation: float) -> Floats:
        """Counts over all rows, these cells' shares of their sum joined by precision."""
        place = slice(self.first, self.first + len(self.counts))
        before = np.maximum(self.counts, 1e-9 * self.deviation)
        whole, total = float(together[place].sum()), float(before.sum())
        spread, other = (deviation / whole) ** 2, (self.deviation / total) ** 2
        found = together.copy()
        share = (found[place] / whole * other + before / total * spread) / (spread + other)
        found[place] = whole * share
        return found


def learn(
    source: Source,
    hits: Callable[[Courses], Hits],
    expected: Floats,
    family: Integers,
    grid: Grid,
    manner: Manner,
    bound: int,
    steps: tuple[Gaussian, ...],
    rng: Randomness,
    reaching: int | None = None,
    known: Known | None = None,
) -> Learnt:
    """Learn a distribution for each row, in as many rounds as there are steps.

    `hits` says what some cases add. `expected` are the totals of the rows by what is released
    already, `family` numbers rows that are alike. Where it is known already which cell the rows
    reach up to, `reaching` says so; else the first round tells. `known` are cells that were
    counted before, in another way.

    The first round counts the grid's groups; each later one parts of about equal mass by what is
    known so far, as many as the noise allows. Each round is one `noisy_sum`, so it is ρ-zCDP with
    the ρ of its step, and its cells follow from the answers before it.
    """
    many = len(expected)
    groups, wide = grid.group_of_cell, len(grid.groups)

    def first_round(courses: Courses) -> tuple[Integers, Integers]:
        asked = hits(courses).asked()
        return asked.case, asked.row * wide + groups[asked.cell]

    flat, deviation = noisy_sum(source, first_round, many * wide, bound, steps[0], rng)
    counts = flat.reshape(many, -1)
    rows = []
    for noisy in counts:
        low, high = 0, len(grid.groups)
        edges = np.append(grid.groups, grid.cells)
        if reaching is not None:
            high = int(np.searchsorted(edges, reaching))
        elif manner.narrowed:
            low, high = reach(noisy, deviation, manner.steps, manner.certain, manner.downwards)
        row = Row(int(edges[low]), int(edges[high]), 0.0)
        row.rounds.append((grid.groups[low:high], noisy[low:high], deviation))
        rows.append(row)
    together = np.maximum(counts.sum(axis=0), 0) + 1e-9 * deviation
    if known is not None:
        together = known.joined(together, deviation * many**0.5)
    share = grid.width / np.bincount(groups, grid.width)[groups]
    pooled = 0.97 * (together / together.sum())[groups] * share + 0.03 * grid.width
    _estimate_totals(rows, expected, manner)
    shares = _fitted(rows, pooled, family, manner)
    for step, least in zip(steps[1:], manner.least, strict=True):
        _ask_again(source, rows, shares, hits, grid, manner, least, bound, step, rng)
        _estimate_totals(rows, expected, manner)
        shares = _fitted(rows, pooled, family, manner)
    return Learnt(shares, rows)


def _ask_again(
    source: Source,
    rows: list[Row],
    shares: Floats,
    hits: Callable[[Courses], Hits],
    grid: Grid,
    manner: Manner,
    least: float,
    bound: int,
    step: Gaussian,
    rng: Randomness,
) -> None:
    """A further round: in each row parts of equal mass, cells beyond its reach at its edge."""
    deviation = step.noise(bound).deviation
    part_of_cell = np.empty((len(rows), grid.cells), dtype=np.int64)
    starts, size = [], 0
    for number, row in enumerate(rows):
        parts = int(np.clip(row.total / (least * deviation), 1, manner.most_parts))
        width = grid.width[row.low : row.high]
        mass = (1 - manner.even) * shares[number, row.low : row.high]
        alone = manner.zero_alone and row.low == 0 and row.high - row.low > 1
        first = equal_mass(mass + manner.even * width / width.sum(), parts, alone) + row.low
        cells = np.clip(np.arange(grid.cells), row.low, row.high - 1)
        part_of_cell[number] = size + np.searchsorted(first, cells, side="right") - 1
        starts.append(first)
        size += len(first)

    def again(courses: Courses) -> tuple[Integers, Integers]:
        asked = hits(courses).asked()
        return asked.case, part_of_cell[asked.row, asked.cell]

    noisy, deviation = noisy_sum(source, again, size, bound, step, rng)
    begin = 0
    for row, first in zip(rows, starts, strict=True):
        row.rounds.append((first, noisy[begin : begin + len(first)], deviation))
        begin += len(first)


def _estimate_totals(rows: list[Row], expected: Floats, manner: Manner) -> None:
    """Each row's total: the mean of its noisy sums and of what is expected, by precision.

    Clipping takes a part away; what part is seen in the sum of all rows.
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
        precision = np.append(1 / variances[number], 1 / (manner.trust * guess + 1e-9) ** 2)
        values = np.append(sums[number], guess)
        row.total = max(1.0, float((precision * values).sum() / precision.sum()))


def _fitted(rows: list[Row], pooled: Floats, family: Integers, manner: Manner) -> Floats:
    """Fit each row, first drawn to all rows together, then to those of its family."""
    priors = np.tile(pooled, (len(rows), 1))
    shares = fit_rows(rows, priors, manner.weight)
    if len(rows) == 1:
        return shares
    mass = shares * np.array([row.total for row in rows])[:, None]
    families = np.zeros((int(family.max()) + 1, mass.shape[1]))
    np.add.at(families, family, mass)
    alike = families / np.maximum(families.sum(axis=1, keepdims=True), 1e-300)
    return fit_rows(rows, 0.9 * alike[family] + 0.1 * priors, manner.weight)
