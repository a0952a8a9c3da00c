"""Ledger: budgets of data sources, and every release that was booked against them."""

from __future__ import annotations

import getpass
import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Connection

from discreet.ledger import storage
from discreet.ledger.account import Account
from discreet.ledger.chain import Entry, Head, Kind, problems
from discreet.ledger.errors import LedgerError
from discreet.ledger.key import key_check, make_key, read_key
from discreet.ledger.location import Location, locate
from discreet.ledger.storage import Storage
from discreet.privacy.filters import FilterName
from discreet.privacy.guarantee import Budget, Guarantee, Neighbours, Unit

if TYPE_CHECKING:
    from discreet.certificate import Certificate
    from discreet.log.events import EventLog
    from discreet.mechanisms.base import Mechanism
    from discreet.release import Release

CLOCK_TOLERANCE = timedelta(seconds=60)
"""How far two computers' clocks may differ."""


@dataclass(frozen=True)
class Booked:
    """A release that was paid for, not yet written. It is drawn once; a failure is paid too."""

    release: Release
    entry: int
    source: str


class Ledger:
    """Append-only spending per data source, in a database that many may use at once.

    A source is a name that the steward gives to a population, never the content: yesterday's log
    with today's cases added is still the same source. A spend is durable before anything is drawn.
    """

    def __init__(self, where: str | Path | Location | None = None, *, create: bool = False) -> None:
        self.location = where if isinstance(where, Location) else locate(where)
        self.storage = Storage(self.location, create=create)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self.storage.engine.dispose()

    def set_budget(
        self,
        source: str,
        cap: Budget,
        *,
        filter: FilterName = "best",
        neighbours: Neighbours = "add-remove",
        unit: Unit = "case",
        raised: bool = False,
        user: str | None = None,
        purpose: str = "",
    ) -> Account:
        """Set or change what a source may spend in all; past spending stays counted."""
        _check_name(source)
        fresh = Account.opened(cap, filter, neighbours, unit)
        with self.storage.writing() as (connection, head):
            before = _account(connection, source)
            account = before.with_cap(fresh, raised=raised) if before else fresh
            content = {"account": account.to_dict(), "purpose": purpose, "user": _user(user)}
            _append(connection, head, source, "budget", content)
        return account

    def account(self, source: str) -> Account:
        """How a source's account stands."""
        with self.storage.reading() as connection:
            return _known(connection, source)

    def accounts(self) -> dict[str, Account]:
        """The accounts of all sources."""
        with self.storage.reading() as connection:
            return {name: _known(connection, name) for name in storage.sources(connection)}

    def check(self, source: str, promise: Guarantee) -> None:
        """Refuse now what `book` would refuse; reads only public parameters, spends nothing."""
        account = self.account(source)
        account.charged(account.cost(promise))

    def book(
        self,
        source: str,
        promise: Guarantee,
        *,
        mechanism: str,
        parameters: dict[str, Any],
        user: str | None = None,
        purpose: str = "",
    ) -> Entry:
        """Spend: check the cap and append the entry in one transaction, durable on return.

        The decision reads public parameters and earlier entries only. There is no way back: a
        release that fails afterwards has been paid for.
        """
        with self.storage.writing() as (connection, head):
            account = _known(connection, source)
            cost = account.cost(promise)
            content = {
                "account": account.charged(cost).to_dict(),
                "cost": cost.to_dict(),
                "guarantee": promise.to_dict(),
                "mechanism": mechanism,
                "parameters": parameters,
                "purpose": purpose,
                "user": _user(user),
            }
            return _append(connection, head, source, "release", content)

    def release(
        self,
        mechanism: Mechanism,
        log: EventLog,
        *,
        source: str,
        user: str | None = None,
        purpose: str = "",
    ) -> Booked:
        """Book a release of a log that was read without error, then draw it."""
        mechanism.check(log)
        entry = self.book(
            source,
            mechanism.guarantee(),
            mechanism=mechanism.name,
            parameters=mechanism.settings,
            user=user,
            purpose=purpose,
        )
        drawn = replace(mechanism.release(log), ledger="booked")
        return Booked(drawn, entry.number, source)

    def confirm(self, booked: Booked, certificate: Certificate) -> Entry:
        """Note the hash of the certificate under which a booked release was written.

        Only a note, so it does not wait for the disk: the spend has been durable since `book`.
        """
        return self.note_written(booked.source, booked.entry, certificate)

    def note_written(self, source: str, entry: int, certificate: Certificate) -> Entry:
        """The same for whatever was booked by itself."""
        content = {
            "certificate": hashlib.sha256(certificate.to_json().encode()).hexdigest(),
            "release": entry,
            "user": _user(None),
        }
        with self.storage.writing(durable=False) as (connection, head):
            return _append(connection, head, source, "written", content)

    def recognise(self, log: EventLog, source: str) -> list[str]:
        """Remember a log; warnings for the steward if it came under another name before.

        Only a help: budgets never depend on it.
        """
        from discreet.ledger.fingerprint import fingerprint

        key = read_key(self.location.key)
        mark = fingerprint(log, key) if key else ""
        with self.storage.reading() as connection:
            expected = storage.key_of(connection)
            names = storage.names_of(connection, mark)
        if expected is None:
            key, expected = self._first_key()
            mark = fingerprint(log, key)
        if key is None or key_check(key) != expected:
            return [
                f"the key of this ledger is not in {self.location.key}: copy it from a colleague "
                "or a backup (or name it in DISCREET_LEDGER_KEY), or a log that comes under a "
                "second name is not recognised"
            ]
        if source not in names:
            with self.storage.writing() as (connection, _):
                names = storage.names_of(connection, mark)
                if source not in names:
                    storage.remember(connection, mark, source)
        return [
            f"this very log was released before under the source {other!r}; if {source!r} holds "
            "the same people, use one name: two names give them two budgets"
            for other in names
            if other != source
        ]

    def _first_key(self) -> tuple[bytes, str]:
        """A key for a ledger that has none yet, and the check value of the one it then has."""
        with self.storage.writing() as (connection, _):
            key = make_key(self.location.key)
            expected = storage.key_of(connection)
            if expected is None:
                expected = key_check(key)
                storage.set_key(connection, expected)
        return key, expected

    def accept_clock(self, *, user: str | None = None, purpose: str = "") -> Entry:
        """Go on from the present time although the last entry lies in its future."""
        content = {"purpose": purpose, "user": _user(user)}
        with self.storage.writing() as (connection, head):
            return _append(connection, head, "", "clock", content)

    def history(self, source: str | None = None) -> list[dict[str, Any]]:
        """What was entered, oldest first, each release with the hash of its certificate."""
        with self.storage.reading() as connection:
            if source is not None:
                _known(connection, source)
            entries = storage.walk(connection, source)
            rows = [entry.content() | {"hash": entry.hash} for entry in entries]
        written = {row["release"]: row["certificate"] for row in rows if row["kind"] == "written"}
        return [
            row | ({"certificate": written.get(row["number"])} if row["kind"] == "release" else {})
            for row in rows
            if row["kind"] != "written"
        ]

    def export(self) -> dict[str, Any]:
        """Every entry word for word with its hash, and the head: the chain can be checked anew."""
        with self.storage.reading() as connection:
            head = storage.head(connection)
            return {
                "format": "discreet ledger 1",
                "head": {"entries": head.count, "hash": head.hash},
                "entries": [{"body": e.body, "hash": e.hash} for e in storage.walk(connection)],
            }

    def verify(self, known: str | None = None) -> tuple[Head, list[str]]:
        """The chain's head and what is wrong with the ledger; `known` is a head noted earlier."""
        with self.storage.reading() as connection:
            head = storage.head(connection)
            return head, problems(storage.walk(connection), head, known)


def _account(connection: Connection, source: str) -> Account | None:
    entry = storage.last_account(connection, source)
    return Account.from_dict(entry.content()["account"]) if entry else None


def _known(connection: Connection, source: str) -> Account:
    account = _account(connection, source)
    if account is None:
        known = ", ".join(storage.sources(connection)) or "none yet"
        raise LedgerError(
            f"no budget was set for the source {source!r} (known: {known}); check the name, or "
            f"set one: discreet budget set {source} --epsilon 3 --delta 1e-5"
        )
    return account


def _append(
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
                f"entry of the ledger is of {latest:%Y-%m-%d %H:%M:%S}. Set the clock; if it is "
                "right now and was wrong then, run `discreet budget clock`."
            )
        time = max(time, latest)
    stamp = time.isoformat(timespec="microseconds")
    entry = Entry.after(head, source, kind, {**content, "time": stamp})
    storage.append(connection, entry)
    return entry


def _now() -> datetime:
    return datetime.now(UTC)


def _user(named: str | None) -> str:
    if named is not None:
        return named
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def _check_name(source: str) -> None:
    if not source.strip() or len(source) > 200 or not source.isprintable():
        raise LedgerError(
            f"a source is named by 1 to 200 printable characters, as in hospital-a, not {source!r}"
        )
