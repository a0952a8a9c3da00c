"""Rules for every engine: to the last event it gives what memory gives, however it is run.

Where it does not, a case's sequence is no function of that case, and a count moves with others'
cases: no guarantee would hold on it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from discreet.log.cases import Cases, amounts
from discreet.log.engines.memory import MemoryEngine
from discreet.log.engines.protocol import Courses, Engine
from discreet.log.engines.view import EngineVariants
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.loading import read_log
from discreet.log.samples import PERSON, sample_log
from discreet.log.variants import Variants
from discreet.testing.conformance import demand, refusing

# Tuned
REPEATS = 3
"""Number of times that the same file is read."""

KEY = bytes(range(32))
"""The key for bounding the cases of individuals and for digests."""


class Build(Protocol):
    """A function that opens an engine for the suite."""

    def __call__(
        self, files: Sequence[Path], *, threads: int, individual: str | None, drop_incomplete: bool
    ) -> Engine:
        """Open an engine on Parquet files, read one after another, with this many threads."""


@dataclass(frozen=True)
class Trial:
    """An engine under test, and the folder of the logs that it reads."""

    build: Build
    folder: Path
    logs: tuple[EventLog, ...]

    @cached_property
    def tied(self) -> pl.DataFrame:
        """A log whose times are whole weeks, so that most events share theirs with another."""
        table = sample_log("hospital", cases=200, seed=7).table
        return table.with_columns(pl.col(TIME).dt.truncate("1w"))

    def files(self, table: pl.DataFrame, parts: int = 1) -> list[Path]:
        """Write the table as Parquet files and return their paths."""
        name = f"log{len(list(self.folder.iterdir()))}"
        size = max(1, -(-table.height // parts))
        paths = []
        for number, part in enumerate([*table.iter_slices(size)] or [table]):
            paths.append(self.folder / f"{name}-{number}.parquet")
            part.write_parquet(paths[-1])
        return paths

    def counted(self, table: pl.DataFrame, threads: int = 2, parts: int = 1) -> Engine:
        """Open the engine on a table."""
        files = self.files(table, parts)
        person = PERSON if PERSON in table.columns else None
        return self.build(files, threads=threads, individual=person, drop_incomplete=False)


def reference(table: pl.DataFrame) -> MemoryEngine:
    """The same table in the engine of memory, which the others must equal."""
    return MemoryEngine(read_log(table, individual=PERSON if PERSON in table.columns else None))


def row_orders(table: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """The same events by case, by time and shuffled: three different logs where times tie."""
    yield "by case", table.sort(CASE, maintain_order=True)
    yield "by time", table.sort(TIME, maintain_order=True)
    yield "shuffled", table.sample(fraction=1, shuffle=True, seed=3)


def same(found: Engine, expected: Engine, where: str) -> None:
    """Demand that two engines agree on everything."""
    demand(found.variants() == expected.variants(), f"{where}: other variants than memory")
    demand(found.lengths() == expected.lengths(), f"{where}: other lengths than memory")
    demand(found.follows() == expected.follows(), f"{where}: other follows than memory")
    ours, theirs = found.facts(), expected.facts()
    demand(ours == theirs, f"{where}: other facts than memory: {ours}, {theirs}")
    size = expected.variant_events()
    demand(found.variant_events() == size, f"{where}: variant_events is not {size}")
    mine, yours = found.courses(), expected.courses()
    demand(mine.names == yours.names, f"{where}: other cases than memory, or in another order")
    demand(np.array_equal(mine.offsets, yours.offsets), f"{where}: cases of other lengths")
    demand(np.array_equal(mine.codes, yours.codes), f"{where}: other courses than memory")
    demand(_same(starts(mine), starts(yours)), f"{where}: other starts than memory")
    demand(_same(gaps(mine), gaps(yours)), f"{where}: other gaps than memory")
    demand(mine.individuals == yours.individuals, f"{where}: other individuals than memory")


def starts(courses: Courses) -> np.ndarray | None:
    """The start of each case."""
    return None if courses.times is None else courses.times[courses.offsets[:-1]]


def gaps(courses: Courses) -> np.ndarray | None:
    """The time from each event to the next, case after case."""
    return None if courses.times is None else np.diff(courses.times)


def _same(found: np.ndarray | None, expected: np.ndarray | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return np.array_equal(found, expected)


def ties(trial: Trial) -> None:
    """Events with equal times keep the order of the file: every row order, one and two threads."""
    table = trial.tied
    shared = table.select(pl.struct(CASE, TIME).is_duplicated().mean()).item()
    assert shared > 0.5
    for name, rows in row_orders(table):
        expected = reference(rows)
        same(trial.counted(rows, threads=2), expected, f"{name}, two threads")
        alone = trial.counted(rows, threads=1).variants()
        demand(alone == expected.variants(), f"{name}, one thread: other variants than memory")


def repeats(trial: Trial) -> None:
    """The same file gives the same answer, however often it is read."""
    table = trial.tied.sample(fraction=1, shuffle=True, seed=5)
    expected = reference(table).variants()
    for number in range(REPEATS):
        found = trial.counted(table).variants()
        demand(found == expected, f"the variants change when read again ({number + 1})")


def several_files(trial: Trial) -> None:
    """A case may span several files; they are read in the order given."""
    table = trial.tied.sample(fraction=1, shuffle=True, seed=9)
    same(trial.counted(table, parts=3), reference(table), "three files")


def one_case_less(trial: Trial) -> None:
    """A log without one case has exactly one count lower, by one."""
    table = trial.tied
    whole = trial.counted(table).variants().to_dict()
    for name in table[CASE].unique().sort().gather([0, 100, 199]):
        fewer = trial.counted(table.filter(pl.col(CASE) != name)).variants().to_dict()
        changed = {key: whole[key] - fewer.get(key, 0) for key in whole}
        moved = [change for change in changed.values() if change]
        demand(
            fewer.keys() <= whole.keys() and moved == [1], f"without {name} counts move: {moved}"
        )


def individuals(trial: Trial) -> None:
    """Cases of individuals are counted, bounded by a key, and summed over, as in memory."""
    table = trial.tied
    found, expected = trial.counted(table), reference(table)
    _same_sums(found, expected, "all cases")
    owned = found.cases_of_individuals()
    demand(np.array_equal(owned, expected.cases_of_individuals()), "other numbers of cases")
    once = found.bounded(1, KEY)
    for bound, kept in ((1, once), (2, found.bounded(2, KEY))):
        wanted = expected.bounded(bound, KEY)
        names = kept.courses().names
        demand(kept.variants() == wanted.variants(), f"{bound} cases each: others are kept")
        demand(names == wanted.courses().names, f"{bound} cases each: others")
        demand(kept.facts()[:2] == wanted.facts()[:2], f"{bound} cases each: other numbers")
        demand(int(kept.cases_of_individuals().max()) <= bound, f"more than {bound} cases kept")
    _same_sums(kept, wanted, f"{bound} cases each")
    demand(found.digest(KEY) == expected.digest(KEY), "another digest than memory")
    demand(kept.digest(KEY) == wanted.digest(KEY), f"{bound} cases each: another digest")
    one_each = set(once.courses().names)
    other = found.bounded(1, KEY[::-1]).courses().names
    demand(set(other) != one_each, "the key does not matter")
    busy = expected.courses()
    assert busy.individuals is not None
    person = max(sorted(set(busy.individuals)), key=busy.individuals.count)
    alone = trial.counted(table.filter(pl.col(PERSON) != person)).bounded(1, KEY)
    theirs = {n for n, p in zip(busy.names, busy.individuals, strict=True) if p == person}
    demand(
        set(alone.courses().names) == one_each - theirs,
        "whose cases are kept depends on other individuals",
    )


def numbering(trial: Trial) -> None:
    """The numbers of variants depend on their content only, not on counts, cases, rows or threads.

    Otherwise what comes out in the order of the numbers, or breaks ties by it, reveals raw counts.
    """
    ways = (1, 1), (2, 1), (2, 3)
    for (name, rows), (threads, parts) in zip(row_orders(trial.tied), ways, strict=True):
        where = f"{name}, {threads} threads, {parts} files"
        _same_numbering(trial.counted(rows, threads, parts), reference(rows).variants(), where)
    bounded = trial.counted(trial.tied).bounded(1, KEY)
    _same_numbering(bounded, reference(trial.tied).bounded(1, KEY).variants(), "a case each")


def _same_numbering(found: Engine, expected: Variants, where: str) -> None:
    stay = EngineVariants(found)
    counts, lengths = stay.counts, stay.lengths
    demand(np.array_equal(counts, expected.counts), f"{where}: counts are not in canonical order")
    demand(np.array_equal(lengths, expected.lengths), f"{where}: lengths are in another order")
    few = np.array([len(stay) - 1, 0, len(stay) // 2, len(stay) // 2 + 1])
    for places in (np.arange(len(stay)), few):
        taken = list(stay.take(places))
        demand(taken == list(expected.take(places)), f"{where}: other variants at their places")


def _same_sums(found: Engine, expected: Engine, where: str) -> None:
    mine, yours = (engine.sums(()).total(_moments) for engine in (found, expected))
    demand(mine.equals(yours), f"{where}: other sums over cases than memory")


def _moments(cases: Cases) -> pl.DataFrame:
    """Number of events at each position of a case, by activity and hour since its start."""
    begin = np.repeat(cases.offsets[:-1], np.diff(cases.offsets))
    hour = (cases.times - cases.times[begin]) // 3_600_000_000
    place = np.arange(len(begin)) - begin
    key, many = np.unique((hour * 1000 + place) * 1000 + cases.codes, return_counts=True)
    return amounts(key, many)


def refusals(trial: Trial) -> None:
    """A log that lacks a value, or has several individuals in a case, is refused on reading."""
    table = trial.tied
    first = pl.int_range(pl.len()) == 11
    for column, word in (
        (CASE, "case"),
        (ACTIVITY, "activity"),
        (TIME, "time"),
        (PERSON, "person"),
    ):
        holed = table.with_columns(pl.when(~first).then(pl.col(column)).alias(column))
        with refusing(f"an event without {word}", LogError):
            trial.counted(holed)
    mixed = table.with_columns(
        pl.when(first).then(pl.lit("someone")).otherwise(PERSON).alias(PERSON)
    )
    with refusing("a case of two individuals", LogError):
        trial.counted(mixed).cases_of_individuals()
    with refusing("a log without events", LogError):
        trial.counted(table.clear())


def incomplete_cases(trial: Trial) -> None:
    """Cases that lack a value can be left out as a whole, each judged by itself."""
    rows = pl.int_range(pl.len())
    holed = trial.tied.with_columns(
        pl.when(rows % 97 != 5).then(pl.col(ACTIVITY)).alias(ACTIVITY),
        pl.when(rows % 211 != 7).then(pl.col(CASE)).alias(CASE),
    )
    found = trial.build(trial.files(holed), threads=2, individual=PERSON, drop_incomplete=True)
    expected = MemoryEngine(read_log(holed, individual=PERSON, drop_incomplete=True))
    same(found, expected, "incomplete cases left out")


def given_logs(trial: Trial) -> None:
    """Logs that the caller brings are counted as in memory."""
    for number, log in enumerate(trial.logs):
        table = log.table.select(CASE, ACTIVITY, TIME)
        same(trial.counted(table), reference(table), f"log {number + 1} of those given")


_CHECKS: tuple[Callable[[Trial], None], ...] = (
    ties,
    repeats,
    several_files,
    one_case_less,
    individuals,
    numbering,
    refusals,
    incomplete_cases,
    given_logs,
)

ENGINE_CHECKS: tuple[str, ...] = tuple(check.__name__ for check in _CHECKS)
"""Names of the checks, in the order in which they run."""


def check_engine(build: Build, *, only: str | None = None, logs: Iterable[EventLog] = ()) -> None:
    """Raise ConformanceError unless an engine counts as memory does.

    `build` opens the engine on Parquet files. `logs` are read too; `only` names one of
    `ENGINE_CHECKS`.
    """
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(build, Path(folder), tuple(logs))
        for check in _CHECKS:
            if only in (None, check.__name__):
                check(trial)
