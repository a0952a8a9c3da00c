from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.certificate import Certificate, certificate_path
from discreet.log.loading import read_log
from discreet.mechanisms.certified import follows_from_parameters, mechanism_of
from discreet.mechanisms.registry import mechanism, mechanism_names
from discreet.parameters import ParameterError
from discreet.releasing.verification import check_certificate
from tests.golden import FOLDER, LOG

BY_AUTO = {"likeness": "headtail", "pure": "laplace", "real": "travas"}
"""Releases of `auto` that version 0.1.0 wrote, and the mechanism that it chose for each."""


def of_auto(name: str) -> Path:
    return FOLDER / "0.1.0" / f"auto-{name}.variants.parquet"


@pytest.mark.parametrize("name", BY_AUTO)
def test_certificates_of_auto_are_read_and_hold(name: str) -> None:
    certificate, findings = check_certificate(of_auto(name))
    assert certificate.mechanism == "auto"
    assert [finding.outcome for finding in findings] == ["holds"] * len(findings)
    assert len(findings) >= 3
    chosen = mechanism_of(certificate)
    assert chosen.name == BY_AUTO[name]
    assert certificate.notes[0].startswith(f"{chosen.name} was chosen:")


@pytest.mark.parametrize("name", BY_AUTO)
def test_a_promise_that_auto_did_not_make_fails(name: str) -> None:
    given = json.loads(certificate_path(of_auto(name)).read_text(encoding="utf-8"))
    given["parameters"]["epsilon"] = 0.19 if name == "pure" else 0.5
    finding = follows_from_parameters(Certificate.from_json(json.dumps(given)))
    assert finding.outcome == "fails"


def test_auto_is_judged_by_the_epsilon_of_a_case() -> None:
    given = json.loads(certificate_path(of_auto("pure")).read_text(encoding="utf-8"))
    for epsilon, cases, name in ((0.31, None, "headtail"), (1.0, 5, "laplace")):
        given["parameters"] |= {"epsilon": epsilon, "cases_per_individual": cases}
        assert mechanism_of(Certificate.from_json(json.dumps(given))).name == name


def test_a_certificate_of_a_mechanism_over_auto_is_unknown_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "chosen.csv"
    mechanism("choice", candidates="travas,headtail").release(read_log(LOG)).write(path)
    given = json.loads(certificate_path(path).read_text(encoding="utf-8"))
    given["parameters"]["candidates"] = "travas,auto"
    finding = follows_from_parameters(Certificate.from_json(json.dumps(given)))
    assert finding.outcome == "unknown"
    assert "auto is gone" in finding.detail


def test_who_asks_for_auto_is_told_what_to_name() -> None:
    for given in ({}, {"want": "real-variants"}):
        with pytest.raises(ParameterError, match="leave the mechanism out or name headtail"):
            mechanism("auto", **given)
    assert "auto" not in mechanism_names()
