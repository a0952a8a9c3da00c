"""CSV, Parquet and frames."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog
from discreet.log.loading import read_log

HEADERS = {
    "pm4py": "case:concept:name,concept:name,time:timestamp",
    "celonis": "_CASE_KEY,ACTIVITY_EN,EVENTTIME",
    "bupaR": "case_id,activity_id,timestamp",
    "disco": "Case ID,Activity,Complete Timestamp",
    "simple": "case,activity,time",
    "upper": "CASE,ACTIVITY,TIMESTAMP",
    "joined": "CaseID,ActivityName,EventTimestamp",
}
ROWS = ("007,a,2020-01-01T10:00:00+00:00", "007,b,2020-01-01T11:00:00+00:00")


def read(folder: Path, text: str | bytes, **options: str) -> EventLog:
    path = folder / "log.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_log(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_headers_and_delimiters(tmp_path: Path, header: str, delimiter: str) -> None:
    text = "\n".join([header, *ROWS]).replace(",", delimiter)
    log = read(tmp_path, text)
    assert log.case_ids == ["007"]
    assert log.variants.to_dict() == {("a", "b"): 1}
    assert log.table[TIME][0] == datetime(2020, 1, 1, 10, tzinfo=UTC)
    assert log.table.columns == [CASE, ACTIVITY, TIME]


def test_the_best_guess_wins(tmp_path: Path) -> None:
    header = "event,activity,start_timestamp,complete_timestamp,case_id,trace,lifecycle_id"
    row = "e,a,2020-01-01,2020-01-02,1,t,complete"
    log = read(tmp_path, f"{header}\n{row}\n")
    assert (log.activities, log.case_ids) == (("a",), ["1"])
    assert log.table[TIME].dt.day().item() == 2
    assert log.table[LIFECYCLE].item() == "complete"
    assert {"event", "start_timestamp", "trace"} < set(log.table.columns)


def test_explicit_columns(tmp_path: Path) -> None:
    text = "when,who,what,activity\n2020-01-01,1,x,other\n"
    log = read(tmp_path, text, case="who", activity="what", timestamp="when", individual="who")
    assert (log.activities, log.individual) == (("x",), CASE)
    assert log.table["activity"].item() == "other"


def test_one_column_in_two_roles(tmp_path: Path) -> None:
    log = read(tmp_path, "id,time\nx,2020-01-01\n", case="id", activity="id")
    assert (log.case_ids, log.activities) == (["x"], ("x",))


def test_displaced_columns_are_kept(tmp_path: Path) -> None:
    text = "case,concept:name,code,time\n1,long name,c,2020-01-01\n"
    log = read(tmp_path, text, activity="code")
    assert (log.activities, log.table["original:concept:name"].item()) == (("c",), "long name")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_byte_order_mark_quotes_and_newlines(tmp_path: Path, newline: str) -> None:
    text = f'\ufeff"case","activity","time"{newline}"1","a, ""b""\nc",2020-01-01{newline}'
    assert read(tmp_path, text).activities == ('a, "b"\nc',)


def test_blank_lines_are_skipped(tmp_path: Path) -> None:
    assert read(tmp_path, "case,activity,time\n\n1,a,2020-01-01\n\n").events == 1


def test_values_stay_text(tmp_path: Path) -> None:
    text = "case,activity,time,amount,flag\n1,1e3,2020-01-01,012.50,true\n"
    log = read(tmp_path, text)
    assert log.activities == ("1e3",)
    assert log.table.select("amount", "flag").row(0) == ("012.50", "true")


def test_sparse_last_column(tmp_path: Path) -> None:
    text = 'case,activity,time,note\n1,a,2020-01-01,\n1,"b",2020-01-01,x\n'
    assert read(tmp_path, text).table["note"].to_list() == [None, "x"]


def test_other_delimiter(tmp_path: Path) -> None:
    assert read(tmp_path, "case#activity#time\n1#a#2020-01-01\n", delimiter="#").events == 1


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"case,activity,time\n1,a,2020-01-01\n"))
    assert read_log(path).events == 1


def test_local_times(tmp_path: Path) -> None:
    text = "case,activity,time\n1,a,01.07.2020 12:00\n"
    log = read(tmp_path, text, timezone="Europe/Berlin")
    assert log.table[TIME].item() == datetime(2020, 7, 1, 10, tzinfo=UTC)


def test_epochs_only_if_asked(tmp_path: Path) -> None:
    text = "case,activity,time\n1,a,1577836800\n"
    log = read(tmp_path, text, timestamp_format="seconds")
    assert log.table[TIME].item() == datetime(2020, 1, 1, tzinfo=UTC)


def test_order_of_the_file(tmp_path: Path) -> None:
    text = "case,activity,time\n1,b,2020-01-02\n1,a,2020-01-01\n1,c,\n"
    log = read(tmp_path, text, order="file")
    assert log.variants.to_dict() == {("b", "a", "c"): 1}
    assert not log.has_times
    assert read(tmp_path, "case,activity\n1,a\n", order="file").events == 1
    assert read(tmp_path, text.replace("1,c,\n", "")).variants.to_dict() == {("a", "b"): 1}


def test_parquet_types(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    stamps = pl.Series([datetime(2020, 7, 1, 12)]).dt.replace_time_zone("Asia/Tokyo")
    pl.DataFrame(
        {
            "case": [7],
            "activity": pl.Series(["a"], dtype=pl.Categorical),
            "time": stamps,
            "n": [1.5],
        }
    ).write_parquet(path)
    log = read_log(path)
    assert (log.case_ids, log.activities) == (["7"], ("a",))
    assert log.table[TIME].item() == datetime(2020, 7, 1, 3, tzinfo=UTC)
    assert log.table["n"].item() == 1.5
    assert log.attributes == {}


def test_frames() -> None:
    polars = pl.DataFrame({"case": ["1"], "activity": ["a"], "time": ["2020-01-01"]})
    pandas = pd.DataFrame({"case": [1], "activity": ["a"], "time": [pd.Timestamp("2020-01-01")]})
    for frame in (polars, polars.lazy(), pandas):
        log = read_log(frame)
        assert (log.cases, log.case_ids) == (1, ["1"])
        assert log.table[TIME].item() == datetime(2020, 1, 1, tzinfo=UTC)


def test_bad_frames() -> None:
    with pytest.raises(LogError, match="the table has no events"):
        read_log(pl.DataFrame({"case": [], "activity": [], "time": []}))
    with pytest.raises(LogError, match="no events"):
        read_log(pl.DataFrame())
    with pytest.raises(LogError, match="row 2 has no case"):
        read_log(pl.DataFrame({"case": ["1", None], "activity": ["a", "b"], "time": [0, 0]}))
    with pytest.raises(LogError, match="have no clear meaning"):
        read_log(pl.DataFrame({"case": ["1"], "activity": ["a"], "time": [0]}))
    with pytest.raises(LogError, match="cannot be the case"):
        read_log(pl.DataFrame({"case": [{"x": [b"1"]}], "activity": ["a"], "time": ["2020-01-01"]}))
    with pytest.raises(LogError):
        read_log(pd.DataFrame({"case": [object()], "activity": ["a"], "time": ["2020-01-01"]}))


def test_pandas_is_not_imported() -> None:
    import subprocess
    import sys

    script = "import sys, discreet.log.loading; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
