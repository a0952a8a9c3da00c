from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.bench.store import ResultRow, Store
from discreet.log.errors import LogError

ROW = ResultRow(
    key="k1",
    log="Sepsis",
    label="travas",
    mechanism="travas",
    parameters={"epsilon": 1, "delta": 0.01},
    repetition=0,
    outcome="ok",
    figures={"similarity": 0.5},
)


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.sqlite")
    failed = replace(ROW, key="k2", outcome="failed", error="no", figures={})
    store.add(ROW)
    store.add(failed)
    assert sorted(store.rows(), key=lambda row: row.key) == [ROW, failed]
    assert (ROW.epsilon, ROW.delta) == (1, 0.01)


def test_a_key_is_never_double(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.sqlite")
    store.add(ROW)
    Store(tmp_path / "r.sqlite").add(replace(ROW, error="later"))
    assert store.rows() == [ROW]


def test_failures_can_be_forgotten(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.sqlite")
    store.add(ROW)
    store.add(replace(ROW, key="k2", outcome="failed"))
    assert store.forget_failures() == 1
    assert store.keys() == {"k1"}


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "r.sqlite").write_text("not a database, but long enough to look like one" * 50)
    with pytest.raises(LogError, match="cannot be used for results"):
        Store(tmp_path / "r.sqlite")
