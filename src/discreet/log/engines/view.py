"""Views of logs whose events stay in an engine: the log, its variants and sums over its cases."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import Integers, Ints
from discreet.log.cases import AMOUNT, Cases, Sums, amounts
from discreet.log.engines.capacity import in_words
from discreet.log.engines.memory import InMemory, MemoryEngine
from discreet.log.engines.protocol import Engine, Sizes
from discreet.log.errors import LogError, option
from discreet.log.events import CASE, TIME, Classifier, EventLog, Reads, assemble
from discreet.log.instants import no_times
from discreet.log.reading import MappedTable, check_constant
from discreet.log.variants import VariantCounts, Variants

# Tuned
EVENT_BYTES = 550
"""Bytes of an event in this process where a mechanism reads single events, with what it computes of
them: measured at one and two million."""

NEW_EVENT_BYTES = 170
"""Bytes of an event of a release with times in this process while it is drawn and written."""

VALUE_BYTES = 30
"""Bytes of a value of a further column for each event, twice while it is handed over."""

COUNT_BYTES = 40
"""Bytes of a variant in this process if only its count is there, with the noise on it."""

VARIANT_EVENT_BYTES = 40
"""Bytes of an event of a variant in this process: its code, and the keys that sort variants."""

MOST_VARIANTS = 1_000_000
"""Most variants that leave the engine together; of more, only those released or sampled do.

Which side of this a log is on changes nothing of a release: the numbering is the same.
"""


class EngineLog(EventLog):
    """A log whose variants the engine counts; they are read like those of any other log.

    What reads single events gets case, activity, time, individual and the further columns that
    were asked for, if they fit into the engine's memory limit. `require` refuses, before anything
    is spent, what does not fit.
    """

    engine: Engine

    def __init__(self, engine: Engine, shaped: MappedTable, classifier: Classifier) -> None:
        facts = engine.facts()
        kept = {
            "engine": engine,
            "activities": facts.activities,
            "individual": shaped.individual,
            "attributes": {},
            "names": shaped.names,
            "left_out": facts.left_out,
            "clocks": facts.clocks,
            "classifier": classifier,
            "transitions": shaped.transitions,
            "_shaped": shaped,
            "_prepared": {},
            "_sums": {},
        }
        self.__dict__.update(kept)

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.engine.facts().cases

    @property
    def events(self) -> int:
        """Number of events."""
        return self.engine.facts().events

    @property
    def has_times(self) -> bool:
        """Whether the events carry timestamps."""
        return self.engine.facts().period is not None

    @cached_property
    def variants(self) -> Variants:
        """The variants and their counts."""
        advice = f"choose travas, or headtail with {option('tail_sample', '0.1')}, or "
        self._check_room(self._variant_events[1] * VARIANT_EVENT_BYTES, "its variants", advice)
        return self.engine.variants()

    @cached_property
    def counted(self) -> VariantCounts:
        """The variants as long as they are few; else their counts, and sequences on demand."""
        many, events = self._variant_events
        if many <= MOST_VARIANTS and events * VARIANT_EVENT_BYTES <= self.engine.memory:
            return self.variants
        self._check_room(many * COUNT_BYTES, "the counts of its variants", "")
        return EngineVariants(self.engine)

    @cached_property
    def _variant_events(self) -> tuple[int, int]:
        return self.engine.variant_events()

    @cached_property
    def _loaded(self) -> EventLog:
        """The events in this process, with the further columns that were asked for."""
        advice = "choose a mechanism that reads variants only, such as travas, or "
        shaped: MappedTable = self.__dict__["_shaped"]
        more = self.engine.further_columns * VALUE_BYTES
        self._check_room(self.events * (EVENT_BYTES + more), "its events", advice)
        found = self.engine.courses()
        case = np.repeat(np.arange(len(found.names)), np.diff(found.offsets))
        columns = {}
        if found.individuals is not None and self.individual not in (None, CASE):
            people = pl.Series(found.individuals, dtype=pl.String)
            columns[str(self.individual)] = people.gather(case)
        columns |= {column.name: column for column in self.engine.further()}
        times = found.times if found.times is not None else np.zeros(len(found.codes), np.int64)
        log = assemble(found.names, self.activities, found.codes, found.offsets, times, columns)
        table = log.table if found.times is not None else log.table.drop(TIME)
        for column, name in shaped.further.items():
            if name in table.columns and name in shaped.names:
                check_constant(table, name, column)
        return replace(
            log,
            table=table,
            individual=self.individual,
            names=self.names,
            left_out=self.left_out,
            clocks=self.clocks,
            classifier=self.classifier,
            origin=self.origin,
            transitions=self.transitions,
        )

    def _check_room(self, size: int, what: str, advice: str) -> None:
        if size > self.engine.memory:
            raise LogError(
                f"this log is too large: {what} take about {in_words(size)}, and "
                f"{in_words(self.engine.memory)} may be used; {advice}allow more with "
                f"{option('memory', in_words(2 * size).replace(' ', ''))}"
            )

    @property
    def table(self) -> pl.DataFrame:
        """The events: case, activity, time, individual and what else was asked for."""
        return self._loaded.table

    @property
    def order(self) -> Ints:
        """The order that sorts the events."""
        return self._loaded.order

    @property
    def codes(self) -> Ints:
        """The activity of each event, as indices into `activities`."""
        return self._loaded.codes

    @property
    def offsets(self) -> Ints:
        """Where each case begins."""
        return self._loaded.offsets

    @property
    def variant_of_case(self) -> npt.NDArray[np.int64]:
        """For each case the index of its variant in `variants`."""
        return self._loaded.variant_of_case

    def cases_of_individuals(self) -> npt.NDArray[np.int64]:
        """The number of cases of each individual, in ascending order."""
        return self.engine.cases_of_individuals()

    def period(self) -> tuple[int, int] | None:
        """The first and the last time, in microseconds since 1970; none without times."""
        return self.engine.facts().period

    def schema(self) -> pl.DataFrame:
        """The columns under their names here, without rows."""
        return self.__dict__["_shaped"].table  # type: ignore[no-any-return]

    def at_hand(self, *columns: str) -> pl.DataFrame | None:
        """None: the events are in the engine."""
        return None

    def require(self, reads: Reads, columns: Sequence[str] = ()) -> None:
        """Fetch what a mechanism reads, so that it fails now if it must."""
        if reads == "counts":
            _ = self.counted
        elif reads == "variants":
            _ = self.variants
        elif reads == "cases":
            advice = "leave times out (times=False, --no-times), or "
            self._check_room(self.events * NEW_EVENT_BYTES, "as many new events", advice)
            self._check_columns(columns)
        else:
            _ = self._loaded

    def sums(self, columns: Collection[str]) -> Sums:
        """The cases for sums over them, with some of the further columns."""
        if not self.has_times:
            raise no_times()
        kept: dict[frozenset[str], Sums] = self.__dict__["_sums"]
        wanted = frozenset(columns)
        if wanted not in kept:
            kept[wanted] = self.engine.sums(wanted)
        return kept[wanted]

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Refuse values that are not of their type, and attributes of cases that change in one."""
        shaped: MappedTable = self.__dict__["_shaped"]
        constant = {n: c for c, n in shaped.further.items() if n in shaped.names and n in columns}
        found = self.sums(columns)
        changing = found.total(partial(_changing, found.schema.columns, list(constant)))
        for name, many in zip(constant, changing[AMOUNT].to_list(), strict=True):
            if many:
                raise LogError(
                    f"the column {constant[name]!r} has several values in {many} cases; correct "
                    f"them, or leave it out of {option('case_attributes')}"
                )

    def take_cases(self, chosen: Ints | Sequence[int]) -> EventLog:
        """The chosen cases in the order given, their events brought into this process."""
        return self._loaded.take_cases(chosen)

    def bounded(self, cases: int, key: bytes) -> EngineLog:
        """The log with at most `cases` cases of each individual, chosen by a secret key."""
        return EngineLog(self.engine.bounded(cases, key), self.__dict__["_shaped"], self.classifier)

    def prepare(self, cases: int, reads: Reads, columns: Sequence[str] = ()) -> None:
        """Choose the cases of each individual now, so that what fails does before it is paid for.

        By a fresh key, for one release: `prepared` hands them over once.
        """
        kept: dict[int, EngineLog] = self.__dict__["_prepared"]
        if cases not in kept:
            kept[cases] = self.bounded(cases, os.urandom(32))
        kept[cases].require(reads, columns)

    def prepared(self, cases: int) -> EngineLog | None:
        """The log prepared with `cases` cases of each individual, if it was; once."""
        kept: dict[int, EngineLog] = self.__dict__["_prepared"]
        return kept.pop(cases, None)

    def __repr__(self) -> str:
        return f"{super().__repr__()} in {self.engine.name}"

    def _repr_html_(self) -> str:
        from discreet import notebook

        return notebook.box(repr(self), notebook.of(self.variants))


@dataclass(frozen=True)
class EngineVariants:
    """The variants of an engine in canonical order, which is that of the variants in memory.

    The order is that of the sequences themselves. No count has a say in it, nor the order of the
    cases, nor how the engine keeps them: so no tie is broken by what is behind the noise, and one
    seed gives one release wherever the variants are.
    """

    engine: Engine

    @cached_property
    def sizes(self) -> Sizes:
        """The number of cases and of events of each variant."""
        return self.engine.sizes()

    @property
    def counts(self) -> Integers:
        """The number of cases of each variant."""
        return self.sizes.cases

    @property
    def lengths(self) -> Integers:
        """The number of events of each variant."""
        return self.sizes.length

    @property
    def activities(self) -> tuple[str, ...]:
        """The labels that the sequences are made of."""
        return self.engine.facts().activities

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.engine.facts().cases

    def __len__(self) -> int:
        """Number of variants."""
        return len(self.counts)

    def take(self, indices: Ints, counts: Ints | None = None) -> Variants:
        """The chosen variants in the order given, with new counts if any are given."""
        found = self.engine.picked(np.asarray(indices, np.int64))
        return found if counts is None else replace(found, counts=np.asarray(counts, np.int64))


def sums_over(log: EventLog, columns: Collection[str] = ()) -> Sums:
    """The cases of a log for questions whose answers are sums, with some further columns."""
    return log.sums(columns) if isinstance(log, EngineLog) else InMemory.of(log)


def staying(log: EventLog) -> EngineLog:
    """The same log, whose variants leave the engine only when they are asked for.

    So do those of a log with millions; tests and audits see here what happens there.
    """
    if isinstance(log, EngineLog):
        found = copy(log)
    else:
        shaped = MappedTable(log.table.clear(), log.individual, log.names, log.left_out)
        found = EngineLog(MemoryEngine(log), shaped, log.classifier)
    found.__dict__["counted"] = EngineVariants(found.engine)
    return found


def _changing(columns: list[str], constant: list[str], cases: Cases) -> pl.DataFrame:
    """The number of cases in which each constant column changes; all columns are read."""
    values = {name: cases.column(name) for name in columns}
    first = np.zeros(len(cases.codes), dtype=np.bool_)
    first[cases.offsets[:-1]] = True
    many = []
    for name in constant:
        other = values[name].ne_missing(values[name].shift()).to_numpy() & ~first
        case = np.searchsorted(cases.offsets, np.flatnonzero(other), side="right")
        many.append(len(np.unique(case)))
    return amounts(np.arange(len(constant)), np.array(many, dtype=np.int64))
