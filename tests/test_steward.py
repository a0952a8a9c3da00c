"""The steward's day in the documents is a day that works, from the export to the officer's page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl

from discreet.log.events import ACTIVITY, CASE, TIME
from discreet.log.samples import PERSON, RESOURCE, sample_log
from tests.cli.conftest import Desk, desk
from tests.cli.test_advise import external

__all__ = ["desk"]

PAGE = (Path(__file__).parent.parent / "docs" / "steward.md").read_text()
HEADER = next(line for line in PAGE.splitlines() if line.startswith("Fallnummer;"))
COMMANDS = [
    shlex.split(block.removeprefix("$ discreet ").replace("\\\n", " "))
    for block in re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
]
MISSING = 7


def export(path: Path) -> int:
    """Write an export as a German spreadsheet does; how many cases lack a required value."""
    log = sample_log("hospital", cases=400, seed=5)
    table = log.frame.select(
        pl.col(CASE).alias("Fallnummer"),
        pl.col(PERSON).alias("Patient"),
        pl.col(ACTIVITY).str.replace("T", "Tä", literal=True).alias("Tätigkeit"),
        pl.col(TIME).dt.strftime("%d.%m.%Y %H:%M").alias("Zeitpunkt"),
        pl.col(RESOURCE).alias("Fachabteilung"),
        pl.when(pl.int_range(pl.len()) % 5 > 0).then(pl.lit("12,50")).alias("Kosten"),
    )
    gaps = pl.Series([i * 300 for i in range(MISSING)])
    rows = pl.int_range(table.height, eager=True)
    table = table.with_columns(
        pl.when(~rows.is_in(gaps.implode())).then(pl.col("Zeitpunkt")).alias("Zeitpunkt")
    )
    assert ";".join(table.columns) == HEADER
    path.write_bytes(table.write_csv(separator=";").encode("latin-1"))
    return table.filter(pl.col("Zeitpunkt").is_null())["Fallnummer"].n_unique()


def test_five_commands_from_an_export_to_a_page_for_the_officer(desk: Desk) -> None:
    lacking = export(desk.folder / "aufnahmen.csv")
    assert [command[0] for command in COMMANDS] == [
        "inspect",
        "advise",
        "budget",
        "release",
        "certificate",
    ]
    inspect, advise, budget, release, certificate = COMMANDS
    seen = desk.run(*inspect)
    assert f"missing: {lacking} cases, " in seen.stderr
    assert "Kosten number" in seen.stdout
    assert "Patient individual" in seen.stdout
    assert (desk.folder / "klinik.toml").is_file()
    assert "of each person" in desk.run(*advise, "--seconds", "5", "--epsilon", "1").stdout
    assert external((desk.folder / "beratung.html").read_text()) == []
    desk.run(*budget)
    assert "booked as entry" in desk.run(*release).stderr
    shared = pl.read_csv(desk.folder / "freigabe.csv")
    assert shared.columns == ["Fallnummer", "Tätigkeit", "Zeitpunkt"]
    desk.run(*certificate)
    page = (desk.folder / "zertifikat.html").read_text()
    assert "Jahresbericht" in page
    assert "column “Patient”" in page
    checks = desk.json("certificate", "freigabe.csv")["checks"]
    assert {check["outcome"] for check in checks} == {"holds"}
