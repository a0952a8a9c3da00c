"""Timestamps: from the many ways they are written to microseconds in UTC, value by value.

What a value means depends on that value and on what the user declares, never on the other values
of a column: otherwise one case would decide how all the others are read.
"""

from __future__ import annotations

import difflib
import re
import zoneinfo
from datetime import date

import polars as pl

from discreet.log.errors import LogError, option

INSTANT = pl.Datetime("us", "UTC")

EPOCHS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
DATE_ORDERS = ("day-first", "month-first")

_XES = "%Y-%m-%dT%H:%M:%S%.f%#z"
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
_YEAR_1000 = -30_610_224_000_000_000

_SHAPE = (
    r"^\s*(?<a>[0-9]{1,4})(?<mark>[-/.])(?<b>[0-9]{1,2})(?<again>[-/.])(?<c>[0-9]{1,4})"
    r"(?:(?:[Tt]|\s+)(?<hour>[0-9]{1,2}):(?<minute>[0-9]{2})"
    r"(?::(?<second>[0-9]{2})(?:[.,](?<part>[0-9]+))?)?"
    r"\s*(?<half>[AaPp][Mm])?\s*(?<zone>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?)?\s*$"
)


def check_timezone(name: str) -> None:
    """Raise unless `name` is a time zone of the IANA database."""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        near = difflib.get_close_matches(name, zoneinfo.available_timezones(), 1)
        hint = f"; did you mean {near[0]!r}?" if near else ", such as 'Europe/Amsterdam' or 'UTC'"
        raise LogError(f"unknown time zone {name!r}: give an IANA name{hint}") from None


def to_instants(values: pl.Series, timezone: str = "UTC", form: str | None = None) -> pl.Series:
    """Timestamps as instants in UTC; null where a value is missing or not a timestamp.

    A date begins with its year, or is written with dots and begins with its day; other dates
    that end in the year are null unless `form` is one of `DATE_ORDERS`. Values with an offset are
    converted; the others are local times of `timezone`. A local time that occurs twice (clocks
    set back) is the earlier of the two; one that never occurs (clocks set forward) is read with
    the offset from before the change. Finer parts than microseconds are cut off. `form` may also
    be a strftime format, or one of `EPOCHS` for numbers since 1970.
    """
    if form in EPOCHS:
        instants = _from_epoch(values, EPOCHS[form])
    elif isinstance(values.dtype, pl.Datetime):
        stamps = values.dt.cast_time_unit("us")
        instants = (
            _localised(stamps, timezone)
            if values.dtype.time_zone is None
            else stamps.dt.convert_time_zone("UTC")
        )
    elif values.dtype == pl.Date:
        instants = _localised(values.cast(pl.Datetime("us")), timezone)
    elif values.dtype in (pl.String, pl.Categorical, pl.Enum):
        instants = _from_text(values.cast(pl.String), timezone, form)
    elif values.dtype == pl.Null:
        instants = values.cast(INSTANT)
    else:
        raise LogError(
            f"timestamps of type {values.dtype} have no clear meaning; if they count from 1970, "
            f"say so with {option('timestamp_format', 'seconds')}, 'milliseconds' or 'microseconds'"
        )
    ticks = instants.to_physical()
    return instants.set(~ticks.is_between(_FIRST, _LAST), None)


def in_range(first: object, last: object) -> bool:
    """Whether all times between two, in microseconds since 1970, lie in the years 1 to 9999."""
    assert isinstance(first, int)
    assert isinstance(last, int)
    return first >= _FIRST and last <= _LAST


def _from_epoch(values: pl.Series, scale: int) -> pl.Series:
    if values.dtype.is_integer():
        numbers = values.cast(pl.Int64, strict=False)
        limit = _LAST // scale
        return (numbers.set(~numbers.is_between(-limit, limit), None) * scale).cast(INSTANT)
    numbers = values.cast(pl.Float64, strict=False) * scale
    return numbers.round().cast(pl.Int64, strict=False).cast(INSTANT)


def why_unread(text: str, form: str | None = None) -> str:
    """What is wrong with a value that is not a timestamp, and which option would help."""
    shown = repr(text if len(text) <= 60 else f"{text[:57]}...")
    if form is not None and form not in DATE_ORDERS:
        return f"{shown} is not a timestamp in the format {form!r}"
    both = readings(text)
    if form is None and both is not None:
        return (
            f"{shown} is {both[0]} if the day comes first and {both[1]} if the month does; say "
            f"which with {option('timestamp_format', 'day-first')} or 'month-first'"
        )
    return (
        f"{shown} is not a timestamp that can be read; give the format with "
        f"{option('timestamp_format', '%d.%m.%Y %H:%M')}, or in whatever order it is written"
    )


def readings(text: str) -> tuple[str, str] | None:
    """The date with the day first and with the month first, if nothing in the value tells which."""
    match = re.match(r"\s*([0-9]{1,2})([-/])([0-9]{1,2})\2([0-9]{4})(?![0-9])", text)
    if match is None:
        return None
    first, second, year = int(match[1]), int(match[3]), int(match[4])
    return _spelled(year, second, first), _spelled(year, first, second)


def _spelled(year: int, month: int, day: int) -> str:
    try:
        return f"{day} {date(year, month, day):%B} {year}"
    except ValueError:
        return "no date"


def _from_text(values: pl.Series, timezone: str, form: str | None) -> pl.Series:
    if form is not None and form not in DATE_ORDERS:
        return _by_format(values, timezone, form)
    instants = _parse(values, _XES, zoned=True)
    unread = instants.is_null() | (instants.to_physical() < _YEAR_1000)
    if instants.null_count() == values.null_count() and not unread.any():
        return instants
    distinct = values.filter(unread).unique()
    meaning = pl.DataFrame({"text": distinct, "instant": _by_shape(distinct, timezone, form)})
    by_shape = (
        values.to_frame("text")
        .join(meaning, on="text", how="left", maintain_order="left")
        .get_column("instant")
    )
    return by_shape.zip_with(unread, instants)


def _by_format(values: pl.Series, timezone: str, form: str) -> pl.Series:
    form = form.replace(".%f", "%.f")
    zoned = re.search(r"%(:*#?z|\+)", form) is not None
    try:
        stamps = _parse(values, form, zoned=zoned)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise LogError(
            f"timestamp_format={form!r} is not a usable format ({error}); "
            "an example: '%d.%m.%Y %H:%M:%S'"
        ) from None
    return stamps if zoned else _localised(stamps, timezone)


def _by_shape(values: pl.Series, timezone: str, form: str | None) -> pl.Series:
    """Read dates by their shape: year first, or year last with the day or the month first."""
    parts = values.str.extract_groups(_SHAPE).struct.unnest()
    one_mark = pl.col("mark") == pl.col("again")
    year_first = one_mark & (pl.col("a").str.len_bytes() == 4)
    year_last = one_mark & (pl.col("c").str.len_bytes() == 4) & ~year_first
    if form is None:
        year_last &= pl.col("mark") == "."
    month, day = (pl.col("a"), pl.col("b")) if form == "month-first" else (pl.col("b"), pl.col("a"))
    hour = pl.col("hour").fill_null("0").cast(pl.Int64)
    late = pl.col("half").str.to_lowercase() == "pm"
    clock = (
        pl.when(pl.col("half").is_null())
        .then(hour)
        .when(hour.is_between(1, 12))
        .then(hour % 12 + pl.when(late).then(12).otherwise(0))
    )
    stamp = pl.format(
        "{}-{}-{}T{}:{}:{}.{}",
        pl.when(year_first).then("a").when(year_last).then("c"),
        pl.when(year_first).then("b").otherwise(month),
        pl.when(year_first).then("c").otherwise(day),
        clock,
        pl.col("minute").fill_null("0"),
        pl.col("second").fill_null("0"),
        pl.col("part").str.head(9).fill_null("0"),
    )
    zone = pl.col("zone").str.replace("(?i)^(Z|UTC|GMT)$", "+00:00")
    stamps = parts.select(stamp.alias("local"), pl.concat_str(stamp, zone).alias("zoned"))
    local = _localised(_parse(stamps["local"], _XES[:-3], zoned=False), timezone)
    zoned = _parse(stamps["zoned"], _XES, zoned=True)
    return pl.select(pl.when(parts["zone"].is_null()).then(local).otherwise(zoned)).to_series()


def _parse(values: pl.Series, form: str, *, zoned: bool) -> pl.Series:
    return values.str.to_datetime(
        form, time_unit="us", time_zone="UTC" if zoned else None, strict=False
    )


def _localised(local: pl.Series, timezone: str) -> pl.Series:
    """Instants of local times; see `to_instants` for hours that occur twice or never."""
    known = _placed(local, timezone)
    if known.null_count() > local.null_count():
        before = _placed(local.dt.offset_by("-1d"), timezone)
        known = known.fill_null(before.dt.offset_by("24h"))
    return known


def _placed(local: pl.Series, timezone: str) -> pl.Series:
    zoned = local.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    return zoned.dt.convert_time_zone("UTC")
