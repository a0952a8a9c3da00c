"""EventLog: order, classifiers, individuals, parts."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog


def table(*rows: tuple[str, str, int], **more: list[str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            CASE: [row[0] for row in rows],
            ACTIVITY: [row[1] for row in rows],
            TIME: [datetime(2020, 1, row[2], tzinfo=UTC) for row in rows],
            **more,
        },
        schema_overrides={TIME: pl.Datetime("us", "UTC")},
    )


ROWS = (("2", "c", 3), ("1", "b", 1), ("2", "a", 3), ("1", "a", 2), ("2", "d", 1))


def test_order_is_case_then_time_then_position() -> None:
    log = EventLog.from_table(table(*ROWS))
    assert log.case_ids == ["2", "1"]
    assert log.frame[ACTIVITY].to_list() == ["d", "c", "a", "b", "a"]
    assert log.variants.to_dict() == {("d", "c", "a"): 1, ("b", "a"): 1}
    assert (log.cases, log.events, log.has_times) == (2, 5, True)
    assert repr(log) == "EventLog(2 cases, 5 events, 4 activities)"


def test_without_times_the_position_counts() -> None:
    log = EventLog.from_table(table(*ROWS).drop(TIME))
    assert log.frame[ACTIVITY].to_list() == ["c", "a", "d", "b", "a"]
    assert not log.has_times


def test_a_sorted_table_is_its_own_frame() -> None:
    sorted_table = table(("1", "a", 1), ("1", "b", 2))
    assert EventLog.from_table(sorted_table).frame is sorted_table


def test_variants_belong_to_cases() -> None:
    log = EventLog.from_table(table(("1", "a", 1), ("2", "b", 1), ("3", "a", 1)))
    labels = [log.variants.sequence(i) for i in log.variant_of_case]
    assert labels == [("a",), ("b",), ("a",)]


def test_classifiers() -> None:
    rows = table(("1", "a", 1), ("1", "a", 2), **{LIFECYCLE: ["start", None]})
    log = EventLog.from_table(rows, classifier="activity+lifecycle")
    assert log.activities == ("a+", "a+start")
    with pytest.raises(LogError, match="lifecycle:transition"):
        EventLog.from_table(rows.drop(LIFECYCLE), classifier="activity+lifecycle")
    with pytest.raises(LogError, match="unknown classifier"):
        EventLog.from_table(rows, classifier="label")  # type: ignore[arg-type]


def test_no_events() -> None:
    none = EventLog.from_table(table())
    assert (none.cases, none.events, none.case_ids, none.activities) == (0, 0, [], ())
    assert none.variants.to_dict() == {}
    assert none.frame.height == 0


def test_individuals() -> None:
    rows = table(("1", "a", 1), ("2", "a", 1), ("3", "a", 1), person=["x", "y", "x"])
    log = EventLog.from_table(rows, individual="person")
    assert log.individual_of_case.tolist() == [0, 1, 0]
    with pytest.raises(LogError, match="no individual column"):
        _ = EventLog.from_table(rows).individual_of_case


def test_a_case_of_several_individuals() -> None:
    rows = table(("1", "a", 1), ("2", "a", 1), ("2", "b", 2), person=["x", "x", "y"])
    with pytest.raises(LogError, match="case '2' belongs to several individuals"):
        _ = EventLog.from_table(rows, individual="person").individual_of_case


def test_taking_cases() -> None:
    log = EventLog.from_table(table(*ROWS, person=["p", "q", "p", "q", "p"]), individual="person")
    part = log.take_cases([1])
    assert (part.case_ids, part.events) == (["1"], 2)
    assert part.frame[ACTIVITY].to_list() == ["b", "a"]
    assert part.variants.to_dict() == {("b", "a"): 1}
    assert part.individual_of_case.tolist() == [0]
    twice = log.take_cases([1, 0, 1])
    assert twice.case_ids == ["1", "2", "1"]
    assert twice.variants.cases == 3
    assert log.take_cases([]).cases == 0
