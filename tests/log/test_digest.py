"""The digest follows the content and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from discreet.log.digest import content_digest
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.loading import read_log
from discreet.log.writing import write_log
from tests.conftest import RealLog, read_once

TABLE = pl.DataFrame(
    {
        CASE: ["1", "1", "2"],
        ACTIVITY: ["a", "b", "a"],
        TIME: [datetime(2020, 1, day, tzinfo=UTC) for day in (1, 2, 3)],
        "amount": [1.5, None, 1e300],
        "n": [1, 2, 3],
    },
    schema_overrides={TIME: pl.Datetime("us", "UTC")},
)


def digest(table: pl.DataFrame) -> str:
    return content_digest(EventLog.from_table(table))


@pytest.mark.parametrize(
    "edit",
    [
        pl.lit("c").alias(ACTIVITY),
        pl.lit("9").alias(CASE),
        (pl.col(TIME) + timedelta(microseconds=1)).alias(TIME),
        (pl.col("amount") * 2).alias("amount"),
        pl.col("amount").fill_null(0.0).alias("amount"),
        pl.lit("x").alias("added"),
        pl.col("n").alias("m"),
    ],
)
def test_every_edit_changes_it(edit: pl.Expr) -> None:
    assert digest(TABLE.with_columns(edit)) != digest(TABLE)


def test_only_the_content_counts() -> None:
    known = digest(TABLE)
    assert len(known) == 64
    assert digest(TABLE.select(reversed(TABLE.columns))) == known
    assert digest(TABLE[[2, 0, 1]]) == known
    assert digest(TABLE.with_columns(empty=pl.lit(None, pl.String))) == known
    assert digest(TABLE.drop("n")) != known
    assert digest(TABLE[[0, 1]]) != known


def test_cuts_between_values_matter() -> None:
    first = digest(TABLE.with_columns(pl.Series(ACTIVITY, ["ab", "c", "d"])))
    assert first != digest(TABLE.with_columns(pl.Series(ACTIVITY, ["a", "bc", "d"])))


def test_a_part_of_a_log_is_its_own_log() -> None:
    part = EventLog.from_table(TABLE).take_cases([1])
    assert content_digest(part) == digest(TABLE[[2]])


def test_same_in_every_format(tmp_path: Path, small_real_log: tuple[RealLog, Path]) -> None:
    known, path = small_real_log
    log = read_once(path)
    log = log.take_cases(range(min(log.cases, 3_000)))
    expected = content_digest(log)
    suffixes = (".xes.gz", ".csv.gz", ".parquet") if known.events < 20_000 else (".csv", ".parquet")
    for suffix in suffixes:
        write_log(log, tmp_path / f"log{suffix}")
        assert content_digest(read_log(tmp_path / f"log{suffix}")) == expected
