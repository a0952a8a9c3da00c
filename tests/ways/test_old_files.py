"""What earlier versions wrote is read: certificates, ledgers, models, trainings under way."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.log.loading import read_log
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.trained.sequence import Sequence
from discreet.releasing.booking import booking_for
from discreet.releasing.verification import check_certificate
from discreet.training.checkpoint import Checkpoint, checkpoint_path
from discreet.training.run import Training
from discreet.training.trained_model import load_model
from tests.golden import FOLDER, LOG, SOURCE

pytest.importorskip("torch", reason="the extra generative is missing")

VERSIONS = sorted(folder.name for folder in FOLDER.iterdir() if (folder / "ledger.sql").exists())
RELEASED = (
    "follows.json",
    "generated.csv",
    "model.discreet",
    "tree.ptml",
    "variants.csv",
    "variants.variants.parquet",
    "whole.parquet",
    "whole.xes.gz",
)


@pytest.fixture(params=VERSIONS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what a version wrote, its ledger a database again."""
    folder = tmp_path / "kept"
    shutil.copytree(FOLDER / request.param, folder)
    (folder / "ledger.key").chmod(0o600)
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.executescript((folder / "ledger.sql").read_text(encoding="utf-8"))
    return folder


def test_versions_are_kept() -> None:
    assert "0.1.0" in VERSIONS


@pytest.mark.parametrize("name", RELEASED)
def test_a_certificate_is_read_and_holds(kept: Path, name: str) -> None:
    certificate, findings = check_certificate(kept / name)
    assert [finding for finding in findings if finding.outcome != "holds"] == []
    assert certificate.guarantee.holds is not None
    assert certificate.guarantee.explain()


def test_a_ledger_is_read_verified_and_booked_on(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_LEDGER_KEY", str(kept / "ledger.key"))
    with Ledger(kept / "ledger.db") as ledger:
        assert ledger.verify()[1] == []
        before = ledger.account(SOURCE).spent.epsilon
        rows = [row for row in ledger.history(SOURCE) if row["kind"] == "release"]
        assert len(rows) == 8
        assert sum(row["certificate"] is not None for row in rows) == 7, "one is not finished"
        log = read_log(LOG)
        (warning,) = ledger.recognise(log, "another")
        assert f"already released under the source '{SOURCE}'" in warning
        ledger.release(mechanism("travas", epsilon=1), log, source=SOURCE)
        assert ledger.account(SOURCE).spent.epsilon > before
        assert ledger.verify()[1] == []


def test_a_model_is_read_and_drawn_from(kept: Path) -> None:
    drawn = load_model(kept / "model.discreet").generate(40)
    assert drawn.artefact.cases == 40


def test_a_training_is_finished(kept: Path) -> None:
    output = kept / "stopped.discreet"
    found = Checkpoint.read(checkpoint_path(output))
    assert found is not None
    assert found.booking["source"] == SOURCE
    chosen = Sequence(alphabet="from-log", max_length=8, steps=4000)
    booking = booking_for(SOURCE, where=kept / "ledger.db")
    payment = booking._resume(found.booking, chosen)
    payment.resumed(found.before, found.mark)
    assert Training(chosen, read_log(LOG)).first.identity == found.identity
