"""Public grids: the cells in which waits, durations and calendars are counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.instants import DAY, HOUR, SECOND

# Proof: questions may depend on these because they are public, the same for every log.

WEEKS = 4096
"""Number of weeks of the public stretch, from 29 December 1969 to June 2048."""

HALF_DAY = 12 * HOUR
"""Shortest wait that counts in calendar days: people work by days, not by hours."""

SLOTS = 48
"""Number of slots of a day: the 24 hours, and after them the 24 times exactly on the hour."""

MILLISECOND = SECOND // 1000
"""Resolution of drawn times, in microseconds."""

SINGLE_DAYS = 131
"""Number of calendar days below which each number of days that a wait spans has its own cell."""

_SHORT = np.unique(
    np.concatenate(
        [
            [1],
            np.geomspace(SECOND / 4, 60 * SECOND, 17),
            np.geomspace(60 * SECOND, HOUR, 13),
            np.geomspace(HOUR, HALF_DAY, 8),
        ]
    ).astype(np.int64)
)
"""Edges of waits below half a day, in microseconds: no time at all alone, then half octaves."""


def _wide_days() -> list[int]:
    """Edges of longer waits: cells some 7% wide to the end of the stretch, cut at years."""
    edges = [SINGLE_DAYS]
    for stop in (366, 1096, 3653, 7 * WEEKS):
        many = max(1, round(np.log(stop / edges[-1]) / np.log(1.07)))
        edges += np.round(np.geomspace(edges[-1], stop, many + 1)[1:]).astype(int).tolist()
    return edges


DAYS: Integers = np.array([*range(SINGLE_DAYS), *_wide_days()], dtype=np.int64)
"""Edges of waits from half a day on, in calendar days."""

FIRST_DAY = len(_SHORT)
"""The cell of waits of half a day or more that end on the same calendar day.

Before it are the cells below half a day: no time at all, and those between the edges.
"""

WAIT_CELLS = FIRST_DAY + len(DAYS) - 1
"""Number of cells of waits."""

_COARSE_DAYS = (0, 2, 5, 9, 21, 46, SINGLE_DAYS, 366, 1096, 3653)
"""First calendar days of the groups in which the first round counts."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells in order, and the groups of them that the first round counts."""

    groups: Integers
    """The first cell of each group."""
    width: Floats
    """The width of each cell; all of them together are 1 wide."""

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.width)

    @property
    def group_of_cell(self) -> Integers:
        """The group of each cell."""
        return np.searchsorted(self.groups, np.arange(self.cells), side="right") - 1

    @classmethod
    def plain(cls, cells: int, group: int = 1) -> Grid:
        """Cells of equal width, `group` of them to a group."""
        return cls(np.arange(0, cells, group), np.full(cells, 1 / cells))


def _by_group(groups: Integers, width: Floats) -> Floats:
    """The widths scaled so that all groups are equally wide."""
    of_cell = np.searchsorted(groups, np.arange(len(width)), side="right") - 1
    return np.asarray(width / np.bincount(of_cell, width)[of_cell] / len(groups))


@cache
def wait_grid() -> Grid:
    """The grid of waits and durations: zero, seconds to hours, calendar days."""
    short = np.searchsorted(_SHORT, [60 * SECOND, HOUR]) + 1
    days = np.searchsorted(DAYS, _COARSE_DAYS) + FIRST_DAY
    groups = np.concatenate([[0, 1], short, days]).astype(np.int64)
    ends = np.append(_SHORT[1:], HALF_DAY).astype(np.float64)
    seconds = np.log(ends / np.maximum(_SHORT, SECOND // 100))
    later = np.log((DAYS[1:] + 0.5) / (DAYS[:-1] + 0.5))
    return Grid(groups, _by_group(groups, np.concatenate([[1.0], seconds[:-1], later])))


@cache
def week_grid() -> Grid:
    """The weeks of the stretch, in groups of 64."""
    return Grid.plain(WEEKS, 64)


def wait_cells(elapsed: Ints, days: Ints) -> Integers:
    """The cell of each wait, by its microseconds and the number of calendar days it spans."""
    short = np.searchsorted(_SHORT, elapsed, side="right")
    long = FIRST_DAY + np.searchsorted(DAYS, days, side="right") - 1
    cells = np.where(elapsed < HALF_DAY, short, np.clip(long, FIRST_DAY, WAIT_CELLS - 1))
    return np.asarray(cells, dtype=np.int64)


def short_bounds() -> tuple[Floats, Floats]:
    """The least and the largest wait of each cell below half a day, in microseconds."""
    low = np.concatenate([[0], _SHORT[:-1]]).astype(np.float64)
    high = np.concatenate([[0], _SHORT[1:]]).astype(np.float64)
    return low, high


def day_bounds() -> tuple[Integers, Integers]:
    """The first and the last calendar day of each cell from `FIRST_DAY` on."""
    return DAYS[:-1], DAYS[1:] - 1


def slots(wall: Ints) -> Integers:
    """The slot of the day of wall-clock times."""
    of_day = wall % DAY
    hour = of_day // HOUR
    return np.asarray(np.where(of_day % HOUR == 0, hour + 24, hour), dtype=np.int64)
