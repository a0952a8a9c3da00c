"""Ledgers written by earlier versions, and by later ones."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

import discreet
from discreet.ledger.errors import LedgerError
from discreet.ledger.ledger import Ledger
from discreet.ledger.storage import VERSION, entries, heads, schema, seen, version_of
from discreet.privacy.guarantee import Budget

LOG = discreet.sample_log("hospital", cases=60, seed=1)
TRAVAS = discreet.mechanism("travas", epsilon=0.5)


@pytest.fixture
def first_version(tmp_path: Path) -> Path:
    """A ledger as version 1 wrote it: a cap, a release noted as written, another that was not."""
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((Path(__file__).parent / "version1.sql").read_text())
    return path


def version(ledger: Ledger) -> int:
    with ledger.storage.reading() as connection:
        return version_of(connection)


def test_an_old_ledger_is_read_as_it_is_and_migrated_when_written(first_version: Path) -> None:
    with Ledger(first_version) as ledger:
        head, problems = ledger.verify()
        assert (head.count, problems) == (4, [])
        assert float(ledger.account("town").spent.epsilon) == 0.75
        assert version(ledger) == 1
        booked = ledger.release(TRAVAS, LOG, source="town")
        ledger.confirm(booked, booked.release.certificate())
        assert version(ledger) == VERSION
    with Ledger(first_version) as ledger:
        run = ledger.begin(TRAVAS, LOG, source="town")
        assert run.mark is not None
        run.finished(run.mark, "model")
        assert [row["kind"] for row in ledger.history()] == ["budget", *4 * ["release"]]
        assert float(ledger.account("town").spent.epsilon) == 1.75
        assert ledger.account("town").case_column == "case:concept:name"
        assert ledger.verify(head.hash)[1] == []


def test_a_failed_write_migrates_nothing(first_version: Path) -> None:
    with Ledger(first_version) as ledger:
        with pytest.raises(LedgerError, match="does not fit"):
            ledger.release(discreet.mechanism("travas", epsilon=9), LOG, source="town")
        assert version(ledger) == 1
        ledger.release(TRAVAS, LOG, source="town")
        assert version(ledger) == VERSION


def test_both_databases_migrate(ledger: Ledger) -> None:
    """Take away what version 2 added, as version 1 would have left it."""
    ledger.set_budget("town", Budget(3, 1e-5))
    old = {entries.name, heads.name, seen.name}
    with ledger.storage.engine.begin() as connection:
        for name in set(schema.tables) - old:
            connection.execute(text(f"DROP TABLE {name}"))
    with Ledger(ledger.location) as again:
        assert version(again) == 1
        again.begin(TRAVAS, LOG, source="town")
        assert version(again) == VERSION
        assert again.verify()[1] == []
        with again.storage.reading() as connection:
            assert set(schema.tables) <= set(inspect(connection).get_table_names())


def test_a_ledger_from_the_future_is_left_alone(ledger: Ledger) -> None:
    with ledger.storage.engine.begin() as connection:
        connection.execute(text("UPDATE discreet_version SET version = 99"))
    with pytest.raises(LedgerError, match="newer discreet"):
        Ledger(ledger.location)
