"""Whole logs from the command line: release --times --attributes."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_commands import run
from tests.mechanisms.whole.logs import log_of, office


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole")
    log_of(office(400)).table.write_csv(path / "log.csv")
    return path


def test_times_and_attributes_in_one_line(folder: Path) -> None:
    done = run(
        folder, "release", "log.csv", "-o", "shared.csv", "--times", "--epsilon", "8",
        "--attributes", "org:resource,case:amount:number", "--timezone", "Europe/Amsterdam",
        "--mechanism", "choice", "--candidates", "headtail,travas",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "whole" in done.stdout
    table = pl.read_csv(folder / "shared.csv")
    assert table.columns[3:] == ["org:resource", "case:amount"]
    assert table["case:amount"].dtype.is_numeric()
    certificate = json.loads((folder / "shared.csv.certificate.json").read_text())
    parameters = certificate["parameters"]
    assert parameters["variants"] == "choice"
    assert parameters["zone"] == "Europe/Amsterdam"
    assert parameters["options"] == ['candidates="headtail,travas"']


def test_times_come_by_default_where_the_log_has_them(folder: Path) -> None:
    pl.read_csv(folder / "log.csv").select("case:concept:name", "concept:name").write_csv(
        folder / "timeless.csv"
    )
    for log, more, mechanism in (
        ("log.csv", (), "whole"),
        ("log.csv", ("--no-times",), "headtail"),
        ("log.csv", ("--mechanism", "travas"), "travas"),
        ("timeless.csv", ("--order", "file"), "headtail"),
    ):
        done = run(folder, "release", log, "-o", "usual.csv", "--force", *more)
        assert done.returncode == 0, done.stderr
        certificate = json.loads((folder / "usual.csv.certificate.json").read_text())
        assert certificate["mechanism"] == mechanism
    asked = ("--times", "--order", "file")
    refused = run(folder, "release", "timeless.csv", "-o", "never.csv", *asked)
    assert refused.returncode == 2
    assert "no timestamps" in " ".join(refused.stderr.split())


def test_a_look_warns_and_writes_nothing(folder: Path) -> None:
    lone = pl.col("case:concept:name").alias("clerk")
    pl.read_csv(folder / "log.csv").with_columns(lone).write_csv(folder / "clerks.csv")
    done = run(
        folder, "release", "clerks.csv", "-o", "never.csv", "--attributes", "clerk", "--look"
    )
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "400 of 400 values of clerk" in told
    assert "no guarantee covers it" in told
    assert not (folder / "never.csv").exists()


def test_without_times_it_says_so(folder: Path) -> None:
    done = run(folder, "release", "log.csv", "-o", "plain.csv", "--mechanism", "travas")
    assert done.returncode == 0, done.stderr
    assert "--times" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--times", "--mechanism", "dpim"), "does not return variants"),
        (("--times", "--mechanism", "travas", "--rules", "learn"), "no parameter 'rules'"),
        (("--attributes", "colour"), "no column 'colour'"),
        (("--times", "--zone", "Mars"), "no time zone"),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run(folder, "release", "log.csv", "-o", "never.csv", *arguments)
    assert done.returncode == 2
    assert message in " ".join((done.stdout + done.stderr).split())
    assert not (folder / "never.csv").exists()


def test_before_and_after_as_a_page(folder: Path) -> None:
    released = run(folder, "release", "log.csv", "-o", "timed.csv", "--times", "--epsilon", "8")
    assert released.returncode == 0, released.stderr
    done = run(folder, "evaluate", "log.csv", "timed.csv", "-m", "times", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    assert "Dotted chart" in (folder / "page.html").read_text()
    again = run(folder, "evaluate", "log.csv", "timed.csv", "-m", "times", "-o", "page.html")
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_a_rehearsal_says_from_how_many_cases_on_values_are_named(folder: Path) -> None:
    done = run(
        folder, "release", "log.csv", "-o", "never.csv", "--attributes", "org:resource", "--dry-run"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "values of org:resource in fewer than about" in " ".join(done.stdout.split())
