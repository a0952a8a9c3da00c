"""Booking from Python, as every face does it: a release, and a training in several goes."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path

import pytest

import discreet
from discreet.ledger.errors import LedgerError
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.trained.sequence import Sequence
from discreet.privacy.guarantee import Budget
from discreet.releasing.booking import booking_for
from discreet.training.checkpoint import CheckpointError, Progress, StoppedError, checkpoint_path
from discreet.training.run import Show, Training

LOG = discreet.sample_log("hospital", cases=40, seed=1)
STEPS = 3


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("town", Budget(1, 1e-5))
    return tmp_path / "ledger.db"


def small() -> Sequence:
    return Sequence(max_length=4, steps=STEPS, alphabet="from-log")


def stop_at(step: int) -> Show:
    def show(progress: Progress) -> None:
        if progress.done == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return show


def test_a_release(place: Path, tmp_path: Path) -> None:
    told: list[str] = []
    booking = booking_for("town", purpose="report", user="ada", where=place, tell=told.append)
    travas = discreet.mechanism("travas", epsilon=0.5)
    booking.check(travas)
    booking.draw(travas, LOG).write(tmp_path / "out.csv")
    with Ledger(place) as ledger:
        row = ledger.history("town")[-1]
        assert (row["mechanism"], row["purpose"], row["user"]) == ("travas", "report", "ada")
        assert row["certificate"] is not None
    assert "booked as entry 2 on town" in told[-1]
    with pytest.raises(LedgerError, match="seed"):
        booking_for("town", where=place).draw(travas, LOG, seed=1)
    with pytest.raises(LedgerError, match="choose one"):
        booking_for("town", where=place, bypass=True)
    with pytest.raises(LedgerError, match="there is a ledger"):
        booking_for(None, where=place)


def test_a_training_in_two_goes_is_paid_for_once(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra generative is missing")
    output = tmp_path / "model.discreet"
    told: list[str] = []
    with pytest.raises(StoppedError):
        booking_for("town", where=place).train(small(), LOG, output, show=stop_at(1))
    with (
        pytest.raises(CheckpointError, match="through the ledger"),
        Training(small(), LOG).kept_beside(output) as kept,
    ):
        kept.train()
    with pytest.raises(LedgerError, match="same ledger options"):
        booking_for(None, bypass=True).train(small(), LOG, output)
    booking = booking_for("town", where=place, tell=told.append)
    trained = booking.train(small(), LOG, output)
    assert "paid for" in told[0]
    assert trained.model.ledger == "booked"
    assert trained.model.guarantee.case_column == "case:concept:name"
    assert output.exists()
    assert not checkpoint_path(output).exists()
    with Ledger(place) as ledger:
        assert ledger.account("town").releases == 1
        assert ledger.verify()[1] == []


def test_copies_that_run_at_the_same_time_write_one_model(place: Path, tmp_path: Path) -> None:
    """Both are resumed; the second took over, so the first can neither show nor write more."""
    pytest.importorskip("torch", reason="the extra generative is missing")
    first, second = tmp_path / "first.discreet", tmp_path / "second.discreet"
    shown: list[float] = []

    def overtaken(progress: Progress) -> None:
        shown.append(progress.loss)
        if progress.done == 1:
            content = checkpoint_path(first).read_bytes()
            checkpoint_path(second).write_bytes(content)
            booking_for("town", where=place).train(small(), LOG, second)

    with pytest.raises(LedgerError, match="continued elsewhere"):
        booking_for("town", where=place).train(small(), LOG, first, show=overtaken)
    assert all(loss != loss for loss in shown), "no loss of a step that nobody may keep"
    assert second.exists()
    assert not first.exists()


def test_without_a_ledger_it_says_so(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra generative is missing")
    output = tmp_path / "model.discreet"
    booking = booking_for(None)
    trained = booking.train(small(), LOG, output)
    assert trained.certificate.ledger == "none"
    assert discreet.load_model(output).ledger == "none"


def drawn_again_below(least: int, cases: int, epsilon: float) -> list[float]:
    """The law of a noisy count from 0 to 20 if what is below `least` fails and is drawn again."""
    q = math.exp(-epsilon)
    law = [(1 - q) / (1 + q) * q ** abs(n - cases) for n in range(-200, 220)]
    failing = sum(law[: 200 + least])
    return [(n >= least) * law[200 + n] + failing * law[200 + n] for n in range(21)]


def test_a_second_draw_after_a_failure_costs_as_much_as_the_first() -> None:
    """So an entry is never finished by another draw: docs/ledger.md has the argument."""
    fewer, more = (drawn_again_below(8, cases, 1.0) for cases in (9, 10))
    worst = max(abs(math.log(a / b)) for a, b in zip(fewer, more, strict=True))
    assert worst == pytest.approx(2.0, abs=1e-9)
