"""Rows of a lifecycle: what start and complete make of a case, and how one of them is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.log.reading import load_mapping, save_mapping
from tests.log.documents import document, event, trace

ROWS = (
    ("1", "a", "start"), ("1", "a", "complete"), ("1", "b", "start"), ("1", "b", "complete"),
    ("2", "a", "start"), ("2", "c", ""), ("2", "a", "complete"),
    ("3", "b", "start"),
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines = [f"{c},{a},2024-01-01 10:{i:02},{t}" for i, (c, a, t) in enumerate(ROWS)]
    file = tmp_path / "log.csv"
    file.write_text("\n".join(["case,activity,time,lifecycle", *lines]) + "\n")
    return file


def variants(log: EventLog) -> dict[tuple[str, ...], int]:
    return log.variants.to_dict()


def test_one_transition_is_kept_and_what_carries_none(path: Path) -> None:
    assert variants(read_log(path))["a", "a", "b", "b"] == 1
    found = read_log(path, transitions="complete")
    assert variants(found) == {("a", "b"): 1, ("c", "a"): 1}
    assert found.case_ids == ["1", "2"]
    both = read_log(path, transitions=["start", "complete"])
    assert variants(both) == variants(read_log(path))
    narrow = read_log(path, transitions="start", further=False)
    assert variants(narrow) == {("a", "b"): 1, ("a", "c"): 1, ("b",): 1}


def test_what_is_left_out_need_not_be_complete(path: Path) -> None:
    path.write_text(path.read_text() + "3,,never,schedule\n")
    with pytest.raises(LogError, match="row 10"):
        read_log(path)
    assert read_log(path, transitions="start").cases == 3
    with pytest.raises(LogError, match="row 10 "):
        read_log(path, transitions="schedule")


def test_a_transition_that_no_event_has_is_refused(path: Path, tmp_path: Path) -> None:
    text = path.read_text().replace(":05,", ":05,start")
    path.write_text(text)
    for engine in ("memory", "duckdb"):
        with pytest.raises(LogError, match=r"no event has the transition 'COMPLETE'.*--transiti"):
            read_log(path, transitions="COMPLETE", engine=engine)
    path.write_text(text.replace("lifecycle", "rest"))
    with pytest.raises(LogError, match=r"no column looks like the lifecycle.*--lifecycle"):
        read_log(path, transitions="complete")


def test_xes_keeps_transitions_alike_in_both_readers(tmp_path: Path) -> None:
    said = '<string key="lifecycle:transition" value="{}"/>'
    traces = [trace("1", *(event(more=said.format(one)) for one in ("start", "complete")))]
    path = tmp_path / "log.xes"
    path.write_text(document(*traces, trace("2", event())))
    for reader in ("auto", "strict"):
        options: dict[str, Any] = {"transitions": "complete", "xes_reader": reader}
        assert variants(read_log(path, **options)) == {("a",): 2}


def test_a_mapping_keeps_the_transitions(path: Path, tmp_path: Path) -> None:
    log = read_log(path, transitions="complete")
    save_mapping(tmp_path / "kept.toml", log, {"transitions": "complete"})
    found = load_mapping(tmp_path / "kept.toml")
    assert variants(read_log(path, **found)) == variants(log)
    (tmp_path / "kept.toml").write_text('transitions = ["start", "complete"]\n')
    assert read_log(path, **load_mapping(tmp_path / "kept.toml")).events == len(ROWS)
