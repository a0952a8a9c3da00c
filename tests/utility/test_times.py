from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.samples import sample_log
from discreet.utility.calendar import duration_distance, throughput_distance, times_smape

START = datetime(2024, 1, 1, tzinfo=UTC)


def timed(*cases: tuple[float, ...], labels: str = "abcdef", start: datetime = START) -> EventLog:
    """Cases given by the hours of their events."""
    rows = [
        (str(i), labels[k], start + timedelta(hours=hours))
        for i, case in enumerate(cases)
        for k, hours in enumerate(case)
    ]
    return EventLog.from_table(pl.DataFrame(rows, schema=[CASE, ACTIVITY, TIME], orient="row"))


def test_equal_logs() -> None:
    log = sample_log("hospital", cases=200, seed=2)
    assert times_smape(log, log) == 0.0
    assert duration_distance(log, log) == 0.0
    assert throughput_distance(log, log) == 0.0


def test_smape_by_hand() -> None:
    assert times_smape(timed((0, 1)), timed((0, 3))) == pytest.approx(2 / 4)
    # matched by rank: 1 with 1, 2 with 4
    assert times_smape(timed((0, 1), (0, 2)), timed((0, 4), (0, 1))) == pytest.approx(1 / 6)


def test_pairs_that_the_release_lacks_count_in_full() -> None:
    assert times_smape(timed((0, 1, 2)), timed((0, 1))) == pytest.approx(1 / 2)


def test_durations_in_mean_durations() -> None:
    assert duration_distance(timed((0, 4), (0, 6)), timed((0, 10), (0, 10))) == pytest.approx(1.0)


def test_throughput_compares_weeks() -> None:
    log = timed((0, 1), (0, 2))
    later = timed((0, 1), (0, 2), start=START + timedelta(weeks=3))
    assert throughput_distance(log, later) == 1.0
    half = timed((0, 1), (0, 24 * 7 * 3))
    assert throughput_distance(log, half) == pytest.approx(0.5)
