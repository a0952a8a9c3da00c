"""The chain: entries that each carry the hash of the one before, and the check of them all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from discreet.ledger.account import Account
from discreet.ledger.errors import LedgerError
from discreet.privacy.filters import Spend

Kind = Literal["budget", "release", "finished", "written", "clock"]
START = "0" * 64
"""The hash that the first entry names as the one before it."""


@dataclass(frozen=True)
class Head:
    """Where the chain ends: how many entries there are, and the hash of the last."""

    count: int = 0
    hash: str = START


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. `body` is its canonical text; the hash covers all of it."""

    number: int
    source: str
    kind: str
    body: str
    hash: str

    @classmethod
    def after(cls, head: Head, source: str, kind: Kind, content: dict[str, Any]) -> Entry:
        """The next entry of the chain."""
        number = head.count + 1
        body = json.dumps(
            {**content, "number": number, "source": source, "kind": kind, "previous": head.hash},
            ensure_ascii=False,
            sort_keys=True,
            allow_nan=False,
            separators=(",", ":"),
        )
        body = body.encode(errors="replace").decode()
        return cls(number, source, kind, body, digest(body))

    def content(self) -> dict[str, Any]:
        """The content of the entry, refused if its hash does not belong to its text."""
        if digest(self.body) != self.hash:
            raise LedgerError(
                f"entry {self.number} of the ledger was changed after it was written; nothing is "
                "released on it. Run `discreet budget verify`, then restore the ledger from a "
                "backup."
            )
        content: dict[str, Any] = json.loads(self.body)
        return content

    @property
    def head(self) -> Head:
        """The chain's end if this is the last entry."""
        return Head(self.number, self.hash)


def digest(body: str) -> str:
    """The hash of an entry's text."""
    return hashlib.sha256(body.encode()).hexdigest()


def problems(entries: Iterable[Entry], head: Head, known: str | None = None) -> list[str]:
    """The problems of a ledger; none if every entry is as it was written.

    Every entry must be unchanged, in its place and linked to the one before; the head, kept apart,
    must be the last; replaying the releases must give the booked totals, none past its cap; and
    what was paid for once may have come out once. A ledger that was rewritten as a whole, head
    included, is found by `known`: a head noted elsewhere earlier.
    """
    found: list[str] = []
    previous, seen_known = Head(), known in (None, START)
    accounts: dict[str, Account] = {}
    outcomes: dict[int, _Outcome] = {}
    time = ""
    for entry in entries:
        place = f"entry {entry.number}"
        if entry.number != previous.count + 1:
            found.append(
                f"{place} follows entry {previous.count}: those in between are missing or moved"
            )
        try:
            content = entry.content()
        except LedgerError:
            found.append(f"{place} was changed: its hash does not belong to its text")
            previous = entry.head
            continue
        named = (content.get("number"), content.get("source"), content.get("kind"))
        if named != (entry.number, entry.source, entry.kind):
            found.append(f"{place} stands in the wrong place: it was written as entry {named[0]}")
        if content.get("previous") != previous.hash:
            found.append(f"{place} does not follow the entry before it")
        if content["time"] < time and entry.kind != "clock":
            found.append(f"{place} is earlier than the one before it")
        time = content["time"]
        found += [f"{place}: {text}" for text in _replay(entry, content, accounts)]
        found += [f"{place}: {text}" for text in _came_of(entry, content, outcomes)]
        seen_known = seen_known or entry.hash == known
        previous = entry.head
    if previous != head:
        found.append(
            f"the ledger should end with entry {head.count}, but ends with entry {previous.count}"
            if previous.count != head.count
            else "the last entry is not the one that the ledger ended with"
        )
    if not seen_known:
        found.append(f"no entry has the hash {known}: the ledger was rewritten since it was noted")
    return found


def _replay(entry: Entry, content: dict[str, Any], accounts: dict[str, Account]) -> list[str]:
    """Replay a budget or a release and compare the outcome with what the entry states."""
    if entry.kind not in ("budget", "release"):
        return []
    stated = Account.from_dict(content["account"])
    before = accounts.get(entry.source)
    accounts[entry.source] = stated
    if entry.kind == "budget":
        kept = before.spent if before else Spend()
        return [] if stated.spent == kept else ["the budget was set with another sum of spending"]
    if before is None:
        return ["a release without a budget"]
    try:
        promise = content["guarantee"]
        named = before.naming(promise.get("case_column"), promise.get("individual_column"))
    except LedgerError:
        return ["the release goes by other columns than those before it"]
    try:
        expected = named.charged(Spend.from_dict(content["cost"]))
    except LedgerError:
        return ["the release passes the cap"]
    return [] if expected == stated else ["the totals do not follow from the entries before"]


@dataclass
class _Outcome:
    """The source and the run of a release, and the model and the certificate noted of it."""

    source: str
    run: str | None
    model: str | None = None
    certificate: str | None = None


def _came_of(entry: Entry, content: dict[str, Any], outcomes: dict[int, _Outcome]) -> list[str]:
    """Compare a note with the release that it is about.

    One draw may be written to several files; a model that was trained is one, and so is what was
    written of a release from before runs were named.
    """
    if entry.kind == "release":
        outcomes[entry.number] = _Outcome(entry.source, content.get("run"))
    if entry.kind not in ("finished", "written"):
        return []
    number = content["release"]
    paid = outcomes.get(number)
    if paid is None or paid.source != entry.source:
        return [f"it notes entry {number}, which is not a release of this source"]
    if content.get("run") != paid.run:
        return [f"it notes entry {number}, which another run paid for"]
    if entry.kind == "finished":
        before, paid.model = paid.model, content["model"]
        repeated = before not in (None, paid.model)
    else:
        before, paid.certificate = paid.certificate, content["certificate"]
        repeated = paid.run is None and before not in (None, paid.certificate)
    return [f"entry {number} was paid for once and came out again"] if repeated else []
