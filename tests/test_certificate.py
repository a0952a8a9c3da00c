"""Certificates: what is changed after the release is found."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.certificate import Certificate, CertificateError, certificate_path
from discreet.log.errors import LogError
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from discreet.mechanisms.certified import follows_from_parameters
from discreet.mechanisms.travas import TraVaS
from discreet.releasing.verification import check_certificate, read_certificate


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    path = tmp_path / "shared.csv"
    TraVaS(epsilon=1, delta=1e-4).release(sample_log("permits", cases=1000, seed=1)).write(path)
    return path


def edit(path: Path, change: dict[str, object]) -> None:
    beside = certificate_path(path)
    values = json.loads(beside.read_text())
    for key, value in change.items():
        inner = values
        *parents, last = key.split(".")
        for parent in parents:
            inner = inner[parent]
        inner[last] = value
    beside.write_text(json.dumps(values))


def failed(path: Path) -> list[str]:
    return [finding.check for finding in check_certificate(path)[1] if finding.outcome == "fails"]


def test_an_untouched_file_passes(shared: Path) -> None:
    assert failed(shared) == []


def test_a_changed_activity_is_found(shared: Path) -> None:
    text = shared.read_text()
    name = text.splitlines()[1].split(",")[1]
    shared.write_text(text.replace(name, name + "x", 1))
    assert failed(shared) == ["the content is what was released"]


@pytest.mark.parametrize(
    "change",
    [
        {"parameters.epsilon": 0.1},
        {"guarantee.holds.epsilon": 0.1, "guarantee.claimed.epsilon": 0.1},
        {"guarantee.unit": "individual"},
        {"guarantee.conditions": ["anything"]},
        {"parameters.delta": 1e-9},
    ],
)
def test_a_guarantee_that_does_not_follow_is_found(shared: Path, change: dict[str, object]) -> None:
    edit(shared, change)
    assert failed(shared) == ["the guarantee follows from the mechanism and its parameters"]


def test_the_last_digits_may_be_those_of_another_machine(shared: Path) -> None:
    certificate = read_certificate(shared)
    holds = certificate.guarantee.holds
    assert holds is not None
    for by, outcome in ((1 + 1e-12, "holds"), (1 + 1e-6, "fails")):
        other = replace(holds, epsilon=holds.epsilon * by)
        stated = replace(certificate, guarantee=replace(certificate.guarantee, holds=other))
        assert follows_from_parameters(stated).outcome == outcome


def test_inside_and_beside_must_agree(tmp_path: Path) -> None:
    path = tmp_path / "shared.xes"
    TraVaS(epsilon=1, delta=1e-4).release(sample_log("permits", cases=1000, seed=1)).write(path)
    edit(path, {"parameters.epsilon": 0.1})
    assert failed(path) == ["the certificate inside the file and the one beside it agree"]


def test_an_unknown_mechanism_cannot_be_checked(shared: Path) -> None:
    edit(shared, {"mechanism": "somebody-elses"})
    outcomes = [finding.outcome for finding in check_certificate(shared)[1]]
    assert "unknown" in outcomes


def test_a_seeded_release_says_so(tmp_path: Path) -> None:
    path = tmp_path / "shared.parquet"
    TraVaS().release(sample_log("permits", cases=1000, seed=1), insecure_seed=1).write(path)
    assert read_certificate(path).guarantee.randomness == "seeded"
    assert '"seed"' not in path.with_name("shared.parquet.certificate.json").read_text()


def test_a_plain_log_has_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "plain.xes"
    write_log(sample_log("permits", cases=5, seed=1), path)
    with pytest.raises(CertificateError, match="carries no certificate"):
        read_certificate(path)
    with pytest.raises(LogError, match="there is no file"):
        read_certificate(tmp_path / "none.xes")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "discreet certificate 1"}', "null"])
def test_broken_certificates_are_one_clear_error(text: str) -> None:
    with pytest.raises(CertificateError, match="not a certificate"):
        Certificate.from_json(text)


def test_a_certificate_of_an_earlier_version_reads_and_is_intact() -> None:
    """Written before steps had rules and guarantees named columns; sealed over what it said."""
    budget = {"epsilon": 1.0, "delta": 1e-06}
    said = {
        "artefact": "variants",
        "artificial_times": True,
        "content_sha256": None,
        "guarantee": {
            "cases_per_individual": None,
            "claimed": budget,
            "composition": "one step",
            "conditions": [],
            "holds": budget,
            "neighbours": "add-remove",
            "parts": [{"name": "variants", "rho": None, **budget}],
            "randomness": "operating system",
            "reason": "It holds.",
            "status": "proved",
            "unit": "case",
        },
        "ledger": "none",
        "mechanism": "travas",
        "notes": [],
        "parameters": {"epsilon": 1.0},
        "versions": {"discreet": "0.1.0", "python": "3.11.7"},
    }
    seal = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    text = json.dumps(said | {"format": "discreet certificate 1", "seal_sha256": seal})
    old = Certificate.from_json(text)
    assert old.intact
    assert old.guarantee.parts[0].rule == ""
    assert not Certificate.from_json(text.replace("It holds", "It held")).intact
