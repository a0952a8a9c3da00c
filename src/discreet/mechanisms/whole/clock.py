"""The clock on the wall of a public time zone, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from discreet.arrays import Integers, Ints
from discreet.log.cases import Cases, amounts
from discreet.log.instants import DAY, HOUR, MONDAY, WEEK
from discreet.mechanisms.whole.grids import WEEKS

FIRST = MONDAY + DAY
LAST = MONDAY + WEEKS * WEEK - DAY - 1
"""Instants of the public stretch; earlier and later ones count as these."""

_GRAIN = HOUR // 4
"""Zones change their offset on quarters of an hour."""


@dataclass(frozen=True)
class Clock:
    """Times of a zone such as Europe/Amsterdam, in microseconds since 1970 on its own clock."""

    zone: str

    def wall(self, instants: Ints) -> Integers:
        """What the clock shows at these instants of the stretch."""
        return np.asarray(instants + self._offset(instants), dtype=np.int64)

    def instants(self, wall: Ints) -> Integers:
        """When the clock shows this; of two such instants one, of none one nearby."""
        guess = wall - self._offset(wall)
        return np.asarray(wall - self._offset(guess), dtype=np.int64)

    def _offset(self, instants: Ints) -> Integers:
        if self.zone == "UTC":
            return np.zeros(len(instants), dtype=np.int64)
        table = _offsets(self.zone)
        return table[np.clip((instants - MONDAY) // _GRAIN, 0, len(table) - 1)]


def within(instants: Ints) -> Integers:
    """The instants, those outside the stretch at its edge."""
    return np.clip(instants, FIRST, LAST).astype(np.int64)


def outside_stretch(cases: Cases) -> pl.DataFrame:
    """How many events lie outside the stretch."""
    outside = np.count_nonzero(cases.times != within(cases.times))
    return amounts(np.zeros(1, dtype=np.int64), np.array([outside]))


def is_zone(name: str) -> bool:
    """Whether there is such a time zone."""
    try:
        pl.Series([0]).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(name)
    except (pl.exceptions.PolarsError, ValueError):
        return False
    return True


@lru_cache(maxsize=4)
def _offsets(zone: str) -> Integers:
    ticks = np.arange(MONDAY, MONDAY + WEEKS * WEEK, _GRAIN)
    moments = pl.Series(ticks).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)
    wall = moments.dt.replace_time_zone(None).cast(pl.Int64).to_numpy()
    return np.asarray(wall - ticks, dtype=np.int64)
