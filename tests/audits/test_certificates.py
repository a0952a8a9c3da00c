"""Certificates under attack: tampered parameters, edited files, seeds passed off as noise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.artefacts.certificate import certificate_path
from discreet.audits.certificates import SEEDED, audit_file
from discreet.log.events import EventLog
from discreet.log.samples import sample_log
from discreet.mechanisms.travas import TraVaS

SEAL = "the certificate reads as it was written"


@pytest.fixture(scope="module")
def log() -> EventLog:
    return sample_log("permits", cases=400, seed=1)


def released(log: EventLog, path: Path, seed: int | None = None) -> Path:
    TraVaS(epsilon=1, delta=1e-3).release(log, insecure_seed=seed).write(path)
    return path


def forge(path: Path, old: str, new: str) -> None:
    """Change the certificate beside a file and inside it, where it has one inside."""
    beside = certificate_path(path)
    text = beside.read_text()
    assert old in text
    beside.write_text(text.replace(old, new))
    if path.suffix == ".xes":
        inside = path.read_text()
        compact = json.dumps(old)[1:-1].replace('\\"', "&quot;")
        assert compact in inside
        path.write_text(inside.replace(compact, json.dumps(new)[1:-1].replace('\\"', "&quot;")))


def failed(path: Path, log: EventLog | None = None) -> list[str]:
    return [found.check for found in audit_file(path, log)[1] if found.outcome == "fails"]


@pytest.mark.parametrize("name", ["shared.xes", "shared.csv", "shared.parquet"])
def test_an_honest_release_passes(tmp_path: Path, log: EventLog, name: str) -> None:
    assert failed(released(log, tmp_path / name), log) == []


def test_parameters_and_guarantee_changed_together_are_found(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    forge(path, '"epsilon": 1.0', '"epsilon": 0.1')
    assert failed(path) == [SEAL]


def test_one_changed_parameter_is_found(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    forge(path, '"fidelity": "strict"', '"fidelity": "published"')
    assert failed(path)


def test_an_edited_file_is_found(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    assert failed(path) == ["the content is what was released"]


@pytest.mark.parametrize("name", ["shared.csv", "shared.xes"])
def test_a_seeded_release_passed_off_as_private_is_found(
    tmp_path: Path, log: EventLog, name: str
) -> None:
    path = released(log, tmp_path / name, seed=7)
    assert failed(path) == []
    assert failed(path, log) == [SEEDED]
    forge(path, '"randomness": "seeded"', '"randomness": "operating system"')
    assert failed(path) == [SEAL]
    assert SEEDED in failed(path, log)


def test_a_private_release_is_not_taken_for_a_seeded_one(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    certificate, findings = audit_file(path, log, seeds=range(50))
    assert certificate.guarantee.private
    assert findings[-1].outcome == "holds"
    assert "50 seeds" in findings[-1].detail
