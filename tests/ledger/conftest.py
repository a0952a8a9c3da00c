"""Ledgers in both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from discreet.ledger.ledger import Ledger
from tests.ledger.postgres import programs, temporary_server


@pytest.fixture(autouse=True)
def private_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees or makes a ledger of whoever runs it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.delenv("DISCREET_LEDGER_KEY", raising=False)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    with temporary_server() as url:
        yield url


@pytest.fixture
def postgres_url(server: str) -> str:
    """The server's database, emptied."""
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return server


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A fresh file."""
    return str(tmp_path / "ledger.db")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Where a ledger may be, in each database in turn."""
    name = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    where: str = request.getfixturevalue(name)
    return where


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    """An empty ledger, in each database in turn."""
    made = Ledger(url, create=True)
    yield made
    made.close()
