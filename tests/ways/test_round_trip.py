"""Any log survives any format, with the same content and the same digest."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from discreet.log.datatypes import Type
from discreet.log.digest import content_digest
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.loading import read_log
from discreet.log.writing import write_log

TYPES: dict[str, Type] = {
    "whole": "integer",
    "real": "number",
    "truth": "boolean",
    "when": "date",
}

text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\t\n\r\x7f\x85&<>\"',;|"),
    max_size=8,
)
stamps = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
    lambda stamp: stamp.replace(tzinfo=UTC)
)
names = text.filter(
    lambda name: name.lower() not in ("", "case:") and not name.startswith("_duplicated")
)


@st.composite
def logs(draw: st.DrawFn) -> EventLog:
    """Logs with hostile labels, ties in time, missing values and odd attribute names."""
    height = draw(st.integers(1, 12))
    columns: dict[str, pl.Series] = {}

    def column(name: str, values: st.SearchStrategy[object], dtype: pl.DataType) -> None:
        columns[name] = pl.Series(
            draw(st.lists(values, min_size=height, max_size=height)), dtype=dtype
        )

    column(CASE, st.sampled_from(draw(st.lists(text, min_size=1, max_size=4))), pl.String())
    column(ACTIVITY, text, pl.String())
    column(TIME, stamps | st.just(datetime(2020, 1, 1, tzinfo=UTC)), pl.Datetime("us", "UTC"))
    for key in draw(st.lists(names, max_size=3, unique=True)):
        column(f"x {key}", st.none() | text, pl.String())
    column("whole", st.none() | st.integers(-(2**63), 2**63 - 1), pl.Int64())
    column("real", st.none() | st.floats(allow_nan=False), pl.Float64())
    column("truth", st.none() | st.booleans(), pl.Boolean())
    column("when", st.none() | stamps, pl.Datetime("us", "UTC"))
    column("case:kind", st.none() | text, pl.String())
    table = pl.DataFrame(columns)
    return EventLog.from_table(table.select(c for c in table if c.null_count() < len(c)))


def content(log: EventLog) -> pl.DataFrame:
    return log.frame.select(sorted(log.frame.columns))


@pytest.mark.parametrize("suffix", [".xes", ".csv", ".parquet"])
def test_round_trip(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # these files are sound
    monkeypatch.setattr("discreet.log.formats.parquet.probe", lambda *_: None)

    @settings(max_examples=20, deadline=None, derandomize=True, database=None)
    @given(logs())
    def check(log: EventLog) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"log{suffix}"
            write_log(log, path)
            kinds = {name: TYPES[name] for name in log.table.columns if name in TYPES}
            again = read_log(path, types=kinds if suffix == ".xes" else None)
        assert again.case_ids == log.case_ids
        assert again.variants == log.variants
        assert content_digest(again) == content_digest(log)
        if suffix == ".csv":
            assert content(again).columns == content(log).columns
        else:
            assert_frame_equal(content(again), content(log), check_exact=True)

    check()
