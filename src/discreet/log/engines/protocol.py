"""What an engine answers; every number is a sum over cases of what reads one case."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol

import polars as pl

from discreet.arrays import Integers
from discreet.log.cases import Sums
from discreet.log.events import LeftOut
from discreet.log.follows import Follows
from discreet.log.timestamps import Clocks
from discreet.log.variants import Variants


class Facts(NamedTuple):
    """The size, activities and period of a log; for its holder only."""

    cases: int
    events: int
    activities: tuple[str, ...]
    period: tuple[int, int] | None
    """The first and the last time, in microseconds since 1970."""
    left_out: LeftOut = LeftOut()
    clocks: Clocks = Clocks()


class Courses(NamedTuple):
    """Every case in the order of their names: what happened, as numbers of activities, and when."""

    names: list[str]
    codes: Integers
    offsets: Integers
    times: Integers | None
    """Microseconds since 1970; none if the log is read without times."""
    individuals: list[str] | None
    """The individual of each case, if the log names individuals."""


class Sizes(NamedTuple):
    """The number of cases and of events of each variant, in canonical order."""

    cases: Integers
    length: Integers


class Engine(Protocol):
    """A log that has been read and checked, wherever its events are.

    A case's sequence is a function of that case alone: its events in the order of time, then of
    the columns that break ties, then of the position in the file, where there is one. What would
    leave the order open, or lacks a value, was refused on reading. So one case more or less
    changes one count by one, on every engine.
    """

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def memory(self) -> int:
        """Bytes that it may use, and so may what leaves it."""

    @property
    def further_columns(self) -> int:
        """The number of columns without a role that it hands over with events."""

    def facts(self) -> Facts:
        """The size, activities and period of the log."""

    def variants(self) -> Variants:
        """The variants and their counts."""

    def variant_events(self) -> tuple[int, int]:
        """The number of variants and of their events, each counted once.

        How much `sizes` and `variants` will bring.
        """

    def sizes(self) -> Sizes:
        """The number of cases and of events of each variant, in canonical order.

        That of `Variants`: by the activities of a variant alone. An order in which counts or the
        file had a say would tell of them whatever comes out in it, and break ties by them.
        """

    def picked(self, places: Integers) -> Variants:
        """The variants at these places of the canonical order, from 0, in the order given."""

    def lengths(self) -> dict[int, int]:
        """The number of cases by their number of events."""

    def follows(self) -> Follows:
        """The number of times one activity directly follows another, starts a case and ends one."""

    def cases_of_individuals(self) -> Integers:
        """The number of cases of each individual, in ascending order."""

    def sums(self, columns: Collection[str]) -> Sums:
        """The cases for sums over them, with some of the further columns."""

    def digest(self, key: bytes) -> tuple[int, ...]:
        """The sum over cases of a keyed hash of each, by which a log is recognised.

        Of a case: the SHA-256 of key, codes, times and name (`discreet.log.engines.memory.hashed`)
        as eight numbers. Without times they are left out.
        """

    def courses(self) -> Courses:
        """The cases themselves."""

    def further(self) -> pl.DataFrame:
        """The columns without a role that were asked for, event by event as in `courses`."""

    def bounded(self, cases: int, key: bytes) -> Engine:
        """The same log with at most `cases` cases of each individual, chosen by a secret key.

        Of each individual the cases with the smallest SHA-256 of key and name are kept: a choice
        that reads nothing of the others, so that with every key the cases of one individual change
        what is kept of that individual only.
        """
