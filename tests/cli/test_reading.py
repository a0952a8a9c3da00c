"""An ordinary export goes in: from the first error to a release, with what the errors say to do."""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Desk

STEPS = ("Aufnahme", "Prüfung", "Operation", "Entlassung")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Semicolons, Latin-1, decimal commas, day before month, a gap, two cases per person."""
    chance = random.Random(1)
    lines = ["Fallnummer;Schritt;Zeitpunkt;Patient;Kosten"]
    for case in range(400):
        for i, step in enumerate(STEPS[: chance.choice((3, 4, 4))]):
            step = "" if (case, i) == (5, 1) else step
            day = f"{case % 27 + 1:02d}/{i + 1:02d}/2024 {8 + i}:00"
            lines.append(f"F{case};{step};{day};P{case // 2};{10 * i},50")
    path = tmp_path / "export.csv"
    path.write_text("\n".join([*lines, ""]), encoding="latin-1")
    return path


def test_every_error_names_the_option_that_helps(desk: Desk, export: Path) -> None:
    options: list[str] = []
    for said, more in {
        "--encoding": ("--encoding", "latin-1"),
        "--case": ("--case", "Fallnummer"),
        "--activity": ("--activity", "Schritt"),
        "--timestamp)": ("--timestamp", "Zeitpunkt"),
        "--drop-incomplete": ("--drop-incomplete",),
        "1 February 2024 if the day comes first and 2 January 2024 if the month does; say which "
        "with timestamp_format='day-first' (--timestamp-format day-first)": (
            "--timestamp-format",
            "day-first",
        ),
    }.items():
        assert said in desk.refused("inspect", "export.csv", *options)
        options += more
    options += ("--individual", "Patient", "--types", "Kosten:number", "--decimal", ",")
    shown = desk.run("inspect", "export.csv", *options, "--save-mapping", "hospital.toml")
    assert "Fallnummer case text" in shown.stdout
    assert "Patient individual text" in shown.stdout
    assert "Kosten number" in shown.stdout
    assert "missing: 1 case, " in shown.stderr
    assert "exists" in desk.refused("inspect", "log.csv", "--save-mapping", "hospital.toml")

    arguments = ("--mapping", "hospital.toml", "--cases-per-individual", "2", "--no-ledger")
    amun = (
        "--mechanism",
        "amun",
        "--attributes",
        "Kosten:number",
        "--epsilon",
        "20",
        "--allow-weak",
    )
    told = desk.run("release", "export.csv", *arguments, *amun, "-o", "out.parquet")
    assert "left out because values are missing" in told.stderr
    assert "values are missing" not in told.stdout
    certificate = (desk.folder / "out.parquet.certificate.json").read_text()
    assert "values are missing" not in certificate
    assert pl.read_parquet_schema(desk.folder / "out.parquet")["Kosten"] == pl.Float64


def test_times_in_two_forms_are_asked_about_and_counted(desk: Desk) -> None:
    rows = ["case,activity,time", "1,a,2020-10-25T00:10:00Z", "2,b,2020-10-25 02:30"]
    (desk.folder / "mixed.csv").write_text("\n".join(rows) + "\n")
    assert "--timezone Europe/Amsterdam" in desk.refused("inspect", "mixed.csv")
    told = desk.run("inspect", "mixed.csv", "--timezone", "Europe/Berlin")
    assert "1 times carry no offset and were read as Europe/Berlin" in told.stderr
    assert "1 local times occurred twice in Europe/Berlin" in told.stderr
    facts = desk.json("inspect", "mixed.csv", "--timezone", "UTC")
    assert facts["times"] == {"offsets": {"Z": 1}, "bare": 1, "skipped": 0, "repeated": 0}


def test_standard_input(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (desk.folder / "log.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert desk.json("inspect", "-")["cases"] == 300
