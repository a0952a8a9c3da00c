"""Who is found by a few known events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from discreet.advice.knowing import KNOWN, found_by
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog


def log(sequences: list[str], days: list[int] | None = None) -> EventLog:
    rows = [
        (f"c{number}", label, datetime(2024, 1, 1, place, tzinfo=UTC) + timedelta(days=day))
        for number, (sequence, day) in enumerate(
            zip(sequences, days or [0] * len(sequences), strict=True)
        )
        for place, label in enumerate(sequence)
    ]
    columns = [CASE, ACTIVITY, TIME] if days else [CASE, ACTIVITY]
    table = pl.DataFrame(rows, schema=[CASE, ACTIVITY, TIME], orient="row")
    return EventLog.from_table(table.select(columns))


def test_a_crowd_hides_everybody() -> None:
    for one in found_by(log(["abc"] * 50)):
        assert (one.by_activity, one.by_day) == (0.0, None)


def test_each_on_a_day_of_their_own_is_found_by_one_event() -> None:
    found = found_by(log(["abc"] * 30, list(range(30))))
    assert [one.events for one in found] == list(KNOWN)
    assert all((one.by_activity, one.by_day) == (0.0, 1.0) for one in found)


def test_who_alone_has_an_activity_twice_is_found_by_knowing_both() -> None:
    found = {one.events: one.by_activity for one in found_by(log([*["ab"] * 9, "aa"]))}
    assert found[1] == 0.0
    assert found[2] == 0.1
    assert found[5] == 0.1
