"""Logs of any size from the command line: which engine reads them, and what it says."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from tests.cli.conftest import Desk

pytest.importorskip("duckdb", reason="needs the extra duckdb")


@pytest.fixture
def lake(desk: Desk) -> Path:
    """A folder with two Parquet files of one log."""
    folder = desk.folder / "lake"
    folder.mkdir()
    table = sample_log("permits", cases=300, seed=3).table
    table[:1000].write_parquet(folder / "a.parquet")
    table[1000:].write_parquet(folder / "b.parquet")
    return folder


BY_FILE = ("times",)
"""What a typed column does not say: how its times were written."""

BY_ENGINE = ("people", "transitions", "cautions")
"""Where events stay in an engine, people and transitions are known by their columns' names."""


def test_a_folder_and_a_pattern_are_one_log(desk: Desk, lake: Path) -> None:
    expected = desk.json("inspect", "log.csv")
    for place in ("lake", "lake/*.parquet"):
        for engine in ("memory", "duckdb"):
            found = desk.json("inspect", place, "--engine", engine)
            same = expected.keys() - {"columns", *BY_FILE, *BY_ENGINE}
            assert {k: found[k] for k in same} == {k: expected[k] for k in same}
            assert found["people"]["column"] == expected["people"]["column"] == "case:person"
            assert [c["name"] for c in found["columns"]] == [c["name"] for c in expected["columns"]]


def test_the_engine_is_chosen_by_size_and_the_reason_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "engine" not in desk.run("inspect", "log.csv").stderr
    monkeypatch.setattr("discreet.log.engines.capacity.TEXT_BYTES", 10_000)
    shown = desk.run("inspect", "log.csv", "--memory", "100MB")
    assert "Reading with the engine duckdb: in memory it would take about" in shown.stderr
    assert "100 MB may be used" in shown.stderr
    assert "engine" not in desk.run("inspect", "log.csv", "--engine", "duckdb").stderr
    assert "engine" not in shown.stdout
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    shown = desk.run("inspect", "log.csv", "--memory", "100MB")
    assert "pip install 'discreet[duckdb]'" in shown.stderr


def test_release_and_evaluate(desk: Desk, lake: Path) -> None:
    options = ("--engine", "duckdb", "--memory", "200MB")
    desk.run("release", "lake", *options, "-m", "travas", "-o", "out.parquet", "--epsilon", "2")
    assert read_log(desk.folder / "out.parquet").cases > 100
    found = desk.json("evaluate", "lake", "out.parquet", *options, "--measure", "similarity")
    assert found
    told = desk.run("release", "lake", *options, "-m", "amun", "-o", "timed.xes", "--epsilon", "2")
    assert "Written" in told.stdout


def test_a_release_is_never_written_over_or_among_what_is_read(desk: Desk, lake: Path) -> None:
    arguments = ("-m", "travas", "--epsilon", "2", "--force")
    said = desk.refused("release", "lake", *arguments, "-o", "lake/out.parquet")
    assert "in the folder that is read" in said
    said = desk.refused("release", "lake/*.parquet", *arguments, "-o", "lake/a.parquet")
    assert "is the file that is read" in said
    assert sorted(path.name for path in lake.iterdir()) == ["a.parquet", "b.parquet"]


def test_a_table_of_a_database(desk: Desk) -> None:
    import duckdb

    table = read_log(desk.folder / "log.csv").table.with_row_index("number")
    with duckdb.connect("log.duckdb") as connection:
        connection.register("rows", table.with_columns(pl.col("number").cast(pl.Int64)).to_arrow())
        connection.execute("CREATE TABLE events AS SELECT * FROM rows")
    expected = desk.json("inspect", "log.csv")
    query = ("--query", "events", "--tie-break", "number")
    found = desk.json("inspect", "log.duckdb", *query)
    assert found["frequent"] == expected["frequent"]
    assert "--query" in desk.refused("inspect", "log.duckdb")
    assert "hunter2" not in desk.refused(
        "inspect", "postgresql://me:hunter2@localhost:1/none", "--query", "events"
    )
    desk.run("inspect", "log.duckdb", *query, "--engine", "duckdb", "--save-mapping", "how.toml")
    kept = (desk.folder / "how.toml").read_text()
    assert 'tie_break = "number"' in kept
    assert "engine" not in kept
    assert desk.json("inspect", "log.duckdb", "--mapping", "how.toml")["cases"] == 300


def test_what_an_engine_cannot_read_is_said(desk: Desk) -> None:
    write_log(read_log(desk.folder / "log.csv"), desk.folder / "log.xes")
    said = desk.refused("inspect", "log.xes", "--engine", "duckdb")
    assert "--engine memory" in said
    assert "engine must be one of" in desk.refused("inspect", "log.csv", "--engine", "warp")
    assert "--memory" in desk.refused("inspect", "log.csv", "--memory", "lots")


def test_a_table_of_variants_as_release(desk: Desk) -> None:
    given = ("--epsilon", "2", "--no-ledger")
    desk.run("release", "log.csv", "-m", "travas", *given, "-o", "out.variants.parquet")
    assert "proved" in desk.run("certificate", "out.variants.parquet").stdout
    found = desk.json("evaluate", "log.csv", "out.variants.parquet", "--measure", "similarity")
    assert found
    assert desk.json("inspect", "out.variants.parquet")["cases"] > 100
    said = desk.refused("release", "log.csv", "-m", "amun", *given, "-o", "t.variants.parquet")
    assert "variants only" in said
