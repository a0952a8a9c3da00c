"""Timestamps: from the many ways they are written to microseconds in UTC, value by value.

What a value means depends on that value and on what the user declares, never on the other values
of a column: otherwise one case would decide how all the others are read.
"""

from __future__ import annotations

import difflib
import re
import zoneinfo
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, NamedTuple

import polars as pl

from discreet.log.errors import LogError, option

INSTANT = pl.Datetime("us", "UTC")

EPOCHS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
DATE_ORDERS = ("day-first", "month-first")

_XES = "%Y-%m-%dT%H:%M:%S%.f%#z"
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
_DAY = 86_400_000_000
_MOST_MILLI = (2**63 - 1) // 1000
_YEAR_1000 = -30_610_224_000_000_000

_OFFSET = re.compile(r"(?:(?:[Zz]|UTC|GMT)|(?P<hours>[+-][0-9]{2})(?::?(?P<minutes>[0-9]{2}))?)$")
_OFFSET_LENGTH = 6
_SHAPE = (
    r"^\s*(?<a>[0-9]{1,4})(?<mark>[-/.])(?<b>[0-9]{1,2})(?<again>[-/.])(?<c>[0-9]{1,4})"
    r"(?:(?:[Tt]|\s+)(?<hour>[0-9]{1,2}):(?<minute>[0-9]{2})"
    r"(?::(?<second>[0-9]{2})(?:[.,](?<part>[0-9]+))?)?"
    r"\s*(?<half>[AaPp][Mm])?\s*(?<zone>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?)?\s*$"
)


@dataclass(frozen=True)
class Clocks:
    """How the times of a log state their zone; for the log's holder only."""

    offsets: Counter[str] = field(default_factory=Counter)
    """The number of times with each offset, where they are texts."""
    bare: int = 0
    """The number of times without an offset, read as local ones."""
    skipped: int = 0
    """The number of local times that never occurred, since clocks were set forward."""
    repeated: int = 0
    """The number of local times that occurred twice, since clocks were set back."""

    def __add__(self, other: Clocks) -> Clocks:
        return Clocks(
            self.offsets + other.offsets,
            self.bare + other.bare,
            self.skipped + other.skipped,
            self.repeated + other.repeated,
        )

    @property
    def mixed(self) -> bool:
        """Whether some times carry an offset and others do not."""
        return bool(self.bare and self.offsets)

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {
            "offsets": dict(self.offsets),
            "bare": self.bare,
            "skipped": self.skipped,
            "repeated": self.repeated,
        }

    def notes(self, timezone: str) -> list[str]:
        """Sentences for the log's holder about doubtful times."""
        found = []
        if self.mixed:
            found.append(
                f"{self.bare:,} times carry no offset and were read as {timezone}; "
                f"{self.offsets.total():,} carry one ({self._listed()})"
            )
        if self.skipped:
            found.append(
                f"{self.skipped:,} local times never occurred in {timezone} (clocks were set "
                "forward) and were read with the offset from before the change"
            )
        if self.repeated:
            found.append(
                f"{self.repeated:,} local times occurred twice in {timezone} (clocks were set "
                "back) and were read as the earlier of the two"
            )
        return found

    def check(self, place: str) -> None:
        """Refuse times with and without offsets side by side: the zone of the latter is unknown."""
        if self.mixed:
            raise LogError(
                f"{place} has a time without an offset ({self.bare:,} do), while "
                f"{self.offsets.total():,} carry one ({self._listed()}); say of which zone the "
                f"times without are with {option('timezone', 'Europe/Amsterdam')} (or UTC), or "
                "export all of them with their offset"
            )

    def _listed(self) -> str:
        common = sorted(self.offsets.items(), key=lambda one: (-one[1], one[0]))[:4]
        more = ", …" if len(self.offsets) > len(common) else ""
        return ", ".join(f"{many:,} × {offset}" for offset, many in common) + more


class Instants(NamedTuple):
    """Timestamps as instants in UTC, and how they were written."""

    values: pl.Series
    clocks: Clocks


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
    return read_times(values, timezone, form).values


def read_times(values: pl.Series, timezone: str = "UTC", form: str | None = None) -> Instants:
    """Instants as of `to_instants`, and how often offsets and doubtful local times occur."""
    clocks = Clocks()
    if form in EPOCHS:
        instants = _from_epoch(values, EPOCHS[form])
    elif isinstance(values.dtype, pl.Datetime):
        stamps = within_calendar(values).dt.cast_time_unit("us")
        if values.dtype.time_zone is None:
            instants, clocks = _localised(stamps, timezone)
        else:
            instants = stamps.dt.convert_time_zone("UTC")
    elif values.dtype == pl.Date:
        stamps = within_calendar(values).cast(pl.Datetime("us"))
        instants, clocks = _localised(stamps, timezone)
    elif values.dtype in (pl.String, pl.Categorical, pl.Enum):
        instants, clocks = _from_text(values.cast(pl.String), timezone, form)
    elif values.dtype == pl.Null:
        instants = values.cast(INSTANT)
    else:
        raise LogError(
            f"timestamps of type {values.dtype} have no clear meaning; if they count from 1970, "
            f"say so with {option('timestamp_format', 'seconds')}, 'milliseconds' or 'microseconds'"
        )
    ticks = instants.to_physical()
    return Instants(instants.set(~ticks.is_between(_FIRST, _LAST), None), clocks)


def microseconds_of(values: pl.Series) -> pl.Series:
    """Times of any unit in microseconds since 1970, cut off where 64 bits end."""
    unit = values.dtype.time_unit  # type: ignore[attr-defined]
    ticks = values.to_physical()
    if unit == "ms":
        return ticks.clip(-_MOST_MILLI, _MOST_MILLI) * 1000
    return ticks // 1000 if unit == "ns" else ticks


def within_calendar(values: pl.Series) -> pl.Series:
    """The values; times and dates outside the years 1 to 9999 are null, as no tool shows them."""
    if isinstance(values.dtype, pl.Datetime):
        inside = microseconds_of(values).is_between(_FIRST, _LAST)
    elif values.dtype == pl.Date:
        inside = values.to_physical().is_between(_FIRST // _DAY, _LAST // _DAY)
    else:
        return values
    return values if inside.all() else values.set(~inside, None)


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


def shown(values: pl.Series, row: int) -> str:
    """A value in words, for a message."""
    one = within_calendar(values.slice(row, 1))
    return "a time outside the years 1 to 9999" if one.null_count() else repr(str(one[0])[:60])


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


def first_bare(values: pl.Series) -> int:
    """The first row of texts that carries no offset."""
    zone = values.cast(pl.String).str.extract_groups(_SHAPE).struct.field("zone")
    bare = zone.is_null() & _parse(values.cast(pl.String), _XES, zoned=True).is_null()
    return int(bare.arg_max() or 0)


def _from_text(values: pl.Series, timezone: str, form: str | None) -> Instants:
    if form is not None and form not in DATE_ORDERS:
        return _by_format(values, timezone, form)
    instants = _parse(values, _XES, zoned=True)
    unread = instants.is_null() | (instants.to_physical() < _YEAR_1000)
    if instants.null_count() == values.null_count() and not unread.any():
        return Instants(instants, Clocks(_offsets(values.str.tail(_OFFSET_LENGTH))))
    clocks = Clocks(_offsets(values.filter(~unread).str.tail(_OFFSET_LENGTH)))
    counts = values.filter(unread).value_counts(name="many")
    distinct, many = counts.to_series(), counts["many"]
    by_shape, unusual = _by_shape(distinct, many, timezone, form)
    meaning = pl.DataFrame({"text": distinct, "instant": by_shape})
    read = (
        values.to_frame("text")
        .join(meaning, on="text", how="left", maintain_order="left")
        .get_column("instant")
    )
    return Instants(read.zip_with(unread, instants), clocks + unusual)


def _offsets(texts: pl.Series, many: pl.Series | None = None) -> Counter[str]:
    """The number of texts that end in each offset."""
    if many is None:
        counts = texts.value_counts(name="many")
        texts, many = counts.to_series(), counts["many"]
    found: Counter[str] = Counter()
    for text, number in zip(texts.to_list(), many.to_list(), strict=True):
        match = _OFFSET.search(text or "")
        if match is not None:
            hours, minutes = match["hours"], match["minutes"] or "00"
            found[f"{hours}:{minutes}" if hours else "Z"] += number
    return found


def _by_format(values: pl.Series, timezone: str, form: str) -> Instants:
    form = form.replace(".%f", "%.f")
    zoned = re.search(r"%(:*#?z|\+)", form) is not None
    try:
        stamps = _parse(values, form, zoned=zoned)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise LogError(
            f"timestamp_format={form!r} is not a usable format ({error}); "
            "an example: '%d.%m.%Y %H:%M:%S'"
        ) from None
    return Instants(stamps, Clocks()) if zoned else _localised(stamps, timezone)


def _by_shape(values: pl.Series, many: pl.Series, timezone: str, form: str | None) -> Instants:
    """Read dates by their shape: year first, or year last with the day or the month first.

    The values are distinct, and `many` says how often each occurs.
    """
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
    bare = parts["zone"].is_null()
    times = _parse(stamps["local"], _XES[:-3], zoned=False)
    local, clocks = _localised(times.set(~bare, None), timezone, many)
    zoned = _parse(stamps["zoned"], _XES, zoned=True)
    offsets = _offsets(parts["zone"].set(zoned.is_null(), None), many)
    return Instants(local.zip_with(bare, zoned), clocks + Clocks(offsets))


def _parse(values: pl.Series, form: str, *, zoned: bool) -> pl.Series:
    return values.str.to_datetime(
        form, time_unit="us", time_zone="UTC" if zoned else None, strict=False
    )


def _localised(local: pl.Series, timezone: str, many: pl.Series | None = None) -> Instants:
    """Instants of local times; see `to_instants` for hours that occur twice or never."""
    known = _placed(local, timezone)
    skipped = known.is_null() & local.is_not_null()
    again = known != _placed(local, timezone, "latest") if timezone != "UTC" else skipped
    if skipped.any():
        before = _placed(local.dt.offset_by("-1d"), timezone)
        known = known.fill_null(before.dt.offset_by("24h"))
    marks = (local.is_not_null(), skipped, again.fill_null(value=False))
    bare, never, twice = (int((m if many is None else many.filter(m)).sum() or 0) for m in marks)
    return Instants(known, Clocks(bare=bare, skipped=never, repeated=twice))


def _placed(
    local: pl.Series, timezone: str, ambiguous: Literal["earliest", "latest"] = "earliest"
) -> pl.Series:
    zoned = local.dt.replace_time_zone(timezone, ambiguous=ambiguous, non_existent="null")
    return zoned.dt.convert_time_zone("UTC")
