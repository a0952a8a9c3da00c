"""A folder that an earlier version wrote: whose everything is, and what it may do from now on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, Row, Table, create_engine, insert, select, text

from discreet.web import database as tables
from discreet.web.database import VERSION, Database
from discreet.web.settings import Settings
from tests.ledger.postgres import programs, temporary_server


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Settings]:
    """A database of version 1, in which mara was removed and another mara was let in."""
    settings.folder.mkdir()
    file = settings.folder / "web.db"
    with sqlite3.connect(file) as connection:
        connection.executescript((Path(__file__).parent / "version1.sql").read_text("utf-8"))
    connection.close()
    if request.param == "sqlite":
        yield settings
        return
    if programs() is None:
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    with temporary_server() as url:
        place = replace(settings, database=url.replace("postgresql://", "postgresql+psycopg://"))
        _copied(f"sqlite:///{file}", place.database or "")
        yield place


def _copied(before: str, after: str) -> None:
    """The same tables in another database."""
    held, schema = create_engine(before), MetaData()
    schema.reflect(held)
    into = create_engine(after)
    with held.connect() as source, into.begin() as target:
        ours = [one for one in schema.sorted_tables if one.name.startswith("web_")]
        schema.create_all(target, ours)
        for table in ours:
            if rows := [dict(row) for row in source.execute(select(table)).mappings()]:
                target.execute(insert(table), rows)
    held.dispose()
    into.dispose()


def test_what_version_1_kept_by_name_is_told_apart(old: Settings) -> None:
    database = Database(old)
    with database.reading() as connection:
        assert connection.execute(select(tables.versions.c.version)).scalar_one() == VERSION

        def rows(table: Table) -> list[Row[Any]]:
            return list(connection.execute(select(table)).all())

        users = rows(tables.users)
        owner = {user.id: (user.name, user.active) for user in users}
        assert sorted(owner.values()) == [
            ("Ana", False), ("Stu", True), ("mara", False), ("mara", True), ("root", True),
        ]  # fmt: skip
        second = next(user for user in users if user.name == "mara" and user.active)
        first = next(user for user in users if user.name == "mara" and not user.active)
        assert second.password
        assert first.password is None
        assert [token.user for token in rows(tables.tokens) if token.name == "of the second"] == [
            second.id
        ]
        for table in (tables.releases, tables.requests):
            found = {row.purpose: row.person for row in rows(table)}
            assert found["what mara wants"] == first.id
            assert found["what the second mara wants"] == second.id
            assert owner[found["what Ana wants"]] == ("Ana", False)
        checks = [job for job in rows(tables.jobs) if job.kind == "verify"]
        assert [job.person for job in checks] == [first.id]
        assert all(job.spec["language"] == "en" for job in rows(tables.jobs))
        (offer,) = rows(tables.offers)
        assert (offer.at_once, offer.at_once_delta, offer.reading) == (0.5, 0.0, {})
        assert all(one.cost_epsilon == one.epsilon for one in rows(tables.requests))
        trail = [row.did for row in sorted(rows(tables.trail), key=lambda row: row.number)]
        assert trail[0] == "entered"
    database.note("Stu", "looked", "after the upgrade")
    database.close()
    again = Database(old)
    assert again.row(tables.users, second.id) is not None
    again.close()


def test_a_failed_upgrade_changes_nothing(old: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no power")

    monkeypatch.setattr("discreet.web.upgrading._Owners", broken)
    with pytest.raises(RuntimeError, match="no power"):
        Database(old)
    monkeypatch.undo()
    database = Database(old)
    with database.reading() as connection:
        assert connection.execute(select(tables.users)).all()
    database.close()


def test_a_later_version_is_refused(settings: Settings) -> None:
    settings.folder.mkdir()
    database = Database(settings)
    with database.writing() as connection:
        connection.execute(text("UPDATE web_version SET version = 99"))
    database.close()
    with pytest.raises(ValueError, match="version 99"):
        Database(settings)
