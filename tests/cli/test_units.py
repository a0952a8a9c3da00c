"""Whom a promise covers: said wherever it stands, and asked for where a person is named."""

from __future__ import annotations

import json

import polars as pl
import pytest

from tests.cli.conftest import Desk
from tests.log.test_cautions import CASES, PATIENTS, rows

PRICE = ("--epsilon", "1", "--delta", "1e-4", "-m", "travas")
NAMED = ("--individual", "patient_id")


@pytest.fixture
def ward(desk: Desk) -> Desk:
    """Cases of patients, up to three each, with a start and a completion of everything."""
    rows().write_csv(desk.folder / "ward.csv")
    return desk


def unframed(shown: str) -> str:
    return shown.replace("│ │ ", "")


def told(words: str) -> None:
    """The holder is told of the column of people and of the rows of the lifecycle."""
    assert "any one case, not any one person: the column 'patient_id' looks as if" in words
    assert "25 with 60 cases, up to 3 each" in words
    assert "--individual patient_id" in words
    assert "one is repeated" in words
    assert "--transitions complete" in words
    assert "--classifier activity+lifecycle" in words


def test_inspect_advise_compare_and_look_say_that_cases_are_protected(ward: Desk) -> None:
    shown = ward.run("inspect", "ward.csv")
    told(shown.stderr)
    facts = ward.json("inspect", "ward.csv")
    assert facts["people"]["people"] == PATIENTS
    assert facts["people"]["bound"] == 3
    assert facts["transitions"]["events"] == {"start": 120, "complete": 120}
    assert len(facts["cautions"]) == 2
    told(ward.run("release", "ward.csv", "-o", "out.csv", *PRICE, "--look").stderr)
    quick = ("--seconds", "1", "-m", "travas", "--epsilon", "1")
    told(ward.run("compare", "ward.csv", *quick).stderr)
    told(ward.run("advise", "ward.csv", *quick, "-o", "advice.html").stderr)
    assert "looks as if it named people" in (ward.folder / "advice.html").read_text()


def test_what_is_told_to_the_holder_is_in_no_artefact(ward: Desk) -> None:
    ended = ward.run("release", "ward.csv", "-o", "out.xes", *PRICE)
    told(ended.stderr)
    assert "ε = 1, δ = 0.0001 for any one case, strong protection" in ended.stdout
    assert "about any one case (column 'case') as if" in unframed(ended.stdout)
    assert "with k cases by k times ε only" in unframed(ended.stdout)
    ward.run("certificate", "out.xes", "--html")
    for file in ("out.xes", "out.xes.certificate.json", "out.xes.html"):
        written = (ward.folder / file).read_text()
        for fact in ("patient_id", f"{PATIENTS} with", f"{CASES} cases", "repeated"):
            assert fact not in written, (file, fact)


def test_a_person_that_is_named_asks_for_the_bound(ward: Desk) -> None:
    said = ward.refused("release", "ward.csv", "-o", "out.csv", *PRICE, *NAMED)
    assert "nothing says how many cases of each count" in said
    assert "--cases-per-individual" in said
    assert not (ward.folder / "out.csv").exists()
    assert "how many cases" in ward.refused("release", "none", "-o", "o.csv", *NAMED, "--dry-run")
    assert "how many cases" in ward.refused("train", "none", "-o", "m.discreet", *NAMED)
    looked = ward.run("release", "ward.csv", "-o", "out.csv", *PRICE, *NAMED, "--look").stderr
    assert "'patient_id' names people, 25 with 60 cases, up to 3 each" in looked
    assert "3 would keep 100% of the cases" in looked


def test_the_unit_stands_wherever_the_promise_does(ward: Desk) -> None:
    bound = (*PRICE, *NAMED, "--cases-per-individual", "2", "--transitions", "complete")
    whom = "any one person (column 'patient_id', at most 2 cases each)"
    ended = ward.run("release", "ward.csv", "-o", "out.csv", *bound)
    assert "looks as if" not in ended.stderr
    assert "repeated" not in ended.stderr
    assert "for any one person, strong protection" in ended.stdout
    assert f"about {whom} as if they had never been in the log" in unframed(ended.stdout)
    assert whom in unframed(ward.run("certificate", "out.csv").stdout)
    ward.run("certificate", "out.csv", "--html")
    page = " ".join((ward.folder / "out.csv.html").read_text().split())
    assert f"for {whom}".replace("'", "&#39;") in page
    dry = ward.run("release", "ward.csv", "-o", "dry.csv", *bound, "--dry-run").stdout
    assert "for any one person (at most 2 cases each)" in dry
    written = json.loads((ward.folder / "out.csv.certificate.json").read_text())
    assert written["guarantee"]["individual_column"] == "patient_id"


def test_one_transition_is_released_for_each_activity(ward: Desk) -> None:
    strong = ("-m", "travas", "--epsilon", "50", "--delta", "1e-3", "--allow-weak")
    for form, expected in (
        (("--transitions", "complete"), ["a", "b"]),
        (
            ("--classifier", "activity+lifecycle"),
            ["a+start", "a+complete", "b+start", "b+complete"],
        ),
    ):
        ward.run("release", "ward.csv", "-o", "out.csv", *strong, *form, "--force")
        found = pl.read_csv(ward.folder / "out.csv")
        first = found.filter(pl.col("case") == found["case"][0])
        names = first["activity"].to_list()
        if "lifecycle" in first.columns and len(expected) == 4:
            names = [f"{a}+{t}" for a, t in zip(names, first["lifecycle"].to_list(), strict=True)]
        assert names == expected


def test_a_release_of_lifecycle_rows_can_be_verified(ward: Desk) -> None:
    ward.run("release", "ward.csv", "-o", "out.csv", *PRICE)
    assert "lifecycle" not in (ward.folder / "out.csv").read_text()
    shown = ward.run("certificate", "out.csv")
    assert "✓ the content is what was released" in shown.stdout
