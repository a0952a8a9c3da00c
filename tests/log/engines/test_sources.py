"""Reading from a real PostgreSQL: the same log as from a file, refused where it has no order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from sqlalchemy import create_engine, text

from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME
from discreet.log.loading import read_log
from discreet.log.samples import PERSON, sample_log
from discreet.mechanisms.registry import mechanism
from tests.ledger.postgres import programs, temporary_server

pytest.importorskip("duckdb", reason="needs the extra duckdb")

ROLES: dict[str, Any] = {"case": "patient", "activity": "step", "timestamp": "at"}


def rows() -> pl.DataFrame:
    """Times in whole weeks, so that most are tied; labels that collations sort differently."""
    table = sample_log("permits", cases=80, seed=3).table
    table = table.with_columns(pl.col(TIME).dt.truncate("1w"), pl.int_range(pl.len()).alias("seq"))
    return table.with_columns(
        pl.when(pl.col("seq") % 3 == 0)
        .then(pl.col(ACTIVITY).str.to_uppercase())
        .otherwise(ACTIVITY)
        .alias(ACTIVITY)
    )


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    with temporary_server() as url:
        database = create_engine(url)
        with database.begin() as connection:
            connection.execute(
                text(
                    "CREATE TABLE events (patient text, step text, at timestamptz, seq bigint, "
                    "person text, amount numeric)"
                )
            )
            insert = text("INSERT INTO events VALUES (:c, :a, :t, :s, :p, 1.50)")
            shuffled = rows().sample(fraction=1, shuffle=True, seed=1)
            found = shuffled.select(c=CASE, a=ACTIVITY, t=TIME, s="seq", p=PERSON)
            connection.execute(insert, found.to_dicts())
        database.dispose()
        yield url


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_table_is_read_like_a_file(engine: Any, server: str) -> None:
    expected = read_log(rows(), individual=PERSON)
    log = read_log(
        server, query="events", tie_break="seq", individual="person", engine=engine, **ROLES
    )
    assert isinstance(log, EngineLog) == (engine == "duckdb")
    assert log.variants == expected.variants
    assert log.period() == expected.period()
    assert sorted(log.cases_of_individuals()) == sorted(expected.cases_of_individuals())
    some = "SELECT patient, step, at, seq FROM events WHERE patient <> 'nobody' AND seq % 2 = 0"
    half = read_log(server, query=some, tie_break="seq", engine=engine, **ROLES)
    assert half.variants == read_log(rows().filter(pl.col("seq") % 2 == 0)).variants
    released = mechanism("travas", epsilon=3, delta=1e-2, cases_per_individual=1).release(log)
    assert released.guarantee.unit == "individual"


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_what_leaves_the_order_open_is_refused(engine: Any, server: str) -> None:
    def refused(query: str, **more: Any) -> str:
        with pytest.raises(LogError) as caught:
            read_log(server, query=query, engine=engine, **ROLES, **more)
        return str(caught.value)

    assert "--tie-break" in refused("events")
    assert "no timestamp" in refused(
        "SELECT patient, step, NULLIF(at, at) AS at, seq FROM events", tie_break="seq"
    )
    assert "cannot be read" in refused("no_such_table", tie_break="seq")
    assert "cannot be read" in refused("SELECT * FROM events WHERE", tie_break="seq")
    assert "no column" in refused("SELECT patient, step FROM events")


def test_the_server_sees_no_secret_and_keeps_no_table(server: str) -> None:
    """What is asked of it is the user's query; bounding and counting happen here."""
    log = read_log(
        server, query="events", tie_break="seq", individual="person", engine="duckdb", **ROLES
    )
    assert isinstance(log, EngineLog)
    assert log.bounded(1, b"k" * 32).cases == len(log.cases_of_individuals())
    database = create_engine(server)
    with database.connect() as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(text(tables)).scalar() == 1
    database.dispose()
