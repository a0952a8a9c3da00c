"""Simulating a process for all cases at once, on whole arrays: who does what, and when.

A behaviour is a function: it takes the cases that reach it and the second each does, lets them
pass, and returns the second each is through. What happened on the way is recorded on the stage.
The weekly rhythm of an organisation says when it is open and when its cases arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import Floats, Integers

Behaviour: TypeAlias = "Callable[[Stage, Integers, Integers], Integers]"

HOUR = 3600
WEEK = 168 * HOUR


class Team(NamedTuple):
    """The people who do one kind of work."""

    name: str
    size: int


class Stage:
    """Where a process is played: the source of chance, and what has happened so far."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self._keys: list[Integers] = []
        self._names: list[str] = []
        self._members: list[npt.NDArray[np.int16]] = []
        self._teams: dict[Team, int] = {}
        self._resources: list[str] = []

    def record(self, name: str, team: Team, cases: Integers, seconds: Integers) -> None:
        """Note that someone of the team did the activity in these cases at these seconds."""
        if team not in self._teams:
            self._teams[team] = len(self._resources)
            self._resources += [f"{team.name} {i + 1}" for i in range(team.size)]
        # Squaring skews the work: some of a team do much more of it than others.
        member = self._teams[team] + team.size * self.rng.random(len(cases)) ** 2
        self._members.append(member.astype(np.int16))
        self._names.append(name)
        self._keys.append(cases << 32 | seconds)

    def history(self) -> pl.DataFrame:
        """Case, second, activity and resource of all events, sorted by case and second."""
        keys = np.concatenate(self._keys)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        names = np.repeat(np.arange(len(self._names), dtype=np.int16), [len(k) for k in self._keys])
        return pl.DataFrame(
            {
                "case": keys >> 32,
                "second": keys & 0xFFFFFFFF,
                "activity": pl.Series(self._names).gather(names[order]),
                "resource": pl.Series(self._resources).gather(np.concatenate(self._members)[order]),
            }
        )


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


def step(name: str, hours: float, team: Team, spread: float = 0.8) -> Behaviour:
    """One activity, done a log-normal time (median `hours`, waiting included) after it is due."""

    def play(stage: Stage, cases: Integers, clock: Integers) -> Integers:
        seconds = 3600 * hours * np.exp(spread * stage.rng.standard_normal(len(cases)))
        done = clock + 1 + seconds.astype(np.int64)
        stage.record(name, team, cases, done)
        return done

    return play


def in_order(*parts: Behaviour) -> Behaviour:
    """Parts that follow one another; with no parts, nothing happens."""

    def play(stage: Stage, cases: Integers, clock: Integers) -> Integers:
        for part in parts:
            clock = part(stage, cases, clock)
        return clock

    return play


def parallel(*parts: Behaviour) -> Behaviour:
    """Parts that start together; how long their steps take decides how they interleave."""

    def play(stage: Stage, cases: Integers, clock: Integers) -> Integers:
        end = clock
        for part in parts:
            end = np.maximum(end, part(stage, cases, clock))
        return end

    return play


def choice(*options: tuple[float, Behaviour]) -> Behaviour:
    """Exactly one of several parts, with odds proportional to their weights."""
    bounds = np.cumsum([weight for weight, _ in options])

    def play(stage: Stage, cases: Integers, clock: Integers) -> Integers:
        drawn = np.searchsorted(bounds[:-1] / bounds[-1], stage.rng.random(len(cases)), "right")
        end = np.empty_like(clock)
        for option, (_, part) in enumerate(options):
            taken = np.flatnonzero(drawn == option)
            end[taken] = part(stage, cases[taken], clock[taken])
        return end

    return play


def maybe(probability: float, *parts: Behaviour) -> Behaviour:
    """The parts in order with this probability, otherwise nothing."""
    return choice((probability, in_order(*parts)), (1 - probability, in_order()))


def loop(again: float, body: Behaviour, redo: Behaviour | None = None) -> Behaviour:
    """A body that, each time with probability `again`, is repeated after the redo part."""
    repeat = in_order(redo, body) if redo else body

    def play(stage: Stage, cases: Integers, clock: Integers) -> Integers:
        end = body(stage, cases, clock).copy()
        going = np.flatnonzero(stage.rng.random(len(cases)) < again)
        while len(going):
            end[going] = repeat(stage, cases[going], end[going])
            going = going[stage.rng.random(len(going)) < again]
        return end

    return play
