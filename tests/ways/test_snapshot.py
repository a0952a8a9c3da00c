"""A file that is replaced is another log: no engine keeps what it was, or mixes the two."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.log.cases import Cases, Question, amounts
from discreet.log.engines.view import sums_over
from discreet.log.errors import LogError
from discreet.log.events import CASE, TIME, EventLog
from discreet.log.files import Snapshot
from discreet.log.loading import read_log
from discreet.log.reading import Reading
from discreet.log.samples import PERSON, sample_log
from discreet.log.writing import write_log
from discreet.mechanisms.registry import mechanism

Change = Callable[[pl.DataFrame], pl.DataFrame]

BEFORE = sample_log("permits", cases=60, seed=2).table

CHANGES: dict[str, Change] = {
    "all cases of one person": lambda _: sample_log("permits", cases=60, seed=5).table.with_columns(
        pl.lit("mara").alias(PERSON)
    ),
    "corrected": lambda table: table.with_columns(
        pl.col(TIME) - pl.duration(hours=pl.col(CASE).rank("dense"))
    ),
    "redacted": lambda table: table.filter(pl.col(CASE).rank("dense") % 3 > 0),
}
"""What may have happened to a file between one reading and the next."""

READ = [
    ("memory", ".parquet"),
    ("memory", ".csv"),
    ("memory", ".xes"),
    *(
        [("duckdb", ".parquet"), ("duckdb", ".csv")]
        if importlib.util.find_spec("duckdb") is not None
        else []
    ),
]


def put(table: pl.DataFrame, path: Path, *, in_place: bool = True) -> None:
    """Write a log there: into the file itself, or as another file of the same name."""
    fresh = path.with_name(f"fresh{path.suffix}")
    write_log(read_log(table), fresh)
    if in_place and path.exists():
        shutil.copyfile(fresh, path)
        fresh.unlink()
    else:
        fresh.replace(path)


def everything(log: EventLog) -> list[Any]:
    """What mechanisms ask of a log."""
    key = bytes(32)
    one = log.bounded(1, key) if hasattr(log, "bounded") else log
    sums = sums_over(log, ["org:resource"])
    return [
        log.variants,
        sorted(log.cases_of_individuals().tolist()),
        log.events,
        log.period(),
        sums.total(times()),
        sums_over(one, ()).total(times()),
        one.variants,
        log.table.sort(pl.all()).select(sorted(log.table.columns)).to_dicts(),
    ]


def times() -> Question:
    """The sum of all times, in minutes; made here so that it can be sent to other machines."""

    def asked(cases: Cases) -> pl.DataFrame:
        return amounts(np.zeros(1, np.int64), np.array([int((cases.times // 60_000_000).sum())]))

    return asked


def same(found: list[Any], expected: list[Any]) -> bool:
    return all(
        mine.equals(yours) if isinstance(mine, pl.DataFrame) else mine == yours
        for mine, yours in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("in_place", [True, False], ids=["rewritten", "renamed"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("engine", "suffix"), READ)
def test_a_replaced_file_is_read_anew(
    engine: Any, suffix: str, change: str, in_place: bool, tmp_path: Path
) -> None:
    check_read_anew(engine, suffix, CHANGES[change], in_place=in_place, folder=tmp_path)


def check_read_anew(
    engine: Any, suffix: str, change: Change, *, in_place: bool, folder: Path
) -> None:
    """Read a file, replace it, and read it again while the first log is still there."""
    path, elsewhere = folder / f"log{suffix}", folder / f"elsewhere{suffix}"
    put(BEFORE, path)
    before = read_log(path, engine=engine, individual=PERSON)
    was = everything(before)
    after = change(BEFORE)
    put(after, path, in_place=in_place)
    put(after, elsewhere)
    found, expected = (read_log(one, engine=engine, individual=PERSON) for one in (path, elsewhere))
    now = everything(found)
    assert same(now, everything(expected))
    assert not same(now, was)
    for cases in (None, 1):
        chosen = mechanism("travas", epsilon=1000, cases_per_individual=cases)
        one, other = (chosen.release(log, insecure_seed=3) for log in (found, expected))
        assert one.artefact == other.artefact


def test_a_snapshot_knows_its_files(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("one")
    found = Snapshot.of([path])
    found.check()
    path.write_text("two")  # of the same size, perhaps within a tick of the clock
    with pytest.raises(LogError, match=r"log\.csv was changed after reading began.*read a copy"):
        found.check()
    found = Snapshot.of([path])
    stamp = path.stat()
    path.write_text("six")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as some tools put it back
    with pytest.raises(LogError, match="was changed"):
        found.check()
    found = Snapshot.of([path])
    path.unlink()
    with pytest.raises(LogError, match="was changed"):
        found.check()
    Snapshot.of([tmp_path / "none.csv"]).check()


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_pipe_is_no_file_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    found = Snapshot.of([path])
    os.utime(path)
    found.check()


@pytest.mark.parametrize(("engine", "suffix"), READ)
def test_a_file_that_changes_while_it_is_read_is_refused(
    engine: Any, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything could be paid for, whatever came of reading a torn file."""
    path = tmp_path / f"log{suffix}"
    put(BEFORE, path)
    shape = Reading.without_rows if engine == "duckdb" else Reading.of
    name = shape.__name__

    def writing(self: Reading, raw: Any) -> Any:
        monkeypatch.undo()
        put(CHANGES["redacted"](BEFORE), path)
        return shape(self, raw)

    monkeypatch.setattr(Reading, name, writing)
    with pytest.raises(LogError, match=f"log{suffix} was changed after reading began"):
        read_log(path, engine=engine)
    read_log(path, engine=engine)


@pytest.mark.parametrize("in_place", [True, False], ids=["rewritten", "renamed"])
@pytest.mark.parametrize(("engine", "suffix"), READ)
def test_a_file_replaced_before_the_draw_gives_the_log_that_was_read_or_none(
    engine: Any, suffix: str, in_place: bool, tmp_path: Path
) -> None:
    check_one_log(engine, suffix, in_place=in_place, folder=tmp_path)


def check_one_log(engine: Any, suffix: str, *, in_place: bool, folder: Path) -> None:
    """What is checked before the file changes is released; what is not is refused by the check."""
    path = folder / f"log{suffix}"
    put(BEFORE, path)
    unchanged, checked, unread = (
        read_log(path, engine=engine, individual=PERSON) for _ in range(3)
    )
    chosen = mechanism("whole", epsilon=5, variants="travas", attributes="org:resource")
    chosen.check(checked)
    was = sums_over(unchanged, ["org:resource"]).total(times())
    put(CHANGES["all cases of one person"](BEFORE), path, in_place=in_place)
    assert sums_over(checked, ["org:resource"]).total(times()).equals(was)
    assert unread.variants == unchanged.variants
    if engine == "memory" or suffix == ".csv":  # all of it was read at once
        chosen.check(unread)
        assert sums_over(unread, ["org:resource"]).total(times()).equals(was)
    else:
        for more in (None, 1):
            with pytest.raises(LogError, match="was changed after reading began"):
                replace(chosen, cases_per_individual=more).check(unread)
