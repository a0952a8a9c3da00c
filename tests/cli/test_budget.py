"""Budgets and booked releases as a steward runs them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from discreet.ledger.ledger import Ledger
from tests.cli.conftest import Desk

RELEASE = ("release", "log.csv", "-o", "out.csv", "--force", "--epsilon", "1", "--delta", "1e-6")


def test_from_the_first_budget_to_the_last_release(desk: Desk) -> None:
    unbooked = desk.json(*RELEASE)
    assert unbooked["certificate"]["ledger"] == "none"
    for path in desk.folder.glob("out.csv*"):
        path.unlink()

    assert "no ledger at" in desk.refused("budget", "show")
    begun = desk.run("budget", "set", "town", "--epsilon", "2.5", "--delta", "1e-5")
    assert "ε up to 2.5" in begun.stdout
    assert "--source NAME" in desk.refused(*RELEASE)
    assert not (desk.folder / "out.csv").exists()

    booked = desk.json(*RELEASE, "--source", "town", "--purpose", "yearly report")
    assert booked["certificate"]["ledger"] == "booked"
    assert "town" not in json.dumps(booked["certificate"])
    desk.run("certificate", "out.csv")
    again = desk.run(*RELEASE, "--source", "town", "--force")
    assert "booked as entry 4 on town" in again.stderr
    for path in desk.folder.glob("out.csv*"):
        path.unlink()
    assert "does not fit" in desk.refused(*RELEASE, "--source", "town")
    assert not (desk.folder / "out.csv").exists()
    passed = desk.json(*RELEASE, "--no-ledger")
    assert passed["certificate"]["ledger"] == "bypassed"

    (shown,) = desk.json("budget", "show")
    assert shown["releases"] == 2
    assert shown["next"]["basic"]["epsilon"] == 0.5
    assert "town" in desk.run("budget", "show").stdout
    history = desk.run("budget", "history", "town").stdout
    assert "yearly report" in history
    assert "not noted as written" not in history
    assert [row["kind"] for row in desk.json("budget", "history")] == ["budget"] + 2 * ["release"]
    verified = desk.json("budget", "verify")
    assert verified["problems"] == []
    desk.run("budget", "verify", "--head", verified["head"])
    desk.run("budget", "verify", "--head", "0123", code=1)
    for name in ("ledger.csv", "ledger.json"):
        desk.run("budget", "export", "-o", name)
        assert "yearly report" in (desk.folder / name).read_text()
    assert ".csv or .json" in desk.refused("budget", "export", "-o", "ledger.txt")
    desk.run("budget", "clock", "--purpose", "none")


def test_bad_input_costs_nothing(desk: Desk) -> None:
    desk.run("budget", "set", "town", "--epsilon", "9", "--delta", "1e-5")
    (desk.folder / "bad.csv").write_text("who,what\n1,a\n")
    source = ("--source", "town")
    assert desk.refused("release", "bad.csv", "-o", "out.csv", *source)
    assert desk.refused("release", "absent.csv", "-o", "out.csv", *source)
    assert desk.refused("release", "log.csv", "-o", "no/such/folder.csv", *source)
    assert "individual" in desk.refused(*RELEASE, *source, "--cases-per-individual", "2")
    assert "--insecure-seed" in desk.refused(*RELEASE, *source, "--insecure-seed", "1")
    published = ("--mechanism", "utravas", "--fidelity", "published", "--runs", "2")
    assert "refuted" in desk.refused(*RELEASE, *source, *published)
    assert "no budget was set" in desk.refused(*RELEASE, "--source", "city")
    assert "choose one" in desk.refused(*RELEASE, *source, "--no-ledger")
    assert desk.refused("budget", "set", "town", "--epsilon", "-1", "--delta", "0")
    assert "--raise" in desk.refused("budget", "set", "town", "--epsilon", "10", "--delta", "1e-5")
    assert not (desk.folder / "out.csv").exists()
    (shown,) = desk.json("budget", "show", "town")
    assert shown["releases"] == 0


def test_a_known_log_under_another_name_is_mentioned(desk: Desk) -> None:
    for name in ("town", "city"):
        desk.run("budget", "set", name, "--epsilon", "9", "--delta", "1e-5")
    desk.run(*RELEASE, "--source", "town")
    second = desk.run(*RELEASE, "--source", "city", "--force")
    assert "already released under the source 'town'" in second.stderr


def test_a_release_killed_after_the_spend_stays_paid_and_leaves_nothing_else(desk: Desk) -> None:
    desk.run("budget", "set", "town", "--epsilon", "9", "--delta", "1e-5")
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "discreet.cli", *RELEASE[:3], name, "--source", "town"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in ("one.csv", "two.csv")
    ]
    with Ledger() as ledger:
        while not ledger.account("town").releases:
            ended = all(process.poll() is not None for process in running)
            assert not ended or ledger.account("town").releases
            time.sleep(0.001)
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()
        booked = ledger.account("town").releases
        assert ledger.verify()[1] == []
    assert 1 <= booked <= 2
    written = [name for name in ("one.csv", "two.csv") if (desk.folder / name).exists()]
    assert len(written) <= booked


@pytest.mark.parametrize("command", ["set", "show", "history", "verify", "export", "clock"])
def test_help_teaches(desk: Desk, command: str) -> None:
    shown = desk.run("budget", command, "--help").stdout
    assert f"discreet budget {command}" in shown
    assert "Example" in shown
