"""Reading with DuckDB: the same rules as in memory, whatever form the log comes in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
import pytest

from discreet.log.engines.duckdb import PREFIX, Scratch, sweep
from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.instants import microseconds
from discreet.log.loading import read_log
from discreet.log.samples import PERSON, sample_log
from discreet.log.writing import write_log

duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")

ROWS = {
    "case": ["2", "1", "1", "10", "2", "1"],
    "what": ["b", "a", "é", "a", "a", "c"],
    "at": [5, 1, 1, 3, 5, 1],
    "life": ["start", None, "complete", "a+b", "start", ""],
    "who": ["x", "y", "y", "x", "x", "y"],
    "rank": [2, 3, 1, 1, 1, 2],
    "rest": [1.5, None, 2.5, 0.0, 1.0, 2.0],
}
OPTIONS: dict[str, Any] = {"case": "case", "activity": "what", "timestamp": "at"}


def table(**columns: Any) -> pl.DataFrame:
    frame = pl.DataFrame(ROWS)
    frame = frame.with_columns(pl.from_epoch("at", time_unit="s").cast(pl.Datetime("us", "UTC")))
    return frame.with_columns(**columns)


def both(
    path: Path | pl.DataFrame, frame: pl.DataFrame | None = None, **options: Any
) -> tuple[EventLog, EngineLog]:
    """The log from both engines, which must agree on all that mechanisms read."""
    given = path if frame is None else frame
    memory = read_log(given, **OPTIONS | {"engine": "memory"} | options)
    counted = read_log(path, **OPTIONS | {"engine": "duckdb"} | options)
    assert isinstance(counted, EngineLog)
    assert counted.variants == memory.variants
    assert counted.activities == memory.activities
    assert (counted.cases, counted.events) == (memory.cases, memory.events)
    assert counted.names == memory.names
    assert counted.individual == memory.individual
    assert counted.period() == memory.period()
    assert counted.left_out == memory.left_out
    assert counted.clocks.offsets == memory.clocks.offsets
    by_name = memory.take_cases(sorted(range(memory.cases), key=memory.case_ids.__getitem__))
    assert counted.case_ids == by_name.case_ids
    assert counted.codes.tolist() == by_name.codes.tolist()
    if memory.has_times:
        assert microseconds(counted).tolist() == microseconds(by_name).tolist()
    return memory, counted


def refused(data: Any, **options: Any) -> str:
    with pytest.raises(LogError) as caught:
        read_log(data, **OPTIONS | {"engine": "duckdb"} | options)
    return str(caught.value)


ZONE = pl.Datetime("us", "UTC")
AUTUMN = pl.datetime_range(
    pl.datetime(2021, 10, 31, 0), pl.datetime(2021, 10, 31, 5), "1h", time_unit="us", eager=True
)

WHOLE = (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, microsecond=1, tzinfo=UTC))

FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "milliseconds": ({"at": pl.col("at").cast(pl.Datetime("ms", "UTC"))}, {}),
    "nanoseconds": ({"at": pl.col("at").cast(pl.Datetime("ns", "UTC"))}, {}),
    "local nanoseconds": ({"at": pl.col("at").cast(pl.Datetime("ns"))}, {}),
    "local": ({"at": pl.col("at").dt.replace_time_zone(None)}, {}),
    "local of a zone": (
        {"at": pl.col("at").dt.replace_time_zone(None)},
        {"timezone": "Europe/Amsterdam"},
    ),
    "the hour that comes twice": ({"at": AUTUMN}, {"timezone": "Europe/Amsterdam"}),
    "dates": ({"at": pl.col("at").dt.date()}, {}),
    "texts": ({"at": pl.col("at").dt.strftime("%d.%m.%Y %H:%M:%S")}, {}),
    "seconds": ({"at": pl.col("at").dt.epoch("s")}, {"timestamp_format": "seconds"}),
    "microseconds": ({"at": pl.col("at") + pl.duration(microseconds=7 * pl.col("rank"))}, {}),
    "the whole calendar": (
        {"at": pl.Series([WHOLE[i] for i in (0, 1, 1, 0, 1, 0)])},
        {},
    ),
    "before 1970": ({"at": pl.col("at").dt.offset_by("-90y")}, {}),
    "number as case": ({"case": pl.col("case").cast(pl.Int32)}, {}),
    "number as activity": ({"what": pl.col("rank").cast(pl.UInt16)}, {}),
    "date as activity": ({"what": pl.col("at").dt.date()}, {}),
    "truth as activity": ({"what": pl.col("rank") > 1}, {}),
    "categories": ({"what": pl.col("what").cast(pl.Categorical)}, {}),
    "lifecycle": ({}, {"classifier": "activity+lifecycle", "lifecycle": "life"}),
    "transitions": ({}, {"transitions": "complete, a+b", "lifecycle": "life"}),
    "transitions of numbers": ({}, {"transitions": "1", "lifecycle": "rank", "order": "file"}),
    "transitions of truths": (
        {"life": pl.col("rank") > 1},
        {"transitions": "true", "lifecycle": "life", "classifier": "activity+lifecycle"},
    ),
    "transitions of whole cases": (
        {"what": pl.when(pl.col("rank") > 1).then(pl.col("what"))},
        {"transitions": "start", "lifecycle": "life", "drop_incomplete": True},
    ),
    "individual": ({}, {"individual": "who"}),
    "number as individual": ({"who": pl.lit(7)}, {"individual": "who"}),
    "case as individual": ({}, {"individual": "case"}),
    "order of the file": ({}, {"order": "file"}),
    "tie-break": ({}, {"tie_break": "rank"}),
    "tie-break by text": ({}, {"tie_break": ["life", "who"], "drop_incomplete": False}),
    "tie-break by activity": ({}, {"tie_break": "what"}),
    "tie-break by date": ({"rank": pl.col("at").dt.date()}, {"tie_break": ["rank", "what"]}),
    "lacking": (
        {"what": pl.when(pl.col("rank") < 3).then(pl.col("what"))},
        {"drop_incomplete": True},
    ),
    "names of the engine": ({"file_row_number": pl.lit(1), "filename": pl.lit("x")}, {}),
    "names that differ by case": ({"CASE": pl.lit("z")}, {}),
    "hostile labels": ({"what": pl.lit("'; DROP TABLE events; --\n\"")}, {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_parquet_is_read_as_in_memory(form: str, tmp_path: Path) -> None:
    columns, options = FORMS[form]
    frame = table(**columns)
    if form == "tie-break by text":
        frame = frame.with_columns(pl.col("life").fill_null("none"))
    path = tmp_path / "it's [a] log.parquet" if form == "plain" else tmp_path / "log.parquet"
    frame.write_parquet(path)
    both(path, frame, **options)
    both(frame, **options)


@pytest.mark.parametrize(
    "form", ["plain", "lifecycle", "transitions", "individual", "order of the file"]
)
def test_csv_is_read_as_in_memory(form: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    table(what=pl.lit('x "quoted", y\nz') + pl.col("what")).write_csv(path)
    both(path, **FORMS[form][1])


def test_csv_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = sample_log("permits", cases=40, seed=2)
    path = tmp_path / "log.csv"
    texts = log.table.with_columns(pl.col(ACTIVITY) + pl.lit('\n"quoted", é'))
    texts.write_csv(path)
    for size in (64, 1000, 12_345):
        monkeypatch.setattr("discreet.log.engines.sources.PIECE", size)
        counted = read_log(path, engine="duckdb")
        assert counted.variants == read_log(path).variants


def test_bare_times_beside_others_are_refused_in_every_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.log.engines.sources.PIECE", 200)
    path = tmp_path / "log.csv"
    rows = [f"{i},a,2020-01-01T00:00:00Z" for i in range(100)]
    path.write_text("\n".join(["case,what,at", *rows, "x,b,2020-10-25 02:30"]) + "\n")
    said = refused(path)
    assert "(1 do)" in said
    assert "--timezone" in said
    memory, counted = both(path, timezone="Europe/Amsterdam")
    assert counted.clocks == memory.clocks
    assert (counted.clocks.bare, counted.clocks.repeated) == (1, 1)


def test_bad_csv_names_its_line_in_every_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{i},a,2020-01-01T00:00:00Z" for i in range(100)]
    faults = {
        "short row": "x,b",
        "a quote inside": 'x,b"c,2020-01-01T00:00:00Z',
        "no timestamp": "x,b,",
        "unread": "x,b,soon",
    }
    for fault in faults.values():
        path = tmp_path / "log.csv"
        path.write_text("\n".join(["case,what,at", *rows, fault, *rows]) + "\n")
        with pytest.raises(LogError) as whole:
            read_log(path, **OPTIONS, engine="memory")
        monkeypatch.setattr("discreet.log.engines.sources.PIECE", 200)
        place = {word for word in str(whole.value).split() if word.rstrip(":").isdigit()}
        assert place & set(refused(path).split()), (refused(path), str(whole.value))


def test_folders_patterns_and_several_files(tmp_path: Path) -> None:
    lake = tmp_path / "lake" / "year=2020"
    lake.mkdir(parents=True)
    frame = table()
    frame[:2].write_parquet(lake / "part-1.parquet")
    frame[2:].write_parquet(lake / "part-2.parquet")
    (lake / "_SUCCESS").touch()
    frame.write_parquet(lake / "_part.parquet")
    for place in (tmp_path / "lake", lake, lake / "part-*.parquet", tmp_path / "**/p*.parquet"):
        _, counted = both(place)
        assert counted.variants == read_log(frame, **OPTIONS).variants
    frame.rename({"rest": "other"}).write_parquet(lake / "part-3.parquet")
    for engine in ("memory", "duckdb"):
        message = refused(tmp_path / "lake", engine=engine)
        assert "part-3.parquet differs from part-1.parquet" in message
    assert "no file matches" in refused(lake / "x*.parquet")
    (lake / "a.csv").write_text("case,what,at\n1,a,2020-01-01\n")
    (lake / "b.csv").write_text("case,what,at\n1,b,2020-01-01\n")
    both_csv = read_log(lake / "*.csv", engine="duckdb", **OPTIONS)
    assert both_csv.variants.to_dict() == {("a", "b"): 1}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"case": pl.when(pl.col("rank") != 3).then(pl.col("case"))}, ["row 2", "no case"]),
        ({"what": pl.when(pl.col("rank") != 3).then(pl.col("what"))}, ["row 2", "no activity"]),
        ({"at": pl.when(pl.col("rank") != 3).then(pl.col("at"))}, ["row 2", "no timestamp"]),
        ({"at": pl.lit("soon")}, ["row 1", "'soon'"]),
        ({"at": pl.lit(5)}, ["timestamp_format"]),
        ({"what": pl.lit(1.5)}, ["floating-point"]),
        (
            {"at": pl.col("at").cast(pl.Datetime("ns", "UTC")).dt.offset_by("1ns")},
            ["finer than a microsecond", "--engine memory"],
        ),
        ({"at": pl.col("at").cast(pl.Datetime("ns")).dt.offset_by("5ns")}, ["finer"]),
    ],
)
def test_what_memory_refuses_is_refused(
    columns: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "log.parquet"
    table(**columns).write_parquet(path)
    message = refused(path)
    assert "log.parquet" in message
    for word in words:
        assert word in message


def test_mixed_individuals_are_refused_on_reading(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    table().write_parquet(path)
    assert "several individuals" in refused(path, individual="rank")
    assert "did you mean 'who'" in refused(path, individual="whom")
    with pytest.raises(LogError, match="no individual column"):
        read_log(path, **OPTIONS, engine="duckdb").cases_of_individuals()


def test_rows_of_a_database_need_what_tells_their_order(tmp_path: Path) -> None:
    path = tmp_path / "log.duckdb"
    frame = table()
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", frame.to_arrow())
        connection.execute("CREATE TABLE events AS SELECT * FROM rows")
    for engine in ("memory", "duckdb"):
        message = refused(path, query="events", engine=engine)
        assert "same time" in message
        assert "--tie-break" in message
        log = read_log(path, query="events", tie_break="rank", engine=engine, **OPTIONS)
        expected = read_log(frame, tie_break="rank", **OPTIONS)
        assert log.variants == expected.variants
        chosen = "SELECT * FROM events WHERE who = 'x'"
        message = refused(path, query=chosen, tie_break="nothing", engine=engine)
        assert "no column 'nothing'" in message
        log = read_log(path, query=chosen, tie_break="what", engine=engine, **OPTIONS)
        assert log.cases == 2
    assert "--query" in refused(path)
    assert "cannot be read" in refused(path, query="nothing_there")
    assert "is for databases" in refused(frame, query="events")
    assert "no order to keep" in refused(path, query="events", order="file")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_types_of_a_relation_are_refused_as_such(engine: Any) -> None:
    with duckdb.connect() as connection:
        connection.register("rows", table().to_arrow())
        for made in ("INTERVAL 1 DAY", "[INTERVAL 1 DAY]", "union_value(a := 1)"):
            relation = connection.sql(f"SELECT *, {made} AS odd FROM rows")
            message = refused(relation, tie_break="rank", engine=engine)
            assert "the column 'odd' holds" in message
            assert "cannot be read; convert it" in message
        for made, kind in {"'\\xff'::BLOB": "Binary", "[1]": "List(Int32)"}.items():
            relation = connection.sql(f"SELECT *, {made} AS odd FROM rows")
            assert read_log(relation, tie_break="rank", engine=engine, **OPTIONS).cases == 3
            message = refused(relation, tie_break="rank", engine=engine, individual="odd")
            assert f"'odd' holds {kind}, which cannot be the individual" in message


def test_a_replaced_database_is_read_anew(tmp_path: Path) -> None:
    path, frame = tmp_path / "memory.duckdb", table()

    def put(rows: pl.DataFrame) -> None:
        fresh = tmp_path / "fresh.duckdb"
        with duckdb.connect(str(fresh)) as connection:
            connection.register("rows", rows.to_arrow())
            connection.execute("CREATE TABLE events AS SELECT * FROM rows")
            connection.execute("CREATE VIEW seen AS SELECT * FROM events")
        fresh.replace(path)

    for query in ("events", "main.seen", "SELECT * FROM events"):
        asked = {"query": query, "tie_break": "rank", **OPTIONS}
        for engine in ("memory", "duckdb"):
            put(frame)
            before = read_log(path, engine=engine, **asked)
            put(frame.filter(pl.col("who") == "x"))
            after = read_log(path, engine=engine, **asked)
            assert after.cases == 2 < before.cases
            assert before.variants == read_log(frame, tie_break="rank", **OPTIONS).variants


def test_a_database_that_is_replaced_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, frame = tmp_path / "log.duckdb", table()
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", frame.to_arrow())
        connection.execute("CREATE TABLE events AS SELECT * FROM rows")

    def replaced(batches: Any) -> Any:
        shutil.copyfile(path, tmp_path / "fresh.duckdb").replace(path)
        return batches

    monkeypatch.setattr("discreet.log.loading.as_query", replaced)
    for engine in ("memory", "duckdb"):
        message = refused(path, query="SELECT * FROM events", tie_break="rank", engine=engine)
        assert "log.duckdb was changed after reading began" in message


def test_a_relation_and_a_database_by_its_address(tmp_path: Path) -> None:
    import sqlite3

    frame = table()
    expected = read_log(frame, tie_break="rank", **OPTIONS).variants
    with duckdb.connect() as connection:
        connection.register("rows", frame.to_arrow())
        relation = connection.sql("SELECT * FROM rows")
        assert read_log(relation, tie_break="rank", **OPTIONS).variants == expected
        assert "same time" in refused(relation)
    path = tmp_path / "log.sqlite"
    with sqlite3.connect(path) as rows:
        rows.execute('CREATE TABLE events ("case", what, at, rank)')
        texts = frame.with_columns(pl.col("at").dt.strftime("%Y-%m-%d %H:%M:%S"))
        rows.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?)",
            texts.select("case", "what", "at", "rank").iter_rows(),
        )
    rows.close()
    for engine in ("memory", "duckdb"):
        address = f"sqlite:///{path}"
        log = read_log(address, query="events", tie_break="rank", engine=engine, **OPTIONS)
        assert log.variants == expected
        assert "--query" in refused(address, engine=engine)
        assert "cannot be read" in refused(address, query="nothing", engine=engine)
        secret = "postgresql://me:hunter2@localhost:1/none"
        assert "hunter2" not in refused(secret, query="events", engine=engine)


def test_what_does_not_fit_is_refused_before_it_is_fetched(tmp_path: Path) -> None:
    from discreet.log.engines.view import EVENT_BYTES

    path = tmp_path / "log.parquet"
    write_log(sample_log("permits", cases=50, seed=1), path)
    log = read_log(path, engine="duckdb", memory="100MB")
    assert isinstance(log, EngineLog)
    log.engine.memory = log.events * EVENT_BYTES - 1  # type: ignore[misc]
    with pytest.raises(LogError, match=r"too large.*travas.*--memory"):
        log.require("events")
    log.require("variants")
    fresh = read_log(path, engine="duckdb")
    assert isinstance(fresh, EngineLog)
    fresh.engine.memory = 1  # type: ignore[misc]
    with pytest.raises(LogError, match="its variants"):
        fresh.require("variants")
    for wrong in ("much", "4", "1kB"):
        assert "--memory" in refused(path, memory=wrong)


def test_a_larger_log_within_a_small_limit_spills(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    many = 1_000_000
    frame = pl.DataFrame(
        {
            CASE: rng.integers(0, 100_000, many),
            ACTIVITY: rng.integers(0, 30, many),
            TIME: pl.Series(rng.integers(0, 10**6, many)).cast(pl.Datetime("us", "UTC")),
        }
    )
    path = tmp_path / "log.parquet"
    frame.write_parquet(path)
    log = read_log(path, engine="duckdb", memory="100MB")
    assert (log.cases, log.events) == (frame[CASE].n_unique(), many)
    assert isinstance(log, EngineLog)
    lengths = frame.group_by(CASE).len()["len"].value_counts().rows()
    assert log.engine.lengths() == dict(lengths)


def test_folders_of_killed_processes_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    script = (
        "import os, signal, sys\n"
        "from discreet.log.engines.duckdb import Scratch\n"
        "scratch = Scratch()\n"
        "(scratch.path / 'secret').write_text('rows')\n"
        "print(scratch.path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    left = Path(done.stdout.strip())
    assert (left / "secret").exists()
    mine = Scratch()
    assert not left.exists()
    assert mine.path.name.startswith(PREFIX)
    assert mine.path.stat().st_mode & 0o077 == 0
    sweep(tmp_path)
    assert mine.path.exists()
    mine.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_another_process_sweeps_away_at_once_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    locks: list[BinaryIO] = []

    def hold(lock: BinaryIO) -> bool:
        if not locks:
            shutil.rmtree(Path(lock.name).parent)
        locks.append(lock)
        return len(locks) > 1

    monkeypatch.setattr("discreet.log.engines.duckdb._hold", hold)
    mine = Scratch()
    assert [lock.closed for lock in locks] == [True, False]
    assert list(tmp_path.iterdir()) == [mine.path]
    mine.close()


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "log.parquet"
    table().write_parquet(path)
    log = read_log(path, **OPTIONS, engine="duckdb")
    assert log.variants.cases == 3
    del log
    assert [entry.name for entry in tmp_path.iterdir()] == ["log.parquet"]


def test_people_of_a_log_are_bounded_in_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_log(sample_log("hospital", cases=300, seed=1), path)
    log = read_log(path, engine="duckdb", individual=PERSON)
    assert isinstance(log, EngineLog)
    first, again = log.bounded(1, b"a" * 32), log.bounded(1, b"b" * 32)
    assert first.cases == again.cases == len(log.cases_of_individuals()) < log.cases
    assert first.case_ids != again.case_ids
    assert first.variants.cases == first.cases
