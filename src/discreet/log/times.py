"""Timestamps: from the many ways they are written to microseconds in UTC."""

from __future__ import annotations

import difflib
import re
import zoneinfo

import polars as pl

from discreet.log.errors import LogError

INSTANT = pl.Datetime("us", "UTC")

EPOCHS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}

_XES = "%Y-%m-%dT%H:%M:%S%.f%#z"
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
_YEAR_1000 = -30_610_224_000_000_000

_SHAPE = (
    r"^\s*(?<a>[0-9]{1,4})(?<mark>[-/.])(?<b>[0-9]{1,2})[-/.](?<c>[0-9]{1,4})"
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
    """Timestamps as instants in UTC; null where a value is missing or is no timestamp.

    Values with an offset are converted; the others are local times of `timezone`. A local time
    that occurs twice (clocks set back) is the earlier of the two; one that never occurs (clocks
    set forward) is read with the offset from before the change. Finer parts than microseconds
    are cut off. `form` is a strftime format, or one of `EPOCHS` for numbers since 1970.
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
            "say so with timestamp_format='seconds', 'milliseconds' or 'microseconds'"
        )
    ticks = instants.to_physical()
    return instants.set(~ticks.is_between(_FIRST, _LAST), None)


def _from_epoch(values: pl.Series, scale: int) -> pl.Series:
    if values.dtype.is_integer():
        numbers = values.cast(pl.Int64, strict=False)
        limit = _LAST // scale
        return (numbers.set(~numbers.is_between(-limit, limit), None) * scale).cast(INSTANT)
    numbers = values.cast(pl.Float64, strict=False) * scale
    return numbers.round().cast(pl.Int64, strict=False).cast(INSTANT)


def _from_text(values: pl.Series, timezone: str, form: str | None) -> pl.Series:
    if form is not None:
        return _by_format(values, timezone, form)
    instants = _parse(values, _XES, zoned=True)
    done = instants.null_count() == values.null_count()
    if done and not (instants.to_physical() < _YEAR_1000).any():
        return instants
    distinct = values.unique(maintain_order=True)
    meaning = pl.DataFrame({"text": distinct, "instant": _by_shape(distinct, timezone)})
    return (
        values.to_frame("text")
        .join(meaning, on="text", how="left", maintain_order="left")
        .get_column("instant")
    )


def _by_format(values: pl.Series, timezone: str, form: str) -> pl.Series:
    form = form.replace(".%f", "%.f")
    zoned = re.search(r"%(:*#?z|\+)", form) is not None
    try:
        stamps = _parse(values, form, zoned=zoned)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise LogError(
            f"timestamp_format={form!r} is no usable format ({error}); "
            "an example: '%d.%m.%Y %H:%M:%S'"
        ) from None
    return stamps if zoned else _localised(stamps, timezone)


def _by_shape(values: pl.Series, timezone: str) -> pl.Series:
    """Read dates by their shape: year first, or year last with the day or the month first."""
    parts = values.str.extract_groups(_SHAPE).struct.unnest()
    year_first = pl.col("a").str.len_bytes() == 4
    year_last = (pl.col("c").str.len_bytes() == 4) & ~year_first
    month = pl.col("b") if _day_first(parts.filter(year_last)) else pl.col("a")
    day = pl.col("a") if _day_first(parts.filter(year_last)) else pl.col("b")
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


def _day_first(parts: pl.DataFrame) -> bool:
    """Whether 03/04/2020 is the third of April, judged by all dates that end in the year."""
    if parts.is_empty() or (parts["mark"] == ".").all():
        return True
    first, second = parts["a"].cast(pl.Int64), parts["b"].cast(pl.Int64)
    if (first > 12).any():
        return True
    if (second > 12).any() or (first == second).all():
        return False
    example = parts.filter(first != second).row(0, named=True)
    written = "{a}{mark}{b}{mark}{c}".format(**example)
    raise LogError(
        f"dates such as {written} may have the day or the month first, and no value "
        "tells; say which with timestamp_format, for example "
        "'%d/%m/%Y %H:%M:%S' or '%m/%d/%Y %H:%M:%S'"
    )


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
