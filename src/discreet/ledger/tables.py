"""The ledger's tables, their version, and how an older ledger becomes one of this version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    event,
    insert,
    inspect,
    select,
    update,
)

from discreet.ledger.chain import Head
from discreet.ledger.errors import LedgerError

VERSION = 2
"""Of the tables. 1: entries, head, seen; nothing said so. 2: runs, and the version itself."""

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


def create(connection: Connection) -> None:
    """An empty ledger of this version."""
    schema.create_all(connection)
    start = Head()
    connection.execute(insert(heads).values(id=1, number=start.count, hash=start.hash))
    connection.execute(insert(versions).values(version=VERSION))


def version_of(connection: Connection) -> int:
    """The version of a ledger's tables; 0 if there are none. One from the future is an error."""
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
    """Bring an older ledger to this version, in the transaction of whoever writes next."""
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
