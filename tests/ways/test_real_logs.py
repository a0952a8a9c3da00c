"""The public logs, read by both readers and compared with r4pm as an independent one."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
import r4pm
from polars.testing import assert_frame_equal

from discreet.log.datatypes import Type
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog
from discreet.log.files import opened
from discreet.log.formats.xes.reader import read_plain
from discreet.log.loading import read_log
from tests.conftest import REAL_LOGS, RealLog, RealLogs, read_once

Located = tuple[RealLog, Path]

KINDS: dict[type[pl.DataType], Type] = {
    pl.String: "text",
    pl.Int64: "integer",
    pl.Float64: "number",
    pl.Boolean: "boolean",
    pl.Datetime: "date",
}


def test_counts(real_log: Located) -> None:
    known, path = real_log
    log = read_once(path)
    assert (log.cases, len(log.variants), log.events, len(log.activities)) == (
        known.cases,
        known.variants,
        known.events,
        known.activities,
    )


@pytest.mark.parametrize("name", [str(log) for log in REAL_LOGS if log.with_lifecycle])
def test_counts_by_lifecycle(real_logs: RealLogs, name: str) -> None:
    known, path = real_logs[name]
    log = read_log(path, classifier="activity+lifecycle")
    assert (len(log.variants), len(log.activities)) == known.with_lifecycle


def test_every_real_log_is_plain(small_real_log: Located) -> None:
    known, path = small_real_log
    with opened(path) as stream:
        assert read_plain(stream, path.name).events == known.events


def beginning(path: Path, folder: Path) -> Path:
    """The file up to its 2,000th case, where it has more."""
    parts = gzip.decompress(path.read_bytes()).split(b"</trace>", 2_000)
    if len(parts) <= 2_000:
        return path
    short = folder / path.name
    short.write_bytes(gzip.compress(b"</trace>".join(parts[:-1]) + b"</trace></log>", 1))
    return short


def test_readers_agree(small_real_log: Located, tmp_path: Path) -> None:
    path = beginning(small_real_log[1], tmp_path)
    fast, strict = read_log(path), read_log(path, xes_reader="strict")
    assert_frame_equal(fast.table, strict.table)
    assert fast.attributes == strict.attributes


def test_agrees_with_r4pm(real_log: Located, tmp_path: Path) -> None:
    """In columns and values; only r4pm fills declared defaults into missing values."""
    path = beginning(real_log[1], tmp_path)
    other, _ = r4pm.df.import_xes(str(path))
    kinds = {
        name: KINDS[type(kind)]
        for name, kind in other.schema.items()
        if name not in (CASE, ACTIVITY, LIFECYCLE, TIME)
    }
    log = read_log(path, types=kinds)
    assert set(other.columns) == set(log.table.columns)
    other = other.select(log.table.columns).with_columns(
        pl.col(name).dt.replace_time_zone("UTC")
        for name, kind in other.schema.items()
        if isinstance(kind, pl.Datetime)
    )
    filled = other.select(
        pl.when(pl.lit(log.table[name].is_not_null())).then(pl.col(name)).alias(name)
        for name in other.columns
    )
    assert_frame_equal(log.table, filled)
    assert path.name == "CoSeLoG_receipt.xes.gz" or filled.equals(other)


def test_ties_keep_the_order_of_the_file(real_logs: RealLogs) -> None:
    log = read_once(real_logs["Sepsis"][1])
    frame = log.frame.with_row_index("row").with_columns(position=pl.Series(log.order))
    again = frame.sort(CASE, TIME, "position", maintain_order=True).group_by(CASE).agg(ACTIVITY)
    mine = frame.group_by(CASE).agg(ACTIVITY)
    assert_frame_equal(again, mine, check_row_order=False)


def test_lifecycle_is_absent_where_the_file_has_none(real_logs: RealLogs) -> None:
    log: EventLog = read_once(real_logs["BPIC2020_PrepaidTravelCost"][1])
    assert LIFECYCLE not in log.table.columns
    assert log.attributes["concept:name"] == "Prepaid Travel Costs"
