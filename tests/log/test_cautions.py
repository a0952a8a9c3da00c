"""What the holder of a log is told of people and of lifecycles, and when nothing is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet
from discreet.log.cautions import (
    PeopleWarning,
    TransitionsWarning,
    cautions,
    looks_like_a_person,
    people_in,
    transitions_in,
)
from discreet.log.events import EventLog
from discreet.log.loading import read_log

CASES, PATIENTS = 60, 25


def rows(**columns: Any) -> pl.DataFrame:
    """Two rows for each activity of each case, a start and a completion."""
    many = 4 * CASES
    frame = pl.DataFrame(
        {
            "case": [f"c{i // 4}" for i in range(many)],
            "activity": ["a", "a", "b", "b"] * CASES,
            "time": [f"2024-01-01T{i // 60:02}:{i % 60:02}:00Z" for i in range(many)],
            "lifecycle": ["start", "complete"] * (2 * CASES),
            "patient_id": [f"p{(i // 4) % PATIENTS}" for i in range(many)],
        }
    )
    return frame.with_columns(**columns)


def said(log: EventLog, kind: type[Warning]) -> list[str]:
    return [str(one) for one in cautions(log) if isinstance(one, kind)]


@pytest.mark.parametrize(
    "column",
    ["patient_id", "PatientNr", "Patient", "case:person", "Kunde", "customer no", "client-name",
     "case:Applicant ID", "id_patient", "Kundennummer", "MRN", "BürgerID", "Patienten-ID",
     "patients"],
)  # fmt: skip
def test_columns_that_look_like_a_person(column: str) -> None:
    assert looks_like_a_person(column)


@pytest.mark.parametrize(
    "column",
    ["case:concept:name", "org:resource", "patient_age", "customer type", "amount", "impatient",
     "case id", "client country", "personnel", "number", "id"],
)  # fmt: skip
def test_columns_that_do_not(column: str) -> None:
    assert not looks_like_a_person(column)


@pytest.mark.parametrize("further", [True, False])
def test_a_column_that_looks_like_a_person_is_named_with_what_it_says(
    tmp_path: Path, further: bool
) -> None:
    path = tmp_path / "log.parquet"
    rows().write_parquet(path)
    for data in (rows(), path):
        log = read_log(data, further=further)
        (words,) = said(log, PeopleWarning)
        assert "about any one case, not any one person" in words
        assert "'patient_id' looks as if it named people, 25 with 60 cases, up to 3 each" in words
        assert "--individual patient_id" in words
        assert "--cases-per-individual" in words
        assert "3 would keep 100% of the cases" in words


def test_where_events_stay_in_an_engine_the_name_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    rows().write_parquet(path)
    log = read_log(path, engine="duckdb")
    (words,) = said(log, PeopleWarning)
    assert "'patient_id' looks as if it named people" in words
    assert "60 cases" not in words
    (words,) = said(log, TransitionsWarning)
    assert "'lifecycle'" in words
    kept = read_log(path, engine="duckdb", transitions="complete")
    assert said(kept, TransitionsWarning) == []


def test_nothing_is_said_where_everybody_has_one_case_or_a_column_changes() -> None:
    alone = rows(patient_id=pl.col("case"))
    assert people_in(read_log(alone)) is None
    changing = rows(patient_id=pl.col("activity") + pl.col("case"))
    assert people_in(read_log(changing)) is None
    assert said(read_log(rows(), individual="case"), PeopleWarning) == []
    assert cautions(read_log(rows(), transitions="complete"), people_protected=True) == []


def test_a_person_that_is_named_asks_for_the_bound() -> None:
    (words,) = said(read_log(rows(), individual="patient_id"), PeopleWarning)
    assert "'patient_id' names people, 25 with 60 cases, up to 3 each" in words
    assert "set cases_per_individual" in words
    assert (
        cautions(
            read_log(rows(), individual="patient_id", transitions="start"), people_protected=True
        )
        == []
    )


def test_lifecycle_rows_are_said_to_repeat_every_activity() -> None:
    log = read_log(rows())
    (words,) = said(log, TransitionsWarning)
    assert "120 × complete" in words
    assert "120 × start" in words
    assert "in 100.00% of the cases one is repeated, and in 0.00% if only 'complete'" in words
    assert "--transitions complete" in words
    assert "--classifier activity+lifecycle" in words
    forms: tuple[dict[str, Any], ...]
    forms = ({"transitions": "complete"}, {"classifier": "activity+lifecycle"})
    for form in forms:
        assert transitions_in(read_log(rows(), **form)) is None
    assert transitions_in(read_log(rows(lifecycle=pl.lit("complete")))) is None
    shouting = read_log(rows(lifecycle=pl.col("lifecycle").str.to_uppercase()))
    assert "--transitions COMPLETE" in said(shouting, TransitionsWarning)[0]


def test_python_warns_and_the_release_says_nothing_of_it() -> None:
    options: dict[str, Any] = {"epsilon": 1, "delta": 1e-3, "times": False, "no_ledger": True}
    with (
        pytest.warns(PeopleWarning, match="any one case, not any one person"),
        pytest.warns(TransitionsWarning, match="'lifecycle'"),
    ):
        made = discreet.release(rows(), **options)
    stated = json.dumps(made.certificate().to_dict(), ensure_ascii=False)
    for fact in ("patient_id", f"{PATIENTS} with", f"{CASES} cases"):
        assert fact not in stated
    quiet = discreet.release(
        rows(), individual="patient_id", cases_per_individual=3, transitions="start", **options
    )
    assert quiet.guarantee.unit == "individual"


def test_python_asks_for_the_bound_before_it_reads() -> None:
    with pytest.raises(discreet.ParameterError, match=r"nothing says how many.*--cases-per-indivi"):
        discreet.release("no such file.csv", individual="patient_id", no_ledger=True)
