"""Appending to the chain: an account as it stands, the present time, who is there."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from discreet.ledger import storage
from discreet.ledger.account import Account
from discreet.ledger.chain import Entry, Head, Kind
from discreet.ledger.errors import LedgerError

CLOCK_TOLERANCE = timedelta(seconds=60)
"""How far two computers' clocks may differ."""


def account_of(connection: Connection, source: str) -> Account | None:
    """How a source's account stands, if it has one."""
    entry = storage.last_account(connection, source)
    return Account.from_dict(entry.content()["account"]) if entry else None


def known_account(connection: Connection, source: str) -> Account:
    """How a source's account stands; it must have one."""
    account = account_of(connection, source)
    if account is None:
        known = ", ".join(storage.sources(connection)) or "none yet"
        raise LedgerError(
            f"no budget was set for the source {source!r} (known: {known}); check the name, or "
            f"set one: discreet budget set {source} --epsilon 3 --delta 1e-5"
        )
    return account


def append(
    connection: Connection, head: Head, source: str, kind: Kind, content: dict[str, Any]
) -> Entry:
    """Append an entry with the present time, which never runs backwards."""
    previous = storage.last(connection)
    if (previous.head if previous else Head()) != head:
        raise LedgerError(
            "the ledger's last entry is not the one it ended with: entries were removed or "
            "changed. Run `discreet budget verify`, then restore it from a backup."
        )
    time = _now()
    if previous is not None and kind != "clock":
        latest = datetime.fromisoformat(previous.content()["time"])
        if time < latest - CLOCK_TOLERANCE:
            raise LedgerError(
                f"nothing was released: the clock says {time:%Y-%m-%d %H:%M:%S} UTC, but the last "
                f"entry of the ledger is from {latest:%Y-%m-%d %H:%M:%S}. Set the clock; if it is "
                "right now and was wrong then, run `discreet budget clock`."
            )
        time = max(time, latest)
    stamp = time.isoformat(timespec="microseconds")
    entry = Entry.after(head, source, kind, {**content, "time": stamp})
    storage.append(connection, entry)
    return entry


def _now() -> datetime:
    return datetime.now(UTC)


def user_name(named: str | None = None) -> str:
    """Who is entered: the one named, else the account on this computer."""
    if named is not None:
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
