"""The generated logs in place of public ones, also where those are at hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME
from discreet.log.loading import read_log
from tests import conftest
from tests.conftest import REAL_LOGS, RealLogs
from tests.lookalikes import SHAPES, generate


def test_there_is_one_for_every_public_log() -> None:
    assert set(SHAPES) == {str(log) for log in REAL_LOGS}


@pytest.mark.parametrize("log", REAL_LOGS, ids=str)
def test_each_is_the_same_every_time_and_holds_what_was_counted(
    log: object, tmp_path: Path
) -> None:
    once, twice = tmp_path / "once.xes.gz", tmp_path / "twice.xes.gz"
    counted = generate(str(log), once)
    assert generate(str(log), twice) == counted
    assert once.read_bytes() == twice.read_bytes()
    read = read_log(once)
    found = (read.cases, len(read.variants), read.events, len(read.activities))
    assert found == (counted.cases, counted.variants, counted.events, counted.activities)


def test_they_have_what_real_logs_have(tmp_path: Path) -> None:
    """Ties, missing values, kinds of attributes, lifecycles, few variants, many variants."""
    tables = {}
    for name in ("Sepsis", "BPIC2013_incidents", "BPIC2012_A", "CCC19"):
        generate(name, tmp_path / f"{name}.xes.gz")
        tables[name] = read_log(tmp_path / f"{name}.xes.gz")
    sepsis = tables["Sepsis"].table
    ties = sepsis.group_by(CASE, TIME).len().filter(pl.col("len") > 1)
    assert len(ties) > 1000
    assert 0 < sepsis["CRP"].null_count() < len(sepsis)
    assert sepsis["case:SIRSCriteria2OrMore"].drop_nulls().unique().len() == 2
    incidents = tables["BPIC2013_incidents"].table
    assert len(incidents.select(ACTIVITY, LIFECYCLE).unique()) == 13
    assert len(tables["BPIC2012_A"].variants) < 20
    assert len(tables["CCC19"].variants) == tables["CCC19"].cases
    assert LIFECYCLE not in tables["CCC19"].table.columns


def test_the_end_of_a_run_says_how_to_add_real_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    reporter: Any = SimpleNamespace(write_line=said.append)
    monkeypatch.setattr(conftest, "FOLDER", tmp_path)
    conftest.pytest_terminal_summary(reporter)
    (line,) = said
    for words in ("11 of 11", "Sepsis.xes.gz", str(tmp_path), "CONTRIBUTING.md", "DISCREET_LOGS"):
        assert words in line
    for log in REAL_LOGS:
        (tmp_path / log.file).touch()
    conftest.pytest_terminal_summary(reporter)
    assert said == [line]


def test_those_at_hand_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "FOLDER", tmp_path / "logs")
    known, path = RealLogs(tmp_path)["CCC19"]
    assert known.generated
    assert path == tmp_path / "CCC19.xes.gz"
    (tmp_path / "logs").mkdir()
    path.rename(tmp_path / "logs" / path.name)
    (tmp_path / "other").mkdir()
    known, path = RealLogs(tmp_path / "other")["CCC19"]
    assert (known.generated, known.cases, path.parent) == (False, 20, tmp_path / "logs")
