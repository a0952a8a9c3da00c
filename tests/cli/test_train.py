"""Training as a steward runs it: paid once, stopped and resumed, refused when it should be."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.training.checkpoint import Checkpoint, Progress, checkpoint_path
from tests.cli.conftest import Desk

pytest.importorskip("torch", reason="the extra generative is missing")

STEPS = 4
MODEL = "model.discreet"
SMALL = ("--max-length", "8", "--steps", str(STEPS), "--alphabet", "from-log")
TRAIN = ("train", "log.csv", "-o", MODEL, *SMALL)


HELD = """
import signal, sys
from discreet.cli import main, train

def wait(*_):
    print("kept", flush=True)
    signal.pause()

train._Meter.read = wait
sys.argv = ["discreet", *sys.argv[1:]]
main()
"""
"""`discreet` whose training never gets past its first checkpoint."""


def spends(source: str = "town") -> int:
    return sum(row["kind"] == "release" for row in Ledger().history(source))


def stopped_at(desk: Desk, step: int, by: signal.Signals, *arguments: str) -> str:
    """Train until a signal comes after so many steps; what was said."""
    from discreet.cli import train

    def read(meter: object, progress: Progress, every: float) -> None:
        if progress.done == step:
            os.kill(os.getpid(), by)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train._Meter, "read", read)
        return desk.run(*TRAIN, *arguments, code=128 + by).stderr


def test_trained_checked_and_shown(desk: Desk) -> None:
    shown = desk.run(*TRAIN, "--epsilon", "2", "--delta", "1e-6")
    assert "ε = 2, δ = 1e-06" in shown.stdout
    assert f"discreet generate {MODEL}" in shown.stdout
    assert "not for publication" in shown.stderr
    assert f"network {STEPS}/{STEPS}, ε so far 2" in shown.stderr
    assert "loss" not in shown.stdout
    assert not checkpoint_path(desk.folder / MODEL).exists()
    checked = desk.json("certificate", MODEL)
    assert checked["artefact"] == "model"
    assert checked["ledger"] == "none"
    assert {check["outcome"] for check in checked["checks"]} == {"holds"}
    stated = json.dumps([checked["guarantee"], checked["notes"], checked["parameters"]])
    assert "300" not in stated, "the true number of cases"


def test_help_teaches(desk: Desk) -> None:
    shown = desk.run("train", "--help").stdout
    for text in ("discreet train", "--epsilon", "--max-length", "checkpoint", "--source"):
        assert text in shown
    assert "--rules" not in shown, "an option of a mechanism that trains nothing"


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_stopped_and_gone_on_with_is_paid_for_once(desk: Desk, by: signal.Signals) -> None:
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    booked = ("--source", "town", "--epsilon", "1")
    said = stopped_at(desk, 2, by, *booked)
    assert "Run the same command again" in said
    assert not (desk.folder / MODEL).exists()
    assert spends() == 1
    path = checkpoint_path(desk.folder / MODEL)
    found = Checkpoint.read(path)
    assert found is not None
    assert found.taken == {"network": 2}
    assert found.booking["source"] == "town"

    assert "other parameters" in desk.refused(*TRAIN, "--source", "town", "--epsilon", ".5")
    assert "same ledger options" in desk.refused(*TRAIN, "--no-ledger", "--epsilon", "1")
    assert path.exists()

    ended = desk.run(*TRAIN, *booked)
    assert "paid for" in ended.stderr
    assert f"network {STEPS}/{STEPS}, ε so far 1" in ended.stderr
    assert spends() == 1
    assert not path.exists()
    assert desk.json("certificate", MODEL)["ledger"] == "booked"
    (row,) = [row for row in Ledger().history("town") if row["kind"] == "release"]
    assert row["certificate"] is not None

    (desk.folder / MODEL).unlink()
    assert "does not fit" in desk.refused(*TRAIN, *booked)
    assert [entry.name for entry in desk.folder.glob("model*")] == []


def test_a_killed_training_goes_on(desk: Desk) -> None:
    """kill -9 right after the first checkpoint; the same command finishes the run."""
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    command = [*TRAIN, "--source", "town"]
    with subprocess.Popen(
        [sys.executable, "-c", HELD, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.kill()
        assert said == "kept\n", process.communicate()[1]
    path = checkpoint_path(desk.folder / MODEL)
    assert spends() == 1
    found = _first_state(path)
    assert found is not None
    assert found.taken["network"] < STEPS

    from discreet.cli import train

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            train._Meter,
            "read",
            lambda meter, progress, every: os.kill(os.getpid(), signal.SIGINT),
        )
        desk.run(*command, code=130)
    assert spends() == 1
    later = _first_state(path)
    assert later is not None
    assert later.taken["network"] == found.taken["network"] + 1
    assert later.state is not None
    assert found.state is not None
    assert later.state.facts == found.state.facts


def test_a_copied_checkpoint_gives_no_second_model(desk: Desk) -> None:
    """One payment: the copies of its checkpoint are refused, before and after it is finished."""
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    booked = ("--source", "town", "--epsilon", "1")
    stopped_at(desk, 2, signal.SIGINT, *booked)
    original = checkpoint_path(desk.folder / MODEL)
    copies = [f"copy{i}.discreet" for i in range(3)]
    for name in copies:
        shutil.copy(original, checkpoint_path(desk.folder / name))
    desk.run(*TRAIN, *booked)
    for name in copies:
        said = desk.refused("train", "log.csv", "-o", name, *SMALL, *booked)
        assert "continued elsewhere" in said
        assert "loss" not in said
        assert not (desk.folder / name).exists()
    assert spends() == 1
    assert desk.json("budget", "verify")["problems"] == []


def test_a_copy_overtakes_and_the_original_is_refused(desk: Desk) -> None:
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    booked = ("--source", "town", "--epsilon", "1")
    stopped_at(desk, 2, signal.SIGINT, *booked)
    copy = "copy.discreet"
    shutil.copy(checkpoint_path(desk.folder / MODEL), checkpoint_path(desk.folder / copy))
    desk.run("train", "log.csv", "-o", copy, *SMALL, *booked)
    assert "continued elsewhere" in desk.refused(*TRAIN, *booked)
    assert not (desk.folder / MODEL).exists()


def test_a_fresh_ledger_takes_no_checkpoint_booked_elsewhere(desk: Desk) -> None:
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    booked = ("--source", "town", "--epsilon", "1")
    stopped_at(desk, 2, signal.SIGINT, *booked)
    desk.monkeypatch.setenv("DISCREET_LEDGER", str(desk.folder / "fresh.db"))
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    assert "another ledger" in desk.refused(*TRAIN, *booked)
    assert spends() == 0
    assert not (desk.folder / MODEL).exists()


def test_a_model_lost_while_it_was_written_is_written_again_for_nothing(desk: Desk) -> None:
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    booked = ("--source", "town", "--epsilon", "1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.training.trained_model.TrainedModel.save", _crash)
        with pytest.raises(MemoryError):
            desk.run(*TRAIN, *booked)
    assert not (desk.folder / MODEL).exists()
    desk.run(*TRAIN, *booked)
    assert desk.json("certificate", MODEL)["ledger"] == "booked"
    assert spends() == 1
    assert desk.json("budget", "verify")["problems"] == []


def _crash(*_: object, **__: object) -> None:
    raise MemoryError


def _first_state(path: Path) -> Checkpoint | None:
    found = Checkpoint.read(path) if path.exists() else None
    return found if found is not None and found.state is not None else None


def test_a_bypassed_ledger_is_in_the_certificate(desk: Desk) -> None:
    desk.run("budget", "set", "town", "--epsilon", "1", "--delta", "1e-5")
    assert "--source NAME" in desk.refused(*TRAIN)
    assert "does not fit" in desk.refused(*TRAIN, "--source", "town", "--epsilon", "2")
    assert desk.json(*TRAIN, "--no-ledger")["certificate"]["ledger"] == "bypassed"
    assert spends() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "none.csv", "-o", MODEL], "no file"),
        (["train", "log.csv", "-o", "model.xes"], "ends in .discreet"),
        (["train", "log.csv", "-o", "none/model.discreet"], "no folder"),
        (["train", "log.csv", "-o", MODEL, "-m", "travas"], "trains no model"),
        (["train", "log.csv", "-o", MODEL, "--epsilon", "0"], "epsilon must be"),
        (["train", "log.csv", "-o", MODEL, "--cases-per-individual", "2"], "--individual"),
    ],
)
def test_bad_input_leaves_nothing(desk: Desk, arguments: list[str], message: str) -> None:
    assert message in desk.refused(*arguments)
    assert list(desk.folder.glob("model*")) == []


def test_without_torch_it_says_what_to_install(desk: Desk) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        said = desk.refused(*TRAIN)
    assert "pip install 'discreet[generative]'" in said
    assert list(desk.folder.glob("model*")) == []
