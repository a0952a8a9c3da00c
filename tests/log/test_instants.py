"""Timestamps as integers, and logs assembled from parts."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog, assemble
from discreet.log.instants import MONDAY, SECOND, microseconds, since_start


def log_of(times: list[datetime | None]) -> EventLog:
    return EventLog.from_table(
        pl.DataFrame(
            {
                CASE: ["x"] * len(times),
                ACTIVITY: ["a"] * len(times),
                TIME: pl.Series(times, dtype=pl.Datetime("ms", "UTC")),
            }
        )
    )


def test_microseconds_in_the_logs_order() -> None:
    log = log_of([datetime(1970, 1, 1, 0, 0, second, tzinfo=UTC) for second in (5, 1, 3)])
    assert microseconds(log).tolist() == [SECOND, 3 * SECOND, 5 * SECOND]
    assert since_start(log).tolist() == [0, 2 * SECOND, 4 * SECOND]


def test_weeks_begin_on_monday() -> None:
    assert datetime.fromtimestamp(MONDAY / SECOND, UTC) == datetime(1969, 12, 29, tzinfo=UTC)
    assert datetime.fromtimestamp(MONDAY / SECOND, UTC).weekday() == 0


def test_missing_timestamps_are_a_clear_error() -> None:
    with pytest.raises(LogError, match="1 of 2 events have no timestamp"):
        microseconds(log_of([None, datetime(2020, 1, 1, tzinfo=UTC)]))
    table = pl.DataFrame({CASE: ["x"], ACTIVITY: ["a"]})
    with pytest.raises(LogError, match="no timestamps"):
        microseconds(EventLog.from_table(table))
    with pytest.raises(LogError, match="not timestamps"):
        microseconds(EventLog.from_table(table.with_columns(pl.lit(5).alias(TIME))))


def test_an_assembled_log_is_the_one_its_table_gives() -> None:
    log = assemble(
        ["p", "q"],
        ["a", "b", "unused", "z"],
        np.array([3, 0, 1]),
        np.array([0, 2, 3]),
        np.array([5, 7, 1]) * SECOND,
        {"extra": pl.Series([1, 2, 3])},
    )
    again = EventLog.from_table(log.table)
    assert log.activities == again.activities == ("a", "b", "z")
    assert log.codes.tolist() == again.codes.tolist()
    assert log.offsets.tolist() == again.offsets.tolist()
    assert log.variants.to_dict() == {("z", "a"): 1, ("b",): 1}
    assert log.table["extra"].to_list() == [1, 2, 3]
