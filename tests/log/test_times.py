"""Timestamps in every shape."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.times import check_timezone, to_instants


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
        ("13/10/2011 00:38:44", "2011-10-13T00:38:44"),
        ("10/13/2011 00:38:44", "2011-10-13T00:38:44"),
        ("10-13-2011", "2011-10-13T00:00:00"),
        ("10/10/2011", "2011-10-10T00:00:00"),
        ("10/13/2011 12:38 AM", "2011-10-13T00:38:00"),
        ("10/13/2011 1:38:44 pm", "2011-10-13T13:38:44"),
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
        "2011-10-0100:00", "٢٠١١-10-01",
    ],
)  # fmt: skip
def test_no_timestamps(text: str) -> None:
    assert one(text) is None


def test_day_or_month_first_is_judged_by_the_whole_column() -> None:
    days = to_instants(pl.Series(["03/04/2020", "31/12/2020", None]))
    assert days.dt.month().to_list() == [4, 12, None]
    months = to_instants(pl.Series(["03/04/2020", "12/31/2020"]))
    assert months.dt.month().to_list() == [3, 12]
    with pytest.raises(LogError, match=r"03/04/2020 .*timestamp_format"):
        to_instants(pl.Series(["03/04/2020", "05/06/2020"]))
    assert one("03/04/2020", form="%m/%d/%Y") == "2020-03-04T00:00:00"
    assert one("03/04/2020 10:00", form="%m/%d/%Y %H:%M") == "2020-03-04T10:00:00"


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
