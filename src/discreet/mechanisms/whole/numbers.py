"""Numbers on a public grid of magnitudes, with the grain that they are written in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.declaring import Attribute
from discreet.mechanisms.whole.grids import Grid
from discreet.mechanisms.whole.sampling import choose, choose_by_row, fractions
from discreet.mechanisms.whole.tables import Hits, Manner, learn
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step

PER_DECADE = 24
SMALLEST, DECADES = 1e-3, 15
"""Magnitudes from .001 to 10¹²; smaller numbers count as zero, larger ones as the largest."""

GRAINS = np.array([100_000, 50_000, 10_000, 5_000, 1_000, 500, 100, 50, 10, 5, 1], dtype=np.int64)
"""Hundredths of which numbers may be multiples, from 1000 down to .01; the last cell is finer."""

NUMBER_MANNER = Manner(
    least=(4.0,), most_parts=60, weight=3.0, downwards=True, steps=(1.5, 1.8, 2.1), even=0.2,
)  # fmt: skip
GRAIN_MANNER = Manner(least=(), most_parts=1, weight=3.0, narrowed=False)

TRIES = 4
"""So often a number is drawn again that is a named one."""

_EDGES = SMALLEST * 10.0 ** (np.arange(DECADES * PER_DECADE + 1) / PER_DECADE)
_SIDE = len(_EDGES) - 1


def magnitude_grid() -> Grid:
    """Negative numbers, zero, positive numbers: half a decade to a group."""
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
    """The largest grain that each number, or the largest of the grid, is a multiple of."""
    hundredths = np.minimum(np.abs(numbers), _EDGES[-1]) * 100
    whole = np.abs(hundredths - np.round(hundredths)) < 1e-6
    near = np.round(hundredths).astype(np.int64)
    multiple = (near[:, None] % GRAINS == 0) & whole[:, None]
    return np.where(multiple.any(axis=1), multiple.argmax(axis=1), len(GRAINS))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers that are not named, in parts of about equal mass, and the grains of them all."""

    starts: Integers
    """The first cells of the parts."""
    mass: Floats
    """About how many cases each part has, or events if it is an attribute of these."""
    deviation: float
    """Of the noise in that."""
    within: Floats
    """Of each part the shares of its cells."""
    grains: Floats

    @classmethod
    def learn(
        cls, source: Source, numbers: Callable[[Courses], tuple[Integers, Floats]],
        expected: float, bound: int, attribute: Attribute, spending: Step, rng: Randomness,
    ) -> Numbers:  # fmt: skip
        """From the numbers of cases: magnitude in two rounds, and grain.

        To each table a case adds one for each of its numbers, bounded as a whole.
        """

        def by(cells: Callable[[Floats], Integers]) -> Callable[[Courses], Hits]:
            def hits(courses: Courses) -> Hits:
                case, number = numbers(courses)
                return Hits(case, np.zeros_like(case), cells(number))

            return hits

        family, total = np.zeros(1, dtype=np.int64), np.array([max(expected, 1.0)])

        def steps(*names: str) -> tuple[Gaussian, ...]:
            return tuple(spending.find(attribute.step(name), Gaussian) for name in names)

        learnt = learn(
            source, by(magnitude_cells), total, family, magnitude_grid(), NUMBER_MANNER, bound,
            steps("magnitudes, coarse", "magnitudes, fine"), rng,
        )  # fmt: skip
        grains = learn(
            source, by(grain_cells), total, family, Grid.plain(len(GRAINS) + 1), GRAIN_MANNER,
            bound, steps("grains"), rng,
        ).shares[0]  # fmt: skip
        starts, _, deviation = learnt.rows[0].rounds[-1]
        shares = learnt.shares[0]
        part = np.maximum(np.searchsorted(starts, np.arange(len(shares)), side="right") - 1, 0)
        within = np.zeros((len(starts), len(shares)))
        within[part, np.arange(len(shares))] = shares
        mass = within.sum(axis=1)
        return cls(starts, mass * learnt.rows[0].total, deviation, within, grains)

    def parts(self, numbers: Floats) -> Integers:
        """The part of each number; one beyond the ends is in the part there."""
        cell = magnitude_cells(numbers)
        return np.maximum(np.searchsorted(self.starts, cell, side="right") - 1, 0)

    def draw(self, part: Integers, named: Floats, rng: Randomness) -> Floats:
        """A number in each part; those that are named have shares of their own, and are redrawn."""
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
