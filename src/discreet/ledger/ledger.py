"""Ledger: budgets of data sources, and every release that was booked against them.

It is exported as a file for the data-protection officer: CSV to read, JSON to check.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from discreet.ledger import storage
from discreet.ledger.account import Account
from discreet.ledger.chain import Entry, Head, problems
from discreet.ledger.entries import (
    account_of,
    append,
    known_account,
    stored_name,
    user_name,
)
from discreet.ledger.errors import LedgerError
from discreet.ledger.location import Location, locate
from discreet.ledger.runs import Paid, PaidRun, fresh_token
from discreet.ledger.storage import Storage
from discreet.log.errors import LogError
from discreet.privacy.filters import FilterName
from discreet.privacy.guarantee import Budget, Guarantee, Neighbours, Unit

if TYPE_CHECKING:
    from discreet.certificate import Certificate
    from discreet.log.events import EventLog
    from discreet.mechanisms.base import Mechanism
    from discreet.releases import Release


EXPORTED = (
    *("number", "time", "source", "kind", "user", "purpose", "mechanism", "status", "epsilon"),
    *("delta", "neighbours", "unit", "case_column", "individual_column", "parameters"),
    *("spent_epsilon", "spent_delta", "release", "certificate", "hash"),
)
"""The columns of the CSV export."""


@dataclass(frozen=True)
class Booked:
    """A release that was paid for, not yet written. It is drawn once; a failure is paid too."""

    release: Release
    paid: Paid


@dataclass(frozen=True)
class Noting:
    """What a release carries to note on the ledger that it was written."""

    ledger: Ledger
    paid: Paid

    def confirm(self, certificate: Certificate) -> None:
        """Note that it was written under this certificate."""
        self.ledger.confirm(self.paid, certificate)


class Ledger:
    """Append-only spending per data source, in a database that many may use at once.

    A source is a name that the steward gives to a population, never the content: yesterday's log
    with today's cases added is still the same source. A spend is durable before anything is drawn.
    """

    def __init__(
        self,
        where: str | Path | Location | None = None,
        *,
        create: bool = False,
        user: str | None = None,
    ) -> None:
        self.location = where if isinstance(where, Location) else locate(where)
        self.storage = Storage(self.location, create=create)
        self.user = user_name(user)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
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
        fresh = Account.opened(cap, filter, neighbours, unit)
        with self.storage.writing() as (connection, head):
            source = stored_name(connection, source)
            before = account_of(connection, source)
            account = before.with_cap(fresh, raised=raised) if before else fresh
            content = {"account": account.to_dict(), "purpose": purpose, "user": user or self.user}
            append(connection, head, source, "budget", content)
        return account

    def account(self, source: str) -> Account:
        """The present account of a source."""
        with self.storage.reading() as connection:
            return known_account(connection, source)[1]

    def name_of(self, source: str) -> str:
        """The stored name of a source, in whatever spelling it is given; it must have a budget."""
        with self.storage.reading() as connection:
            return known_account(connection, source)[0]

    def accounts(self) -> dict[str, Account]:
        """The present accounts of all sources by name."""
        with self.storage.reading() as connection:
            found = ((name, account_of(connection, name)) for name in storage.sources(connection))
            return {name: account for name, account in found if account is not None}

    def check(self, source: str, promise: Guarantee) -> None:
        """Refuse now what `book` would refuse; reads only public parameters, spends nothing."""
        account = self.account(source)
        named = account.naming(promise.case_column, promise.individual_column)
        named.charged(account.cost(promise))

    def book(
        self,
        source: str,
        promise: Guarantee,
        *,
        mechanism: str,
        parameters: dict[str, Any],
        purpose: str = "",
        mark: str | None = None,
    ) -> Entry:
        """Spend: check the cap and append the entry in one transaction, durable on return.

        The decision reads public parameters and earlier entries only. There is no way back: a
        release that fails afterwards has been paid for. The entry names the one run that it pays
        for; `mark` is the mark of its first checkpoint, if it is a training (`ledger/runs.py`).
        """
        if promise.case_column is None:
            raise LedgerError(
                "the guarantee does not name the column that tells cases apart; book the promise "
                "for a log, mechanism.promise(log)"
            )
        with self.storage.writing() as (connection, head):
            source, account = known_account(connection, source)
            cost = account.cost(promise)
            named = account.naming(promise.case_column, promise.individual_column)
            run = fresh_token()
            content = {
                "account": named.charged(cost).to_dict(),
                "cost": cost.to_dict(),
                "guarantee": promise.to_dict(),
                "mechanism": mechanism,
                "parameters": parameters,
                "purpose": purpose,
                "run": run,
                "user": self.user,
            }
            entry = append(connection, head, source, "release", content)
            if mark is not None:
                storage.add_run(connection, entry.number, run, mark)
            return entry

    def release(
        self,
        mechanism: Mechanism,
        log: EventLog,
        *,
        source: str,
        purpose: str = "",
        paid: Callable[[Paid], None] = lambda _: None,
    ) -> Booked:
        """Book a release of a log that was read without error, then draw it.

        `paid` receives the payment in between, so that the caller knows of it if drawing fails.
        `write` of the release confirms it.
        """
        payment = self._pay(mechanism, log, source, purpose)
        paid(payment)
        noting = Noting(self, payment)
        return Booked(replace(mechanism.release(log), ledger="booked", booking=noting), payment)

    def begin(
        self, mechanism: Mechanism, log: EventLog, *, source: str, purpose: str = ""
    ) -> PaidRun:
        """Book the training of a model on a log that was read without error."""
        mark = fresh_token()
        return PaidRun(
            self.storage, self._pay(mechanism, log, source, purpose, mark), mechanism, mark
        )

    def _pay(
        self,
        mechanism: Mechanism,
        log: EventLog,
        source: str,
        purpose: str,
        mark: str | None = None,
    ) -> Paid:
        """Refuse what the log lacks, then book."""
        mechanism.check(log)
        promise, name, parameters = mechanism.promise(log), mechanism.name, mechanism.settings
        entry = self.book(
            source, promise, mechanism=name, parameters=parameters, purpose=purpose, mark=mark
        )
        return Paid.by(entry)

    def resume(self, noted: dict[str, Any], mechanism: Mechanism) -> PaidRun:
        """A training that was begun earlier, by the payment noted in its checkpoint."""
        return PaidRun(self.storage, Paid.from_dict(noted), mechanism)

    def confirm(self, paid: Booked | Paid, certificate: Certificate) -> Entry:
        """Note the hash of the certificate under which something that was paid for was written.

        Only a note, so it does not wait for the disk: the spend has been durable since `book`.
        """
        if isinstance(paid, Booked):
            paid = paid.paid
        content = {
            "certificate": hashlib.sha256(certificate.to_json().encode()).hexdigest(),
            "release": paid.entry,
            "run": paid.run,
            "user": self.user,
        }
        with self.storage.writing(durable=False) as (connection, head):
            paid.release(connection)
            return append(connection, head, paid.source, "written", content)

    def recognise(self, log: EventLog, source: str) -> list[str]:
        """Remember a log; warnings for the steward if it came under another name before.

        Only a help: budgets never depend on it.
        """
        try:
            return self._recognise(log, source)
        except LogError as error:
            return [f"could not check whether this log is known under another name: {error}"]

    def _recognise(self, log: EventLog, source: str) -> list[str]:
        from discreet.ledger.fingerprint import fingerprint, key_check, read_key

        key = read_key(self.location.key)
        mark = fingerprint(log, key) if key else ""
        with self.storage.reading() as connection:
            source = stored_name(connection, source)
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
            self._remember(mark, [source])
            older = self._names_before(log, key)
            if older:
                self._remember(mark, older)
            names = sorted({*names, *older})
        return [
            f"this log was already released under the source {other!r}; if {source!r} holds "
            "the same people, use one name: two names give them two budgets"
            for other in names
            if other != source
        ]

    def _remember(self, mark: str, sources: list[str]) -> None:
        """Note the names under which a log came."""
        with self.storage.writing() as (connection, _):
            for source in sorted({*sources} - {*storage.names_of(connection, mark)}):
                storage.remember(connection, mark, source)

    def _names_before(self, log: EventLog, key: bytes) -> list[str]:
        """The names under which a log came while fingerprints were of the first kind."""
        from discreet.ledger.fingerprint import VERSION, first_fingerprint

        with self.storage.reading() as connection:
            if not storage.has_marks_without(connection, VERSION):
                return []
        mark = first_fingerprint(log, key)
        with self.storage.reading() as connection:
            return storage.names_of(connection, mark)

    def _first_key(self) -> tuple[bytes, str]:
        """A key for a ledger that has none yet, and the check value of the one it then has."""
        from discreet.ledger.fingerprint import key_check, make_key

        with self.storage.writing() as (connection, _):
            key = make_key(self.location.key)
            expected = storage.key_of(connection)
            if expected is None:
                expected = key_check(key)
                storage.set_key(connection, expected)
        return key, expected

    def accept_clock(self, *, purpose: str = "") -> Entry:
        """Continue from the present time although the last entry lies in its future."""
        content = {"purpose": purpose, "user": self.user}
        with self.storage.writing() as (connection, head):
            return append(connection, head, "", "clock", content)

    def history(self, source: str | None = None) -> list[dict[str, Any]]:
        """The entries, oldest first, each release with the hashes of its certificates.

        A release that was written several times has several; `certificate` is the last.
        """
        with self.storage.reading() as connection:
            if source is not None:
                source = known_account(connection, source)[0]
            entries = storage.walk(connection, source)
            rows = [entry.content() | {"hash": entry.hash} for entry in entries]
        releases = {row["number"]: row for row in rows if row["kind"] == "release"}
        for row in releases.values():
            row |= {"certificate": None, "certificates": []}
        for row in rows:
            if row["kind"] == "written":
                paid = releases[row["release"]]
                paid["certificates"].append(row["certificate"])
                paid["certificate"] = row["certificate"]
        return [row for row in rows if row["kind"] not in ("finished", "written")]

    def identity(self) -> str | None:
        """The hash of the first entry, which no other ledger has; None while there is none."""
        with self.storage.reading() as connection:
            first = storage.entry(connection, 1)
        return None if first is None else first.hash

    def head(self) -> Head:
        """The chain's end, which changes with every entry."""
        with self.storage.reading() as connection:
            return storage.head(connection)

    def export(self) -> dict[str, Any]:
        """Every entry word for word with its hash, and the head: the chain can be checked again."""
        with self.storage.reading() as connection:
            head = storage.head(connection)
            return {
                "format": "discreet ledger 1",
                "head": {"entries": head.count, "hash": head.hash},
                "entries": [{"body": e.body, "hash": e.hash} for e in storage.walk(connection)],
            }

    def verify(self, known: str | None = None) -> tuple[Head, list[str]]:
        """The chain's head and the ledger's problems; `known` is a head noted earlier."""
        with self.storage.reading() as connection:
            head = storage.head(connection)
            return head, problems(storage.walk(connection), head, known)


def as_document(exported: dict[str, Any]) -> bytes:
    """The export as JSON."""
    return json.dumps(exported, ensure_ascii=False, indent=1).encode() + b"\n"


def as_csv(exported: dict[str, Any]) -> bytes:
    """The export as CSV, one line per entry."""
    text = io.StringIO(newline="")
    lines = csv.DictWriter(text, EXPORTED, restval="", extrasaction="ignore")
    lines.writeheader()
    for entry in exported["entries"]:
        row = _flat(json.loads(entry["body"])) | {"hash": entry["hash"]}
        lines.writerow({name: _inert(value) for name, value in row.items()})
    return text.getvalue().encode()


def _flat(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry as one row; where its account and its guarantee say the same, by the latter."""
    flat = dict(entry)
    if "account" in entry:
        account = entry["account"]
        flat |= {name: account[name] for name in ("epsilon", "delta", "neighbours", "unit")}
        flat |= {f"spent_{name}": account["spent"][name] for name in ("epsilon", "delta")}
    if "guarantee" in entry:
        promise = entry["guarantee"]
        flat |= {name: promise[name] for name in ("status", "neighbours", "unit")}
        flat |= {name: promise.get(name) for name in ("case_column", "individual_column")}
        flat |= promise["holds"]
        flat["parameters"] = json.dumps(entry["parameters"], ensure_ascii=False, sort_keys=True)
    return flat


def _inert(value: Any) -> Any:
    """The value, a text such that a spreadsheet does not run it as a formula."""
    return (
        f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
    )
