"""Storage: the ledger's tables in SQLite or PostgreSQL, and the one transaction that writes.

The tables have a version. An older ledger is read as it is and migrated in the transaction of the
next writer; a newer one is refused.

Writers queue at one lock, SQLite's write lock (BEGIN IMMEDIATE) or the row of the chain's head
(SELECT … FOR UPDATE), from before the total is read until the entry is durable. Under that lock
reading, checking and appending are one step, so no two grants see the same total.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from discreet.ledger.chain import Entry, Head
from discreet.ledger.errors import LedgerError, NoLedgerError
from discreet.ledger.location import Location

VERSION = 2
"""Version of the tables. 1: entries, head, seen, no version noted. 2: also runs and versions."""
LOCK_SECONDS = 60
"""Seconds that a writer waits for its turn."""

schema = MetaData()
entries = Table(
    "discreet_entries",
    schema,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("source", String(200), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("body", Text, nullable=False),
    Column("hash", String(64), nullable=False),
)
Index("discreet_entries_by_source", entries.c.source, entries.c.number)
heads = Table(
    "discreet_head",
    schema,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("key_check", String(64)),
)
seen = Table(
    "discreet_seen",
    schema,
    Column("fingerprint", String(64), primary_key=True),
    Column("source", String(200), primary_key=True),
)
runs = Table(
    "discreet_runs",
    schema,
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("run", String(32), nullable=False),
    Column("mark", String(32), nullable=False),
    Column("model", String(64)),
)
versions = Table(
    "discreet_version", schema, Column("version", Integer, primary_key=True, autoincrement=False)
)

_ddl: Any = DDL
_APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER discreet_no_{verb} BEFORE {verb} ON discreet_entries "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for verb in ("update", "delete")
    ],
    "postgresql": [
        "CREATE FUNCTION discreet_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$",
        "CREATE TRIGGER discreet_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "
        "discreet_entries FOR EACH STATEMENT EXECUTE FUNCTION discreet_append_only()",
    ],
}
for _dialect, _statements in _APPEND_ONLY.items():
    for _statement in _statements:
        event.listen(entries, "after_create", _ddl(_statement).execute_if(dialect=_dialect))


def create_tables(connection: Connection) -> None:
    """Create the tables of an empty ledger."""
    schema.create_all(connection)
    start = Head()
    connection.execute(insert(heads).values(id=1, number=start.count, hash=start.hash))
    connection.execute(insert(versions).values(version=VERSION))


def version_of(connection: Connection) -> int:
    """The version of a ledger's tables; 0 if there are none. A newer one than ours is an error."""
    if not inspect(connection).has_table(heads.name):
        return 0
    if not inspect(connection).has_table(versions.name):
        return 1
    found = int(connection.execute(select(versions.c.version)).scalar_one())
    if found > VERSION:
        raise LedgerError(
            f"this ledger was written by a newer discreet (its tables have version {found}, this "
            f"one knows {VERSION}): upgrade discreet, and nothing is lost"
        )
    return found


def migrate(connection: Connection) -> None:
    """Bring an older ledger to this version, in the transaction of the next writer."""
    found = version_of(connection)
    for number in range(found, VERSION):
        _STEPS[number](connection)
    if found < VERSION:
        connection.execute(update(versions).values(version=VERSION))


def _with_runs(connection: Connection) -> None:
    runs.create(connection)
    versions.create(connection)
    connection.execute(insert(versions).values(version=2))


_STEPS: dict[int, Callable[[Connection], None]] = {1: _with_runs}


@dataclass(frozen=True)
class TrainingRun:
    """A training under way, with the mark of its newest checkpoint.

    `model` is the digest of the model that it ended in, None until then.
    """

    id: str
    mark: str
    model: str | None


class Storage:
    """A ledger's database."""

    def __init__(self, location: Location, *, create: bool = False) -> None:
        self.location = location
        with self._explained():
            if location.file is not None:
                self._check_file(create)
            self.engine = _engine(location)
            try:
                with self.engine.connect() as connection:
                    version = version_of(connection)
            except LedgerError:
                self.engine.dispose()
                raise
            self._migrated = version == VERSION
            if not version and create:
                self._create()
            elif not version:
                raise NoLedgerError(
                    f"there is no ledger at {location} yet; begin one with "
                    "`discreet budget set SOURCE --epsilon 3 --delta 1e-5`"
                )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection whose reads all see the same state."""
        with self._explained(), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            else:
                connection.execute(text("BEGIN"))
            yield connection
            connection.rollback()

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[tuple[Connection, Head]]:
        """The one transaction at a time that may append; durable when the block has ended well.

        What is not `durable` does not wait for the disk: a power cut may take it back, as the end
        of the chain, never from its middle.

        If the connection breaks during the commit, nobody knows whether the entry was booked.
        That ends in an error like all others: nothing is released, a spend may stand.
        """
        with self._explained(), self.engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                # in WAL mode NORMAL would lose the last commits in a power cut
                level = "FULL" if durable else "NORMAL"
                connection.execute(text(f"PRAGMA synchronous = {level}"))
                connection.execute(text("BEGIN IMMEDIATE"))
            elif not durable:
                connection.execute(text("SET LOCAL synchronous_commit = off"))
            end = head(connection, lock=True)
            if not self._migrated:
                migrate(connection)
            yield connection, end
            connection.commit()
            self._migrated = True

    def _check_file(self, create: bool) -> None:
        file = self.location.file
        assert file is not None
        if create:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(mode=0o600, exist_ok=True)
        elif not file.exists():
            raise NoLedgerError(
                f"there is no ledger at {file} yet; begin one with "
                "`discreet budget set SOURCE --epsilon 3 --delta 1e-5`"
            )

    def _create(self) -> None:
        with self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(7305792410)"))
            else:
                connection.execute(text("PRAGMA journal_mode = WAL"))
                connection.execute(text("BEGIN IMMEDIATE"))
            if not inspect(connection).has_table(heads.name):
                create_tables(connection)
            connection.commit()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of the database or the disk into a LedgerError that says what to do."""
        try:
            yield
        except DBAPIError as error:
            raise LedgerError(self._explain(str(error.orig))) from error
        except ArgumentError as error:
            raise LedgerError(f"the ledger's URL cannot be understood: {error}") from error
        except SQLAlchemyError as error:
            raise LedgerError(self._explain(str(error))) from error
        except ModuleNotFoundError as error:
            raise LedgerError(
                "a ledger in PostgreSQL needs psycopg: pip install 'discreet[postgres]'"
            ) from error
        except OSError as error:
            raise LedgerError(self._explain(error.strerror or str(error))) from error

    def _explain(self, said: str) -> str:
        said = said.strip().splitlines()[0] if said.strip() else "no answer"
        lower = said.lower()
        advice = "check `discreet budget history` before you try again: a spend may stand"
        for signs, words in _ADVICE:
            if any(sign in lower for sign in signs):
                advice = words
                break
        return f"nothing was released: the ledger {self.location} failed ({said}); {advice}"


_ADVICE = (
    (
        ("disk is full", "disk i/o error", "no space", "file too large", "could not extend"),
        "make room on its disk and try again",
    ),
    (
        ("readonly", "read-only", "permission denied"),
        "it is read-only: ask its owner for write access to the file and its folder",
    ),
    (("unable to open",), "check that the folder exists and that you may write to it"),
    (
        ("malformed", "not a database", "corrupt", "invalid page", "disk image"),
        "it is damaged: restore it from a backup and run `discreet budget verify`; do not begin "
        "a fresh one, which would forget what was spent",
    ),
    (
        ("locked", "lock timeout"),
        f"others kept it busy for {LOCK_SECONDS} seconds: wait and try again",
    ),
    (("authentication failed", "no password"), "check user and password in DISCREET_LEDGER"),
    (
        ("connection refused", "could not translate", "connection timeout", "connection failed"),
        "check that the database server is running and that DISCREET_LEDGER names it correctly",
    ),
    (
        ("no such table", "no such column", "does not exist", "has no column"),
        "this is not a ledger of this version of discreet, or it is damaged: restore a backup",
    ),
)


def _engine(location: Location) -> Engine:
    if location.file is None:
        return create_engine(
            location.url,
            pool_pre_ping=True,
            connect_args={
                "connect_timeout": 10,
                "tcp_user_timeout": 30_000,
                "keepalives_idle": 10,
                "keepalives_interval": 5,
                "keepalives_count": 4,
                "options": f"-c lock_timeout={LOCK_SECONDS}s -c synchronous_commit=on",
            },
        )
    engine = create_engine(location.url, connect_args={"timeout": LOCK_SECONDS})

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # this module says where a transaction begins

    return engine


_HEAD = select(heads)
_LOCKED_HEAD = _HEAD.with_for_update()
_MOVE_HEAD = update(heads).values(number=bindparam("last"), hash=bindparam("fresh"))
_APPEND = insert(entries)
_ALL = select(entries).order_by(entries.c.number)
_LAST = select(entries).order_by(entries.c.number.desc()).limit(1)
_COUNT = select(func.count()).select_from(entries)
_LAST_ACCOUNT = _LAST.where(
    entries.c.source == bindparam("named"), entries.c.kind.in_(("budget", "release"))
)
_ENTRY = select(entries).where(entries.c.number == bindparam("wanted"))
_RUN = select(runs).where(runs.c.entry == bindparam("paid"))
_SOURCES = select(entries.c.source).where(entries.c.kind == "budget").distinct()
_NAMES = select(seen.c.source).where(seen.c.fingerprint == bindparam("mark"))


def append(connection: Connection, entry: Entry) -> None:
    """Put an entry at the end of the chain."""
    connection.execute(_APPEND, asdict(entry))
    connection.execute(_MOVE_HEAD, {"last": entry.number, "fresh": entry.hash})


def head(connection: Connection, *, lock: bool = False) -> Head:
    """Where the chain ends, as noted apart from the entries; `lock` keeps other writers out."""
    row = connection.execute(_LOCKED_HEAD if lock else _HEAD).one_or_none()
    if row is None:
        raise LedgerError(
            "the ledger has lost the record of its last entry; restore it from a backup"
        )
    return Head(row.number, row.hash)


def last(connection: Connection) -> Entry | None:
    """The last entry of the chain, if there is one."""
    row = connection.execute(_LAST).one_or_none()
    return Entry(*row) if row is not None else None


def count(connection: Connection) -> int:
    """The number of entries."""
    found: int = connection.execute(_COUNT).scalar_one()
    return found


def last_account(connection: Connection, source: str) -> Entry | None:
    """The last entry that says how a source's account stands."""
    row = connection.execute(_LAST_ACCOUNT, {"named": source}).one_or_none()
    return Entry(*row) if row is not None else None


def entry(connection: Connection, number: int) -> Entry | None:
    """One entry by its number."""
    row = connection.execute(_ENTRY, {"wanted": number}).one_or_none()
    return Entry(*row) if row is not None else None


def add_run(connection: Connection, entry: int, run: str, mark: str) -> None:
    """Note a training that was paid for, and the mark of its first checkpoint."""
    connection.execute(insert(runs).values(entry=entry, run=run, mark=mark))


def run_of(connection: Connection, entry: int) -> TrainingRun | None:
    """The training that an entry paid for, if it did."""
    row = connection.execute(_RUN, {"paid": entry}).one_or_none()
    return TrainingRun(row.run, row.mark, row.model) if row is not None else None


def move_run(connection: Connection, entry: int, mark: str) -> None:
    """Note the mark of a training's newest checkpoint."""
    connection.execute(update(runs).where(runs.c.entry == entry).values(mark=mark))


def end_run(connection: Connection, entry: int, model: str) -> None:
    """Note the digest of the model that a training ended in."""
    connection.execute(update(runs).where(runs.c.entry == entry).values(model=model))


def walk(connection: Connection, source: str | None = None) -> Iterator[Entry]:
    """All entries from the first on, or those of a source."""
    query = _ALL if source is None else _ALL.where(entries.c.source == source)
    for row in connection.execute(query, execution_options={"yield_per": 1000}):
        yield Entry(*row)


def sources(connection: Connection) -> list[str]:
    """The names of all sources that have a budget."""
    return sorted(connection.execute(_SOURCES).scalars())


def names_of(connection: Connection, fingerprint: str) -> list[str]:
    """The sources under which a log came before."""
    return sorted(connection.execute(_NAMES, {"mark": fingerprint}).scalars())


def has_marks_without(connection: Connection, beginning: str) -> bool:
    """Whether some log was noted by a fingerprint that begins otherwise."""
    others = select(seen.c.source).where(~seen.c.fingerprint.startswith(beginning)).limit(1)
    return connection.execute(others).first() is not None


def remember(connection: Connection, fingerprint: str, source: str) -> None:
    """Note that a log came under this source."""
    connection.execute(insert(seen).values(fingerprint=fingerprint, source=source))


def key_of(connection: Connection) -> str | None:
    """The check value of the key that the fingerprints were made with."""
    check: str | None = connection.execute(select(heads.c.key_check)).scalar_one()
    return check


def set_key(connection: Connection, check: str) -> None:
    """Note the key that the fingerprints are made with."""
    connection.execute(update(heads).values(key_check=check))
