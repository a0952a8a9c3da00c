"""The ledger in both databases: booking, history, and finding what was tampered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

import discreet
from discreet.ledger import storage
from discreet.ledger.account import Account
from discreet.ledger.chain import Entry, Head, digest, problems
from discreet.ledger.entries import append
from discreet.ledger.errors import LedgerError, RefusedError
from discreet.ledger.ledger import Ledger, as_csv, as_document
from discreet.privacy.filters import Spend
from discreet.privacy.guarantee import Budget
from tests.ledger.racer import promise


def book(ledger: Ledger, epsilon: float = 0.5, source: str = "s") -> Entry:
    return ledger.book(
        source, promise(epsilon), mechanism="m", parameters={"epsilon": epsilon}, purpose="why"
    )


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    ledger.set_budget("s", Budget(3, 1e-5), purpose="start", user="ada")
    ledger.set_budget("t", Budget(1), filter="basic")
    for _ in range(4):
        book(ledger)
    book(ledger, 0.25, "t")
    return ledger


def test_a_release_is_booked_with_all_that_was_asked_for(filled: Ledger) -> None:
    rows = filled.history("s")
    assert [row["kind"] for row in rows] == ["budget"] + 4 * ["release"]
    assert (rows[0]["user"], rows[0]["purpose"]) == ("ada", "start")
    assert rows[1]["mechanism"] == "m"
    assert rows[1]["parameters"] == {"epsilon": 0.5}
    assert rows[1]["guarantee"]["holds"] == {"epsilon": 0.5, "delta": 0.0}
    assert rows[1]["purpose"] == "why"
    assert rows[1]["certificate"] is None
    assert rows[1]["time"] <= rows[2]["time"]
    assert filled.account("s").spent.epsilon == 2
    assert set(filled.accounts()) == {"s", "t"}
    assert filled.verify()[1] == []


def test_sources_do_not_mix(filled: Ledger) -> None:
    assert filled.account("t").releases == 1
    with pytest.raises(RefusedError):
        book(filled, 1.0, "t")
    assert book(filled, 1.0, "s").number == 8


def test_a_refused_release_leaves_no_entry(filled: Ledger) -> None:
    before = filled.verify()[0]
    with pytest.raises(RefusedError):
        book(filled, 2.0)
    assert filled.verify() == (before, [])


def test_checking_spends_nothing(filled: Ledger) -> None:
    before = filled.verify()[0]
    filled.check("s", promise(1.0))
    with pytest.raises(RefusedError):
        filled.check("s", promise(2.0))
    assert filled.verify()[0] == before


def test_an_unknown_source_has_no_budget(filled: Ledger) -> None:
    for ask in (filled.account, filled.history, lambda name: book(filled, source=name)):
        with pytest.raises(LedgerError, match=r"known: s, t.*budget set nowhere"):
            ask("nowhere")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_sources_have_names_that_can_be_read(ledger: Ledger, name: str) -> None:
    with pytest.raises(LedgerError, match="printable"):
        ledger.set_budget(name, Budget(1))


def test_a_ledger_is_found_again(filled: Ledger, url: str) -> None:
    filled.close()
    for create in (False, True):
        with Ledger(url, create=create) as again:
            assert again.account("s").releases == 4


def test_release_books_draws_and_is_confirmed(ledger: Ledger, tmp_path: Path) -> None:
    ledger.set_budget("s", Budget(1, 1e-5))
    log = discreet.sample_log("hospital", cases=300, seed=1)
    booked = ledger.release(discreet.mechanism("travas"), log, source="s")
    assert ledger.history("s")[-1]["certificate"] is None
    certificate = booked.release.write(tmp_path / "out.xes")
    assert certificate.ledger == "booked"
    entry = ledger.confirm(booked, certificate)
    assert ledger.history("s")[-1]["certificate"] == entry.content()["certificate"]
    assert ledger.verify()[1] == []
    read, findings = discreet.check_certificate(tmp_path / "out.xes")
    assert read.ledger == "booked"
    assert {finding.outcome for finding in findings} == {"holds"}


def test_a_log_that_lacks_what_is_needed_costs_nothing(ledger: Ledger) -> None:
    ledger.set_budget("s", Budget(1, 1e-5), unit="individual")
    log = discreet.sample_log("hospital", cases=50, seed=1)
    with pytest.raises(discreet.LogError, match="individual"):
        ledger.release(discreet.mechanism("travas", cases_per_individual=2), log, source="s")
    assert ledger.account("s").releases == 0


def test_a_release_that_fails_after_the_spend_stays_paid(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.set_budget("s", Budget(1, 1e-5))
    mechanism = discreet.mechanism("travas", epsilon=0.5)
    log = discreet.sample_log("hospital", cases=50, seed=1)

    def crash(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(type(mechanism), "_draw", crash)
    with pytest.raises(MemoryError):
        ledger.release(mechanism, log, source="s")
    assert ledger.account("s").releases == 1


def test_export_holds_the_chain_and_the_head(filled: Ledger) -> None:
    exported = json.loads(as_document(filled.export()))
    bodies = [(json.loads(e["body"]), e) for e in exported["entries"]]
    entries = [Entry(b["number"], b["source"], b["kind"], e["body"], e["hash"]) for b, e in bodies]
    head = Head(exported["head"]["entries"], exported["head"]["hash"])
    assert problems(entries, head) == []
    assert problems(entries[:-1], head) != []
    lines = as_csv(exported).decode().splitlines()
    assert len(lines) == 1 + len(entries)
    assert "spent_epsilon" in lines[0]


def test_a_spreadsheet_runs_nothing_from_the_export(ledger: Ledger) -> None:
    ledger.set_budget("s", Budget(1), purpose="=1+1")
    assert b",'=1+1," in as_csv(ledger.export())


def tamper(ledger: Ledger, *statements: str) -> None:
    """Do what somebody with rights on the database can do: lift the protection, then change."""
    with ledger.storage.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            lift = ["DROP TRIGGER discreet_no_update", "DROP TRIGGER discreet_no_delete"]
        else:
            lift = ["DROP TRIGGER discreet_append_only ON discreet_entries"]
        for statement in (*lift, *statements):
            connection.execute(text(statement))
        connection.commit()


EDITED = "UPDATE discreet_entries SET body = REPLACE(body, '\"why\"', '\"not\"') WHERE number = 4"
REHASHED = (
    "UPDATE discreet_entries SET hash = SUBSTR(hash, 2) || SUBSTR(hash, 1, 1) WHERE number = 4"
)
TAMPERING = {
    "an edited entry": ([EDITED], "entry 4 was changed"),
    "an edited hash": ([REHASHED], "entry 4 was changed"),
    "a deleted entry": (["DELETE FROM discreet_entries WHERE number = 4"], "entry 5 follows"),
    "a deleted first entry": (["DELETE FROM discreet_entries WHERE number = 1"], "entry 2 follows"),
    "a deleted last entry": (
        ["DELETE FROM discreet_entries WHERE number = 7"],
        "should end with entry 7",
    ),
    "all entries deleted": (["DELETE FROM discreet_entries"], "should end with entry 7"),
    "two entries reordered": (
        [
            "UPDATE discreet_entries SET number = 100 WHERE number = 4",
            "UPDATE discreet_entries SET number = 4 WHERE number = 5",
            "UPDATE discreet_entries SET number = 5 WHERE number = 100",
        ],
        "entry 4 stands in the wrong place",
    ),
    "another source": (
        ["UPDATE discreet_entries SET source = 't' WHERE number = 4"],
        "entry 4 stands in the wrong place",
    ),
    "a deleted entry, the rest moved up": (
        [
            "DELETE FROM discreet_entries WHERE number = 6",
            "UPDATE discreet_entries SET number = 6 WHERE number = 7",
            "UPDATE discreet_head SET number = 6",
        ],
        "entry 6 stands in the wrong place",
    ),
}


@pytest.mark.parametrize("how", TAMPERING)
def test_tampering_is_found(filled: Ledger, how: str) -> None:
    statements, expected = TAMPERING[how]
    tamper(filled, *statements)
    found = filled.verify()[1]
    assert any(expected in problem for problem in found), found


def test_a_ledger_rewritten_as_a_whole_is_found_by_a_head_noted_before(filled: Ledger) -> None:
    noted = filled.verify()[0].hash
    book(filled, 0.1)
    assert filled.verify(noted)[1] == []
    with filled.storage.reading() as connection:
        rows = connection.execute(text("SELECT body FROM discreet_entries ORDER BY number")).all()
    head, forged = Head(), []
    for (body,) in rows:
        content = json.loads(body)
        if content.get("purpose") == "why":
            content["purpose"] = "harmless"
        entry = Entry.after(head, content.pop("source"), content.pop("kind"), content)
        forged.append(entry)
        head = entry.head
    tamper(filled, "DELETE FROM discreet_entries")
    with filled.storage.engine.connect() as connection:
        for entry in forged:
            connection.execute(
                text("INSERT INTO discreet_entries VALUES (:number, :source, :kind, :body, :hash)"),
                vars(entry),
            )
        connection.execute(text("UPDATE discreet_head SET hash = :hash"), {"hash": head.hash})
        connection.commit()
    assert filled.verify()[1] == []
    assert "rewritten" in filled.verify(noted)[1][0]


def test_a_forged_total_is_found_by_replaying(filled: Ledger) -> None:
    with filled.storage.reading() as connection:
        rows = connection.execute(text("SELECT body FROM discreet_entries ORDER BY number")).all()

    def forged(change: Callable[[dict[str, object]], None]) -> list[str]:
        head, entries = Head(), []
        for (body,) in rows:
            content = json.loads(body)
            if content["number"] == 6:
                change(content)
            entry = Entry.after(head, content.pop("source"), content.pop("kind"), content)
            entries.append(entry)
            head = entry.head
        return problems(entries, head)

    def cheaper(content: dict[str, object]) -> None:
        content["account"]["spent"]["epsilon"] = "0.1"  # type: ignore[index]

    def dearer(content: dict[str, object]) -> None:
        content["cost"] = Spend.of_budget(Budget(5)).to_dict()

    assert forged(lambda content: None) == []
    assert forged(cheaper) == ["entry 6: the totals do not follow from the entries before"]
    assert forged(dearer) == ["entry 6: the release passes the cap"]


def test_entries_are_protected_from_accidents(filled: Ledger) -> None:
    for statement in (EDITED, "DELETE FROM discreet_entries"):
        with (
            pytest.raises(LedgerError, match="append-only"),
            filled.storage.writing() as (connection, _),
        ):
            connection.execute(text(statement))
    assert filled.verify()[1] == []


def test_nothing_is_booked_on_an_edited_or_shortened_ledger(filled: Ledger) -> None:
    tamper(filled, EDITED.replace("number = 4", "number = 6"))
    with pytest.raises(LedgerError, match="was changed after it was written"):
        book(filled, 0.1)
    with filled.storage.engine.connect() as connection:
        connection.execute(text("DELETE FROM discreet_entries WHERE number = 7"))
        connection.commit()
    with pytest.raises(LedgerError, match="some were removed, added or changed"):
        book(filled, 0.1, "t")


def rewritten(ledger: Ledger, number: int) -> None:
    """Change what an entry says and its hash with it, as one who can write to the database may."""
    with ledger.storage.reading() as connection:
        entry = storage.entry(connection, number)
    assert entry is not None
    content = entry.content() | {"purpose": "another"}
    body = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    tamper(ledger)
    with ledger.storage.engine.begin() as connection:
        change = text("UPDATE discreet_entries SET body = :body, hash = :hash WHERE number = :n")
        connection.execute(change, {"body": body, "hash": digest(body), "n": number})


@pytest.mark.parametrize("number", [5, 6])
def test_booking_checks_the_links_of_the_entries_that_it_reads(filled: Ledger, number: int) -> None:
    """Entry 6 says how the account of s stands, and 5 is the one before it."""
    rewritten(filled, number)
    assert filled.verify()[1] == [f"entry {number + 1} does not follow the entry before it"]
    before = filled.head()
    with pytest.raises(LedgerError, match="entry 6 of the ledger is not linked"):
        book(filled, 0.1)
    assert filled.head() == before


def test_booking_checks_the_link_of_the_last_entry_whatever_the_source(filled: Ledger) -> None:
    rewritten(filled, 6)
    with pytest.raises(LedgerError, match="entry 7 of the ledger is not linked"):
        filled.set_budget("fresh", Budget(1))


def test_booking_counts_the_entries(filled: Ledger) -> None:
    tamper(filled, "DELETE FROM discreet_entries WHERE number = 3")
    with pytest.raises(LedgerError, match="some were removed"):
        book(filled, 0.1)


SPELLINGS = ("Klinik  Nu\u0308rnberg", " Klinik N\u00fcrnberg", "Klinik N\u00fcrnberg ")


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_source_has_one_budget_however_its_name_is_spelled(ledger: Ledger, spelled: str) -> None:
    ledger.set_budget("Klinik N\u00fcrnberg", Budget(1), filter="basic")
    ledger.set_budget(spelled, Budget(0.5), filter="basic")
    assert set(ledger.accounts()) == {"Klinik N\u00fcrnberg"}
    assert book(ledger, 0.25, spelled).source == "Klinik N\u00fcrnberg"
    with pytest.raises(RefusedError, match="does not fit"):
        ledger.check(spelled, promise(0.5))
    assert ledger.account(spelled).releases == 1
    assert ledger.name_of(spelled) == ledger.history(spelled)[-1]["source"]


def spelled_by_an_earlier_version(ledger: Ledger, name: str, cap: float) -> None:
    """A budget under a name as it was typed, which versions before did not put right."""
    account = Account.opened(Budget(cap), "basic", "add-remove", "case")
    content = {"account": account.to_dict(), "purpose": "", "user": "ada"}
    with ledger.storage.writing() as (connection, head):
        append(connection, head, name, "budget", content)


def test_an_earlier_spelling_stays_the_budget_of_its_source(ledger: Ledger) -> None:
    spelled_by_an_earlier_version(ledger, "hospital ", 1)
    assert set(ledger.accounts()) == {"hospital "}
    assert book(ledger, 0.75, "hospital").source == "hospital "
    with pytest.raises(RefusedError, match="does not fit"):
        book(ledger, 0.5, "hospital ")
    ledger.set_budget("hospital", Budget(0.8), filter="basic")
    assert ledger.account("hospital").spent.epsilon == 0.75
    assert set(ledger.accounts()) == {"hospital "}
    assert ledger.verify()[1] == []


def test_of_two_earlier_spellings_only_the_proper_one_is_booked_on(ledger: Ledger) -> None:
    for name in ("hospital ", "hospital"):
        spelled_by_an_earlier_version(ledger, name, 1)
    assert {book(ledger, 0.25, name).source for name in ("hospital ", "hospital")} == {"hospital"}
    assert {name: one.releases for name, one in ledger.accounts().items()} == {
        "hospital ": 0,
        "hospital": 2,
    }
    assert ledger.verify()[1] == []
