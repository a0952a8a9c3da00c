"""The server's own tables: people, logs in use, jobs, releases, requests, and who did what."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
)

from discreet.web.settings import Settings, WebError
from discreet.web.upgrading import upgrade

LOCK = 7305792411
"""Number of the advisory lock by which a server holds a database in PostgreSQL."""

VERSION = 2
"""Version of the tables: 1 tells people apart by name, 2 by identifiers that are never reused."""

schema = MetaData()
versions = Table("web_version", schema, Column("version", Integer, nullable=False))
users = Table(
    "web_users",
    schema,
    Column("id", String(32), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("role", String(20), nullable=False),
    Column("password", Text),
    Column("active", Boolean, nullable=False, default=True),
)
"""A removed person's row stays: another person of that name gets another identifier."""
Index(
    "web_users_by_name",
    users.c.name,
    unique=True,
    sqlite_where=text("active"),
    postgresql_where=text("active"),
)
sessions = Table(
    "web_sessions",
    schema,
    Column("key", String(64), primary_key=True),
    Column("user", ForeignKey(users.c.id), nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("began", Float, nullable=False),
    Column("seen", Float, nullable=False),
)
tokens = Table(
    "web_tokens",
    schema,
    Column("key", String(64), primary_key=True),
    Column("id", String(32), unique=True, nullable=False),
    Column("user", ForeignKey(users.c.id), nullable=False),
    Column("name", String(200), nullable=False),
    Column("made", String(32), nullable=False),
)
browsers = Table(
    "web_browsers",
    schema,
    Column("key", String(64), primary_key=True),
    Column("user", ForeignKey(users.c.id), primary_key=True),
    Column("seen", Float, nullable=False),
)
"""Browsers in which each person has signed in before."""
logs = Table(
    "web_logs",
    schema,
    Column("id", String(32), primary_key=True),
    Column("name", String(300), nullable=False),
    Column("file", Text, nullable=False),
    Column("uploaded", Boolean, nullable=False),
    Column("user", String(200), nullable=False),
    Column("made", String(32), nullable=False),
    Column("reading", JSON, nullable=False),
    Column("choice", JSON, nullable=False),
)
jobs = Table(
    "web_jobs",
    schema,
    Column("id", String(32), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("log", String(32)),
    Column("person", String(32)),
    Column("user", String(200), nullable=False),
    Column("steward", Boolean, nullable=False, default=False),
    Column("state", String(20), nullable=False, index=True),
    Column("rank", Integer, nullable=False),
    Column("asked", Float, nullable=False),
    Column("ended", Float),
    Column("spec", JSON, nullable=False),
    Column("result", JSON),
    Column("problem", Text),
    Column("once", String(100), unique=True),
    Column("content", String(64)),
)
"""`person` identifies the owner, `user` is their name when it was queued, and `content` is the
digest of what was sent with `once`."""
releases = Table(
    "web_releases",
    schema,
    Column("id", String(32), primary_key=True),
    Column("job", String(32), nullable=False),
    Column("person", String(32)),
    Column("user", String(200), nullable=False),
    Column("source", String(200), nullable=False),
    Column("purpose", Text, nullable=False),
    Column("file", String(200), nullable=False),
    Column("made", String(32), nullable=False),
    Column("summary", JSON, nullable=False),
)
offers = Table(
    "web_offers",
    schema,
    Column("id", String(32), primary_key=True),
    Column("source", String(200), unique=True, nullable=False),
    Column("log", String(32), nullable=False),
    Column("reading", JSON, nullable=False),
    Column("choice", JSON, nullable=False),
    Column("about", Text, nullable=False),
    Column("at_once", Float, nullable=False),
    Column("at_once_delta", Float, nullable=False),
)
requests = Table(
    "web_requests",
    schema,
    Column("id", String(32), primary_key=True),
    Column("offer", String(32), nullable=False),
    Column("source", String(200), nullable=False),
    Column("person", String(32)),
    Column("user", String(200), nullable=False),
    Column("asked", Float, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("cost_epsilon", Float, nullable=False),
    Column("cost_delta", Float, nullable=False),
    Column("state", String(20), nullable=False),
    Column("answer", Text, nullable=False, default=""),
    Column("decided", Float),
    Column("job", String(32)),
    Column("once", String(100), unique=True),
    Column("content", String(64)),
)
ledgers = Table("web_ledger", schema, Column("id", String(64), primary_key=True))
"""The identifier of the ledger on which everything here was booked."""
trail = Table(
    "web_trail",
    schema,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("time", String(32), nullable=False),
    Column("user", String(200), nullable=False),
    Column("did", String(40), nullable=False),
    Column("what", Text, nullable=False),
)


def fresh_id() -> str:
    """An identifier of 128 random bits, which nobody can guess."""
    return secrets.token_hex(16)


def now() -> str:
    """The present time in UTC as text, to the second."""
    return stamp(time.time())


def stamp(seconds: float) -> str:
    """A Unix time in UTC as text, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


class Database:
    """The database of the tables, in SQLite or PostgreSQL."""

    def __init__(self, settings: Settings) -> None:
        file = settings.folder / "web.db"
        url = settings.database or f"sqlite:///{file}"
        self._held: Connection | None = None
        self.sqlite = url.startswith("sqlite")
        arguments: dict[str, Any] = {"timeout": 60} if self.sqlite else {}
        self.engine = create_engine(url, connect_args=arguments, pool_size=20, max_overflow=40)
        if self.sqlite:
            event.listen(self.engine, "connect", _prepared)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        """Hold the database, and create or upgrade its tables to this version."""
        if not self.sqlite:
            self._hold()
        with self.writing() as connection:
            if not inspect(connection).has_table(versions.name):
                schema.create_all(connection)
                connection.execute(insert(versions).values(version=VERSION))
            found = connection.execute(select(versions.c.version)).scalar_one()
            if found == 1:
                upgrade(connection, schema)
                found = VERSION
        if found != VERSION:
            raise WebError(
                f"the web app's database has version {found}, this discreet knows {VERSION}: "
                "use the discreet that wrote it, or another folder (--folder)"
            )

    def _hold(self) -> None:
        """Keep other servers out, which would take this one's jobs for leftovers."""
        self._held = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        if not self._held.execute(select(func.pg_try_advisory_lock(LOCK))).scalar_one():
            raise WebError(
                "another discreet serve uses this database: stop that one, or name another "
                "database with --database"
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for reading."""
        with self.engine.connect() as connection:
            yield connection
            connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed unless the block raises."""
        with self.engine.connect() as connection:
            if self.sqlite:
                connection.execute(text("BEGIN IMMEDIATE"))
            yield connection
            connection.commit()

    def row(self, table: Table, identity: str) -> Row[Any] | None:
        """The row with this identifier; None if there is none."""
        with self.reading() as connection:
            return connection.execute(select(table).where(table.c.id == identity)).one_or_none()

    def note(self, user: str, did: str, what: str = "") -> None:
        """Record in the trail who did what."""
        with self.writing() as connection:
            noted(connection, user, did, what)

    def close(self) -> None:
        """Close all connections to the database."""
        if self._held is not None:
            self._held.close()
        self.engine.dispose()


def noted(connection: Connection, user: str, did: str, what: str = "") -> None:
    """Record in the trail who did what, within an open transaction."""
    connection.execute(insert(trail).values(time=now(), user=user, did=did, what=what[:500]))


def _prepared(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # `writing` says where a transaction begins
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
