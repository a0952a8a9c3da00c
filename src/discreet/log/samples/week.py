"""The weekly rhythm of an organisation: when it is open and when its cases arrive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Floats, Integers

HOUR = 3600
WEEK = 168 * HOUR


@dataclass(frozen=True)
class Week:
    """How busy the days (from Monday) and hours (from midnight) are; zero means closed.

    A process is played in open seconds, which stand still while closed, and turned into
    calendar seconds since a Monday at the end: the turning keeps the order of events.
    """

    days: tuple[float, ...]
    hours: tuple[float, ...]

    @cached_property
    def _busy(self) -> Floats:
        return np.outer(self.days, self.hours).ravel()

    @cached_property
    def _open(self) -> Integers:
        return np.flatnonzero(self._busy)

    def arrivals(self, rng: np.random.Generator, cases: int, weeks: int, start: int) -> Integers:
        """Sorted open seconds at which cases arrive within some weeks of a calendar second."""
        odds = self._busy[self._open]
        hour = rng.choice(len(odds), size=cases, p=odds / odds.sum())
        hour += len(odds) * rng.integers(weeks, size=cases)
        seconds = HOUR * hour + rng.integers(HOUR, size=cases)
        early = self.calendar(seconds) < start
        seconds[early] += weeks * len(odds) * HOUR
        return np.sort(seconds)

    def calendar(self, seconds: Integers) -> Integers:
        """Open seconds as calendar seconds since the Monday."""
        hour, second = np.divmod(seconds, HOUR)
        week, index = np.divmod(hour, len(self._open))
        return week * WEEK + self._open[index] * HOUR + second
