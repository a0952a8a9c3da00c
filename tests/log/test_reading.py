"""Reading without further columns: the same cases, and nothing else of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.log.samples import PERSON, RESOURCE, sample_log
from discreet.log.writing import write_log

OPTIONS: dict[str, Any] = {"individual": PERSON, "tie_break": RESOURCE}


@pytest.mark.parametrize("ending", [".csv", ".xes", ".parquet"])
def test_only_columns_with_a_role_are_kept(ending: str, tmp_path: Path) -> None:
    log = sample_log("hospital", cases=60, seed=4)
    path = tmp_path / f"log{ending}"
    number = pl.int_range(log.events).alias("case:number")
    write_log(EventLog.from_table(log.table.with_columns(number)), path)
    whole = read_log(path, **OPTIONS)
    few = read_log(path, **OPTIONS, further=False)
    assert "case:number" in whole.table.columns
    assert set(few.table.columns) == set(whole.table.columns) - {"case:number"}
    assert few.variants == whole.variants
    assert few.individual_of_case.tolist() == whole.individual_of_case.tolist()
    assert few.order.tolist() == whole.order.tolist()
    assert few.names == {k: v for k, v in whole.names.items() if k != "case:number"}


def test_what_is_said_of_other_columns_is_still_checked(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_log(sample_log("permits", cases=20, seed=1), path)
    for wrong in ({"types": {"nothing": "number"}}, {"case_attributes": "nothing"}):
        with pytest.raises(LogError, match=r"log\.parquet: there is no column 'nothing'"):
            read_log(path, further=False, **wrong)


def test_ties_are_broken_by_columns_before_the_position() -> None:
    frame = pl.DataFrame(
        {
            "case": ["1", "1", "1", "1"],
            "activity": ["d", "c", "b", "a"],
            "time": ["2020-01-01"] * 3 + ["2019-01-01"],
            "late": [2, 1, 1, 9],
            "text": ["x", "z", "y", "x"],
        }
    )

    def sequence(*columns: str) -> str:
        return "".join(next(iter(read_log(frame, tie_break=columns).variants))[0])

    assert sequence() == "adcb"
    assert sequence("late") == "acbd"
    assert sequence("late", "text") == "abcd"
    assert sequence("activity") == "abcd"
    with pytest.raises(LogError, match="cannot break ties"):
        read_log(frame.with_columns(late=pl.lit(1.5)), tie_break="late")
    with pytest.raises(LogError, match="row 1 has no value in 'text'"):
        read_log(frame.with_columns(text=pl.lit(None, dtype=pl.String)), tie_break="text")
