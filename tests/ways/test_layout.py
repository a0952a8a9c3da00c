"""Columns of a release: under the names and in the layout of the file it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.loading import read_log
from discreet.log.reading import load_mapping, save_mapping
from discreet.log.writing import write_log
from discreet.mechanisms.registry import mechanism
from discreet.releasing.verification import check_certificate
from discreet.utility.subject import subject_of

HEAD = "Fall;Tätigkeit;Status;Wann;Alter;Station\n"
GERMAN: dict[str, Any] = {
    "case": "Fall",
    "activity": "Tätigkeit",
    "lifecycle": "Status",
    "timestamp": "Wann",
}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    rows = [
        f"{case};{step};{status};2024-01-0{day + 1} 10:00;{20 + case};{'abc'[case % 3]}\n"
        for case in range(60)
        for day, (step, status) in enumerate((("Auf+nahme", "start"), ("Auf+nahme", "complete")))
    ]
    path = tmp_path / "export.csv"
    path.write_text(HEAD + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_release_has_the_names_of_the_file(export: Path, tmp_path: Path, suffix: str) -> None:
    log = read_log(export, **GERMAN, classifier="activity+lifecycle")
    path = tmp_path / f"shared{suffix}"
    mechanism("travas", epsilon=3, delta=1e-2).release(log).write(path)
    frame = pl.read_csv(path) if suffix == ".csv" else pl.read_parquet(path)
    assert set(frame.columns) == {"Fall", "Tätigkeit", "Status", "Wann"}
    assert set(frame["Tätigkeit"]) == {"Auf+nahme"}
    assert set(frame["Status"]) == {"start", "complete"}
    _, findings = check_certificate(path)
    assert {finding.outcome for finding in findings} == {"holds"}
    assert subject_of(path).variants is not None
    again = read_log(path, **GERMAN, classifier="activity+lifecycle")
    assert again.activities == log.activities
    if suffix == ".parquet":
        Path(f"{path}.certificate.json").unlink()
        _, findings = check_certificate(path)
        assert {finding.outcome for finding in findings} == {"holds"}


def test_xes_keeps_its_own_names_and_both_columns(export: Path, tmp_path: Path) -> None:
    log = read_log(export, **GERMAN, classifier="activity+lifecycle")
    path = tmp_path / "shared.xes"
    mechanism("travas", epsilon=3, delta=1e-2).release(log).write(path)
    text = path.read_text()
    assert 'key="concept:name" value="Auf+nahme"' in text
    assert 'key="lifecycle:transition" value="start"' in text
    assert read_log(path, classifier="activity+lifecycle").activities == log.activities
    _, findings = check_certificate(path)
    assert {finding.outcome for finding in findings} == {"holds"}


def test_attributes_of_cases_are_those_that_are_declared(export: Path, tmp_path: Path) -> None:
    log = read_log(export, **GERMAN, case_attributes="Alter", types="Alter:integer")
    assert {"case:Alter", "Station"} <= set(log.table.columns)
    write_log(log, tmp_path / "again.csv")
    assert pl.read_csv(tmp_path / "again.csv").columns[:1] == ["Fall"]
    assert "Alter" in pl.read_csv(tmp_path / "again.csv").columns
    write_log(log, tmp_path / "log.xes")
    assert '<int key="Alter" value="20"/>' in (tmp_path / "log.xes").read_text().split("<event>")[0]
    save_mapping(tmp_path / "m.toml", log, {"case_attributes": "Alter"})
    assert load_mapping(tmp_path / "m.toml")["case_attributes"] == "Alter"
    with pytest.raises(LogError, match=r"'Status' has several values in the case '0'"):
        read_log(
            export, case="Fall", activity="Tätigkeit", timestamp="Wann", case_attributes="Status"
        )
    with pytest.raises(LogError, match=r"there is no column 'Altr'.*did you mean 'Alter'"):
        read_log(export, **GERMAN, case_attributes=["Altr"])
    with pytest.raises(LogError, match="has a role"):
        read_log(export, **GERMAN, case_attributes="Fall")


def test_columns_of_which_nothing_would_be_shown_are_told(export: Path) -> None:
    log = read_log(export, **GERMAN, case_attributes="Alter, Station")
    amun = mechanism("amun", epsilon=10, delta=1e-2, attributes=("case:Alter", "case:Station"))
    told = [note for note in amun.advice(log) if "will mostly become (other)" in note]
    assert len(told) == 1
    assert "values of case:Alter" in told[0]
