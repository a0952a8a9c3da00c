"""The engine in this process: a log that is in memory as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.arrays import Integers, Ints
from discreet.log.cases import Cases, Question, added
from discreet.log.datatypes import per_case
from discreet.log.engines.capacity import memory_limit
from discreet.log.engines.protocol import Courses, Facts, Sizes
from discreet.log.engines.sources import unbroken_ties
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog, labels_of
from discreet.log.follows import Follows
from discreet.log.instants import microseconds
from discreet.log.variants import Variants

# Tuned
AT_ONCE = 100_000
"""Cases that are spelled out and hashed at a time."""


@dataclass(frozen=True)
class InMemory:
    """Sums over cases that are all here."""

    cases: Cases
    schema: pl.DataFrame
    """The columns that can be read, without rows."""

    @classmethod
    def of(cls, log: EventLog) -> InMemory:
        """The cases of a log, which must have times."""
        cases = Cases(
            log.activities,
            log.codes.astype(np.int64),
            log.offsets.astype(np.int64),
            microseconds(log),
            lambda name: log.table[name].gather(log.order),
        )
        return cls(cases, log.table.clear())

    def total(self, question: Question) -> pl.DataFrame:
        """The answer for all cases."""
        return added([question(self.cases)])


@dataclass(frozen=True)
class MemoryEngine:
    """Answers from an `EventLog`: what every other engine is measured by."""

    log: EventLog
    name: ClassVar[str] = "memory"

    @property
    def memory(self) -> int:
        """Bytes that it may use."""
        return memory_limit(None)

    def facts(self) -> Facts:
        """The size, activities and period of the log."""
        log = self.log
        return Facts(log.cases, log.events, log.activities, log.period(), log.left_out, log.clocks)

    def variants(self) -> Variants:
        """The variants and their counts."""
        return self.log.variants

    def variant_events(self) -> tuple[int, int]:
        """The number of variants and of their events."""
        return len(self.log.variants), len(self.log.variants.codes)

    def lengths(self) -> dict[int, int]:
        """The number of cases by their number of events."""
        lengths, counts = np.unique(np.diff(self.log.offsets), return_counts=True)
        return dict(zip(lengths.tolist(), counts.tolist(), strict=True))

    def sizes(self) -> Sizes:
        """The number of cases and of events of each variant."""
        variants = self.log.variants
        return Sizes(variants.counts.astype(np.int64), variants.lengths.astype(np.int64))

    def picked(self, places: Integers) -> Variants:
        """The variants at these places."""
        return self.log.variants.take(places)

    def follows(self) -> Follows:
        """The number of times one activity directly follows another."""
        return Follows.of_variants(self.log.variants)

    def cases_of_individuals(self) -> Integers:
        """The number of cases of each individual, in ascending order."""
        return self.log.cases_of_individuals()

    def sums(self, columns: Collection[str]) -> InMemory:
        """The cases for sums over them."""
        return InMemory.of(self.log)

    def digest(self, key: bytes) -> tuple[int, ...]:
        """The sum over cases of a keyed hash of each."""
        return hashed(self.log, self.log.codes, key)

    def courses(self) -> Courses:
        """The cases themselves, by name."""
        log = self.log
        log = log.take_cases(sorted(range(log.cases), key=log.case_ids.__getitem__))
        people = None
        if log.individual is not None:
            people = log.table[log.individual].cast(pl.String).gather(log.order[log.offsets[:-1]])
        return Courses(
            names=log.case_ids,
            codes=log.codes.astype(np.int64),
            offsets=log.offsets.astype(np.int64),
            times=microseconds(log) if log.has_times else None,
            individuals=None if people is None else people.to_list(),
        )

    @property
    def further_columns(self) -> int:
        """The number of columns without a role that it hands over with events."""
        return len(self._further)

    @property
    def _further(self) -> list[str]:
        roles = (CASE, ACTIVITY, TIME, LIFECYCLE, self.log.individual)
        return [name for name in self.log.table.columns if name not in roles]

    def further(self) -> pl.DataFrame:
        """The columns without a role, event by event as in `courses`."""
        log = self.log
        log = log.take_cases(sorted(range(log.cases), key=log.case_ids.__getitem__))
        return log.frame.select(self._further)

    def bounded(self, cases: int, key: bytes) -> MemoryEngine:
        """The log with at most `cases` cases of each individual, chosen by a secret key."""
        log = self.log
        salt = key.hex()
        hashes = [hashlib.sha256((salt + name).encode()).hexdigest() for name in log.case_ids]
        frame = pl.DataFrame({"person": log.individual_of_case, "hash": hashes})
        kept = frame.select(pl.col("hash").rank("ordinal").over("person") <= cases).to_series()
        return MemoryEngine(log.take_cases(kept.arg_true().to_numpy()))


def hashed(log: EventLog, codes: Ints, key: bytes) -> tuple[int, ...]:
    """The sum over cases of SHA-256 of key, codes, times and name, eight numbers of 32 bits each.

    Numbers are written as lists in brackets, so that no two cases read alike. The sum is exact: it
    depends on which cases there are, and not on how they are divided or ordered.
    """
    salt = key.hex().encode()
    variants, which = log.variants, log.variant_of_case
    if codes is not log.codes:
        variants, which = Variants.of_cases(log.activities, codes, log.offsets)
    spelled = _bracketed(variants.codes, variants.offsets)
    total = np.zeros(8, dtype=np.uint64)
    times = microseconds(log) if log.has_times else None
    for begin in range(0, log.cases, AT_ONCE):
        bounds = log.offsets[begin : begin + AT_ONCE + 1]
        events, offsets = slice(bounds[0], bounds[-1]), bounds - bounds[0]
        lists = [list(map(spelled.__getitem__, which[begin : begin + AT_ONCE].tolist()))]
        if times is not None:
            lists.append(_bracketed(times[events], offsets))
        lists.append([name.encode() for name in log.case_ids[begin : begin + AT_ONCE]])
        said = (salt + b" ".join(parts) for parts in zip(*lists, strict=True))
        digests = b"".join(hashlib.sha256(case).digest() for case in said)
        total += np.frombuffer(digests, dtype=">u4").reshape(-1, 8).sum(axis=0, dtype=np.uint64)
    return tuple(total.tolist())


def _bracketed(values: Ints, offsets: Ints) -> list[bytes]:
    """The numbers of each case as a list in brackets."""
    texts = pl.Series(values).cast(pl.String) + ", "
    return [b"[" + text[:-2] + b"]" for text in per_case(texts, offsets)]


def check_ties(log: EventLog, tie_break: Sequence[str]) -> None:
    """Refuse a log from rows without an order if nothing tells the order of some events."""
    keys = [CASE, *([TIME] if log.has_times else []), *tie_break]
    frame = log.table.select(keys).with_columns(labels_of(log.table, log.classifier).alias("label"))
    tied = frame.group_by(keys).agg(pl.col("label").n_unique().alias("many"))
    many = tied.filter(pl.col("many") > 1).height
    if many:
        raise unbroken_ties(many)
