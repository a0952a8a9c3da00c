"""One payment, one outcome: copies of a checkpoint, other ledgers, and what verify makes of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.ledger.chain import Entry, Head, problems
from discreet.ledger.errors import LedgerError, RefusedError
from discreet.ledger.ledger import Booked, Ledger
from discreet.ledger.runs import Paid, PaidRun
from discreet.mechanisms.base import Mechanism
from discreet.privacy.guarantee import Budget

LOG = discreet.sample_log("hospital", cases=60, seed=1)
MECHANISM = discreet.mechanism("travas", epsilon=0.5)
"""Any will do: the ledger does not know what is trained."""


@pytest.fixture
def town(ledger: Ledger) -> Ledger:
    ledger.set_budget("town", Budget(2, 1e-5))
    return ledger


def begun(ledger: Ledger) -> tuple[PaidRun, str]:
    run = ledger.begin(MECHANISM, LOG, source="town")
    assert run.mark is not None
    return run, run.mark


def again(ledger: Ledger, run: PaidRun, mechanism: Mechanism = MECHANISM) -> PaidRun:
    """The run as another process finds it in a checkpoint."""
    return ledger.resume(json.loads(json.dumps(run.paid.to_dict())), mechanism)


def test_a_run_goes_from_mark_to_mark_and_ends_in_one_model(town: Ledger) -> None:
    run, first = begun(town)
    run.kept(first, "a")
    resumed = again(town, run)
    resumed.resumed(first, "a")
    resumed.kept("a", "b")
    resumed.finished("b", "model")
    resumed.finished("b", "model")
    with pytest.raises(RefusedError, match="one model"):
        resumed.finished("b", "another")
    rows = town.history("town")
    assert [row["kind"] for row in rows] == ["budget", "release"]
    assert town.verify()[1] == []


def test_a_copy_cannot_go_on_after_the_original_has(town: Ledger) -> None:
    run, first = begun(town)
    run.kept(first, "a")
    copy = again(town, run)
    run.kept("a", "b")
    with pytest.raises(RefusedError, match="continued elsewhere"):
        copy.resumed(first, "a")
    run.finished("b", "model")
    refused: tuple[Callable[[], object], ...] = (
        lambda: copy.resumed(first, "a"),
        lambda: copy.kept("a", "c"),
        lambda: copy.finished("a", "other"),
    )
    for act in refused:
        with pytest.raises(RefusedError, match="continued elsewhere"):
            act()


def test_a_crash_between_writing_and_moving_loses_nothing(town: Ledger) -> None:
    """The checkpoint marked b is on disk; the ledger is still at a."""
    run, first = begun(town)
    run.kept(first, "a")
    resumed = again(town, run)
    resumed.resumed("a", "b")
    resumed.kept("b", "c")
    other = again(town, run)
    with pytest.raises(RefusedError):
        other.resumed("a", "x")


def test_of_copies_run_at_the_same_time_one_goes_on(town: Ledger) -> None:
    run, first = begun(town)
    run.kept(first, "a")
    gate = threading.Barrier(8)
    won: list[int] = []
    refused: list[int] = []

    def go_on(number: int) -> None:
        copy = again(town, run)
        gate.wait()
        try:
            copy.resumed(first, "a")
            copy.kept("a", f"mark {number}")
            won.append(number)
        except RefusedError:
            refused.append(number)

    threads = [threading.Thread(target=go_on, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (1, 7)


def test_another_ledger_refuses_a_run_that_it_did_not_sell(town: Ledger, tmp_path: Path) -> None:
    run, first = begun(town)
    with Ledger(tmp_path / "fresh.db", create=True) as fresh:
        fresh.set_budget("town", Budget(2, 1e-5))
        with pytest.raises(RefusedError, match="another ledger"):
            again(fresh, run).resumed(first, first)
        begun(fresh)  # the same entry number, another run
        with pytest.raises(RefusedError, match="another ledger"):
            again(fresh, run).resumed(first, first)


def test_only_what_was_paid_for_goes_on(town: Ledger) -> None:
    run, first = begun(town)
    for other in (discreet.mechanism("travas", epsilon=0.25), discreet.mechanism("utravas")):
        with pytest.raises(RefusedError, match="other parameters"):
            again(town, run, other).resumed(first, first)
    with pytest.raises(LedgerError, match="does not say which run"):
        town.resume({"use": "booked", "source": "town", "entry": 2}, MECHANISM)
    again(town, run).resumed(first, first)


@pytest.mark.parametrize("entry", [1, 3, 99])
def test_what_was_not_paid_for_cannot_be_noted_as_written(town: Ledger, entry: int) -> None:
    booked = town.release(MECHANISM, LOG, source="town")
    certificate = booked.release.certificate()
    wrong = [
        Paid("town", entry, booked.paid.run),
        Paid("village", booked.paid.entry, booked.paid.run),
        Paid("town", booked.paid.entry, "another run"),
    ]
    for paid in wrong:
        with pytest.raises(RefusedError, match="did not pay"):
            town.confirm(paid, certificate)
    town.confirm(booked, certificate)
    town.confirm(Booked(booked.release, booked.paid), booked.release.certificate("other"))
    assert town.verify()[1] == []


def forged(ledger: Ledger, *notes: tuple[str, dict[str, Any]]) -> list[str]:
    """What is found in a ledger to which somebody has appended these notes."""
    exported = ledger.export()
    bodies = [json.loads(entry["body"]) for entry in exported["entries"]]
    entries = [
        Entry(b["number"], b["source"], b["kind"], e["body"], e["hash"])
        for b, e in zip(bodies, exported["entries"], strict=True)
    ]
    head = Head(exported["head"]["entries"], exported["head"]["hash"])
    for kind, content in notes:
        late = {"time": bodies[-1]["time"], "user": "eve", **content}
        entry = Entry.after(head, "town", kind, late)  # type: ignore[arg-type]
        entries.append(entry)
        head = entry.head
    return problems(entries, head)


def test_verify_reports_what_came_out_twice(town: Ledger) -> None:
    run, first = begun(town)
    run.finished(first, "model")
    note: Callable[..., tuple[str, dict[str, Any]]] = lambda kind, **more: (  # noqa: E731
        kind,
        {"release": run.paid.entry, "run": run.paid.run, **more},
    )
    assert forged(town) == []
    assert forged(town, note("finished", model="model")) == []
    assert "came out again" in forged(town, note("finished", model="other"))[0]
    assert "another run" in forged(town, note("written", run="x", certificate="c"))[0]
    assert "not a release" in forged(town, note("written", release=77, certificate="c"))[0]
    assert "not a release" in forged(town, note("written", release=1, certificate="c"))[0]
