"""Timestamps in every shape."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.timestamps import check_timezone, first_bare, read_times, to_instants, why_unread


def one(text: str, timezone: str = "UTC", form: str | None = None) -> str | None:
    stamp = to_instants(pl.Series([text]), timezone, form).item()
    return None if stamp is None else stamp.replace(tzinfo=None).isoformat()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2011-10-01T00:38:44.546+02:00", "2011-09-30T22:38:44.546000"),
        ("2011-10-01T00:38:44Z", "2011-10-01T00:38:44"),
        ("2011-10-01T00:38:44+0200", "2011-09-30T22:38:44"),
        ("2011-10-01T00:38:44-05", "2011-10-01T05:38:44"),
        ("2011-10-01 00:38:44", "2011-10-01T00:38:44"),
        ("2011-10-01 00:38:44.123456", "2011-10-01T00:38:44.123456"),
        ("2011-10-01 00:38:44.123456789", "2011-10-01T00:38:44.123456"),
        ("2011-10-01 00:38:44,5", "2011-10-01T00:38:44.500000"),
        ("2011-10-01 00:38:44 UTC", "2011-10-01T00:38:44"),
        ("2011-10-01T00:38", "2011-10-01T00:38:00"),
        ("2011-10-01", "2011-10-01T00:00:00"),
        ("2011/10/01 00:38:44.000", "2011-10-01T00:38:44"),
        ("01.10.2011 00:38", "2011-10-01T00:38:00"),
        ("1.10.2011 00:38:44", "2011-10-01T00:38:44"),
        ("  2011-10-01T00:38:44Z ", "2011-10-01T00:38:44"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999"),
    ],
)
def test_shapes(text: str, expected: str) -> None:
    assert one(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "yesterday", "2011", "2011-13-01", "2011-02-30", "01/02/03", "11-10-01T00:00:00Z",
        "1317429524", "2011-10-01T25:00:00Z", "2011-10-01T00:61:00Z", "13/13/2011",
        "2011-10-01 13:00 PM", "0000-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "2011-10-01T",
        "2011-10-0100:00", "٢٠١١-10-01", "03/04/2020", "13/10/2011", "10/13/2011 00:38:44",
        "10-10-2011", "2011-10/01", "01.10/2011", "10.13.2011",
    ],
)  # fmt: skip
def test_no_timestamps(text: str) -> None:
    assert one(text) is None


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("03/04/2020", "day-first", "2020-04-03T00:00:00"),
        ("03/04/2020", "month-first", "2020-03-04T00:00:00"),
        ("10/13/2011 12:38 AM", "month-first", "2011-10-13T00:38:00"),
        ("10/13/2011 1:38:44 pm", "month-first", "2011-10-13T13:38:44"),
        ("13-10-2011 10:00:00+02:00", "day-first", "2011-10-13T08:00:00"),
        ("10.13.2011", "month-first", "2011-10-13T00:00:00"),
        ("13/10/2011", "month-first", None),
        ("2011-10-01T00:38:44Z", "month-first", "2011-10-01T00:38:44"),
        ("03/04/2020", "%m/%d/%Y", "2020-03-04T00:00:00"),
        ("03/04/2020 10:00", "%m/%d/%Y %H:%M", "2020-03-04T10:00:00"),
    ],
)
def test_day_or_month_first_is_declared(text: str, form: str, expected: str | None) -> None:
    assert one(text, form=form) == expected


def test_one_value_does_not_decide_about_another() -> None:
    german = ["02.03.2024", "03.02.2024 10:00"]
    alone = to_instants(pl.Series(german)).to_list()
    for other in ("01/13/2024", "13/01/2024", "2024-01-13T10:00:00Z", "0011-01-01T00:00:00Z"):
        assert to_instants(pl.Series([*german, other])).to_list()[:2] == alone
    assert [stamp.month for stamp in alone] == [3, 2]


def test_what_is_said_of_values_that_are_no_timestamps() -> None:
    said = why_unread("03/04/2020 10:00")
    assert "3 April 2020 if the day comes first and 4 March 2020 if the month does" in said
    assert "timestamp_format='day-first' (--timestamp-format day-first)" in said
    assert "13 January 2024 if the day comes first and no date" in why_unread("13/01/2024")
    assert "'soon' is not a timestamp" in why_unread("soon")
    assert "'%Y'" in why_unread("soon", "%Y")
    assert len(why_unread("x" * 1000)) < 250


def test_mixed_offsets_become_instants() -> None:
    mixed = to_instants(
        pl.Series(["2020-01-01T12:00:00+01:00", "2020-01-01T11:00:00Z", "2020-01-01 12:00"]),
        "Europe/Amsterdam",
    )
    assert mixed.n_unique() == 1
    assert mixed.dtype == pl.Datetime("us", "UTC")


def test_hours_that_occur_twice_or_never() -> None:
    zone = "Europe/Amsterdam"
    assert one("2020-10-25 02:30:00", zone) == "2020-10-25T00:30:00"
    assert one("2020-03-29 02:30:00", zone) == "2020-03-29T01:30:00"
    assert one("2011-12-30 12:00:00", "Pacific/Apia") == "2011-12-30T22:00:00"


SPELLED = [
    "2020-10-25T02:30:00+01:00", "2020-10-25T02:30:00+0200", "2020-10-25 02:30 +01",
    "2020-10-25T00:30:00.123Z", "25.10.2020 00:30 UTC", "2020-10-25 02:30:00",
    "2020-10-25 02:30:00", "2020-03-29 02:15", "01.01.2020", None,
]  # fmt: skip


def test_offsets_and_hours_that_are_not_unique_are_counted() -> None:
    found = read_times(pl.Series(SPELLED), "Europe/Amsterdam").clocks
    assert found.offsets == {"+01:00": 2, "+02:00": 1, "Z": 2}
    assert (found.bare, found.skipped, found.repeated) == (4, 1, 2)
    assert found.mixed
    notes = found.notes("Europe/Amsterdam")
    assert [note.partition(" ")[0] for note in notes] == ["4", "1", "2"]
    assert "5 carry one (2 × +01:00, 2 × Z, 1 × +02:00)" in notes[0]
    assert first_bare(pl.Series(SPELLED)) == 5
    typed = to_instants(pl.Series(SPELLED)).dt.convert_time_zone("UTC")
    assert read_times(typed).clocks.notes("UTC") == []


def test_local_times_of_a_type_are_counted_too() -> None:
    local = pl.Series(["2020-10-25T02:30", "2020-03-29T02:15"]).str.to_datetime()
    found = read_times(local, "Europe/Amsterdam").clocks
    assert (found.bare, found.skipped, found.repeated, found.mixed) == (2, 1, 1, False)
    written = read_times(local.dt.strftime("%d/%m/%y %H:%M"), "Europe/Amsterdam", "%d/%m/%y %H:%M")
    assert written.clocks == found
    assert read_times(local, "UTC").clocks.notes("UTC") == []


def test_frames_with_typed_times() -> None:
    naive = pl.Series([datetime(2020, 7, 1, 12)], dtype=pl.Datetime("ns"))
    assert to_instants(naive, "Europe/Amsterdam").item() == datetime(2020, 7, 1, 10, tzinfo=UTC)
    zoned = naive.dt.replace_time_zone("America/New_York")
    assert to_instants(zoned, "Europe/Amsterdam").item() == datetime(2020, 7, 1, 16, tzinfo=UTC)
    assert to_instants(naive.dt.date()).item() == datetime(2020, 7, 1, tzinfo=UTC)
    assert to_instants(pl.Series([None])).null_count() == 1
    assert to_instants(pl.Series(["2020-01-01"], dtype=pl.Categorical)).null_count() == 0


def test_numbers_need_a_unit() -> None:
    with pytest.raises(LogError, match="timestamp_format='seconds'"):
        to_instants(pl.Series([1577836800]))
    expected = datetime(2020, 1, 1, tzinfo=UTC)
    assert to_instants(pl.Series([1577836800]), form="seconds").item() == expected
    assert to_instants(pl.Series(["1577836800"]), form="seconds").item() == expected
    assert to_instants(pl.Series([1577836800000]), form="milliseconds").item() == expected
    assert to_instants(pl.Series([1577836800.5]), form="seconds").dt.millisecond().item() == 500
    assert to_instants(pl.Series([2**62]), form="seconds").null_count() == 1
    assert to_instants(pl.Series(["x", "nan"]), form="seconds").null_count() == 2


def test_formats() -> None:
    assert one("20200102", form="%Y%m%d") == "2020-01-02T00:00:00"
    assert one("20200102 0304", form="%Y%m%d %H%M") == "2020-01-02T03:04:00"
    assert (
        one("2020-01-02 03:04:05.25", form="%Y-%m-%d %H:%M:%S.%f") == "2020-01-02T03:04:05.250000"
    )
    assert one("2020-01-02 03:04:05 +0100", form="%Y-%m-%d %H:%M:%S %z") == "2020-01-02T02:04:05"


@pytest.mark.parametrize("name", ["UTC", "Europe/Amsterdam", "Etc/GMT+5"])
def test_known_time_zones(name: str) -> None:
    check_timezone(name)


@pytest.mark.parametrize("name", ["Mars", "", "/etc/passwd", "Europe"])
def test_unknown_time_zones(name: str) -> None:
    with pytest.raises(LogError, match="unknown time zone"):
        check_timezone(name)
