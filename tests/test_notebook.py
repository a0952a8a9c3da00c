"""What things show of themselves, at a prompt and in a notebook."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import discreet
from discreet.log.errors import LogError
from discreet.parameters import ParameterError

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def log() -> discreet.EventLog:
    rows = [(str(case), activity) for case in range(40) for activity in ("a", NASTY)]
    frame = pl.DataFrame(rows, schema=["case", "activity"], orient="row")
    return discreet.read_log(frame, case="case", activity="activity", order="file")


def test_logs_and_variants(log: discreet.EventLog) -> None:
    assert repr(log) == "EventLog(40 cases, 80 events, 2 activities)"
    assert repr(log.variants) == "Variants(1 variants, 40 cases, 2 activities)"
    for shown in (log._repr_html_(), log.variants._repr_html_()):
        assert "<table>" in shown
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown


def test_a_release_shows_what_was_released_and_its_promise(log: discreet.EventLog) -> None:
    made = discreet.release(log, "travas", epsilon=2, delta=1e-3, no_ledger=True)
    assert repr(made).startswith("Release(travas: ")
    assert "ε = 2, δ = 0.001, proved" in repr(made)
    assert "NOT PRIVATE" not in repr(made)
    shown = made._repr_html_()
    assert "proved" in shown
    assert "<summary>Every step" in shown
    assert "<script" not in shown
    seeded = discreet.release(log, "travas", insecure_seed=1, no_ledger=True)
    assert "NOT PRIVATE" in repr(seeded)
    assert "NOT PRIVATE" in seeded._repr_html_()
    assert repr(made.guarantee) == "Guarantee(ε = 2, δ = 0.001, proved, add-remove, per case)"


def test_a_graph_is_drawn(log: discreet.EventLog) -> None:
    made = discreet.release(log, "df-laplace", alphabet=["a", NASTY], no_ledger=True)
    shown = made._repr_html_()
    assert "<svg" in shown
    assert "<script" not in shown


def test_an_evaluation_is_for_the_holder(log: discreet.EventLog) -> None:
    found = discreet.evaluate(log, log, measures=["similarity", "size"])
    assert "similarity = 1" in repr(found)
    assert "holder" in repr(found)
    assert "<td>similarity</td><td>1</td>" in found._repr_html_()


def test_frames_come_out_as_they_went_in(log: discreet.EventLog) -> None:
    names = ["case:concept:name", "concept:name"]
    assert log.to_polars().columns == names
    assert list(log.to_pandas().columns) == names
    counts = log.variants.to_polars()
    assert counts.to_dict(as_series=False) == {"variant": [["a", NASTY]], "cases": [40]}
    assert list(log.variants.to_pandas()["cases"]) == [40]
    made = discreet.release(log, "travas", epsilon=5, delta=0.01, no_ledger=True)
    cases = made.artefact.cases
    assert made.to_polars()["case:concept:name"].n_unique() == cases > 0
    assert made.to_pandas()["case:concept:name"].nunique() == cases


def test_one_line_from_a_file_or_a_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: discreet.EventLog
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    path = tmp_path / "log.csv"
    path.write_text("patient,step\n" + "".join(f"{i},a\n" for i in range(50)))
    for given in (path, str(path), pl.read_csv(path)):
        made = discreet.release(
            given, epsilon=1, delta=1e-3, case="patient", activity="step", order="file"
        )
        assert made.guarantee.case_column == "patient"
        assert made.ledger == "none"
    with pytest.raises(ParameterError, match="case: how a log is read"):
        discreet.release(log, case="patient")
    with pytest.raises(ParameterError, match="'epsilom'"):
        discreet.release(log, epsilom=1)
    with pytest.raises(LogError, match="no file"):
        discreet.release(tmp_path / "none.csv")


def test_where_there_is_a_ledger_one_line_books_or_says_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: discreet.EventLog
) -> None:
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "ledger.db"))
    with discreet.Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("ward", discreet.Budget(3, 1e-3))
    with pytest.raises(discreet.LedgerError, match="there is a ledger"):
        discreet.release(log)
    made = discreet.release(log, source="ward", epsilon=1, delta=1e-6)
    assert made.ledger == "booked"
    with discreet.Ledger(tmp_path / "ledger.db") as ledger:
        assert ledger.account("ward").releases == 1
