"""Entries read and appended: the account of a source, checked links, the present time, the user.

Every function takes the connection of a transaction of the storage, under whose lock reading,
checking and appending are one step.
"""

from __future__ import annotations

import getpass
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from discreet.ledger import storage
from discreet.ledger.account import Account
from discreet.ledger.chain import START, Entry, Head, Kind
from discreet.ledger.errors import LedgerError

CLOCK_TOLERANCE = timedelta(seconds=60)
"""The most by which the clocks of two computers may differ."""


def spelling(text: str) -> str:
    """The one spelling of a name: in Unicode's NFC, with single spaces, none at the ends."""
    return " ".join(filter(None, unicodedata.normalize("NFC", text).split(" ")))


def stored_name(connection: Connection, text: str) -> str:
    """The name under which a source is or would be stored, in whatever spelling it is given.

    Earlier versions took names as they were typed. One that is stored in another spelling still is
    that source, unless the proper spelling is stored too: then only that one can be booked on.
    """
    name = spelling(text)
    if not name or len(name) > 200 or not name.isprintable():
        raise LedgerError(
            f"a source is named by 1 to 200 printable characters, as in hospital-a, not {text!r}"
        )
    if storage.last_account(connection, name) is not None:
        return name
    return next((one for one in storage.sources(connection) if spelling(one) == name), name)


def account_of(connection: Connection, stored: str) -> Account | None:
    """The present account of a source, None if it has none."""
    entry = storage.last_account(connection, stored)
    if entry is None:
        return None
    check_links(connection, entry)
    return Account.from_dict(entry.content()["account"])


def known_account(connection: Connection, source: str) -> tuple[str, Account]:
    """The stored name and the present account of a source, which must have one."""
    name = stored_name(connection, source)
    account = account_of(connection, name)
    if account is None:
        known = ", ".join(storage.sources(connection)) or "none yet"
        raise LedgerError(
            f"no budget was set for the source {name!r} (known: {known}); check the name, or "
            f"set one: discreet budget set {name} --epsilon 3 --delta 1e-5"
        )
    return name, account


def append(
    connection: Connection, head: Head, source: str, kind: Kind, content: dict[str, Any]
) -> Entry:
    """Append an entry with the present time, which never runs backwards."""
    previous = _end_of_chain(connection, head)
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


def _end_of_chain(connection: Connection, head: Head) -> Entry | None:
    """The last entry, refused unless none is missing, it is the noted end, and it is linked."""
    last = storage.last(connection)
    if (last.head if last else Head()) != head or storage.count(connection) != head.count:
        raise LedgerError(
            "the ledger's entries do not end with the one that it noted: some were removed, added "
            "or changed. Run `discreet budget verify`, then restore it from a backup."
        )
    if last is not None:
        check_links(connection, last)
    return last


def check_links(connection: Connection, entry: Entry) -> None:
    """Refuse an entry that is not linked with both its neighbours in the chain."""
    before = storage.entry(connection, entry.number - 1)
    after = storage.entry(connection, entry.number + 1)
    follows = entry.content()["previous"] == (before.hash if before else START)
    if not follows or (after is not None and after.content()["previous"] != entry.hash):
        raise LedgerError(
            f"entry {entry.number} of the ledger is not linked with those before and after it: one "
            "of them was rewritten; nothing is released on it. Run `discreet budget verify`, then "
            "restore the ledger from a backup."
        )


def _now() -> datetime:
    return datetime.now(UTC)


def user_name(named: str | None = None) -> str:
    """The user of an entry: the one named, else the account on this computer."""
    if named is not None:
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
