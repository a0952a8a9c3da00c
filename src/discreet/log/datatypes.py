"""Data types of columns: as a user declares them, as XES names them, and their values as text.

Values are read one by one, and written as the same text in every format and every digest.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.errors import LogError, option
from discreet.log.timestamps import DATE_ORDERS, to_instants, within_calendar

Type = Literal["text", "integer", "number", "boolean", "date"]
TYPES: tuple[Type, ...] = get_args(Type)

MARK = "\ufffd"
"""The replacement for a character that a file cannot carry."""

_PLAIN = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)
"""Types besides numbers whose values can be read one by one."""


def plain(kind: pl.DataType) -> bool:
    """Whether every value of a type can be read by itself, whatever it is."""
    return kind.is_numeric() or isinstance(kind, _PLAIN)


def check_plain(column: str, kind: pl.DataType, use: str) -> None:
    """Refuse a column by its type, which is public: no value may decide whether it is read."""
    if not plain(kind):
        raise LogError(
            f"the column {column!r} holds {kind}, which cannot be {use}; convert it to texts, "
            "numbers or times in the source, or leave it out"
        )


def typed(
    values: pl.Series, kind: Type, timezone: str, *, form: str | None = None, decimal: str = "."
) -> pl.Series:
    """The values as the declared type; null where a value is missing or does not fit.

    Dates follow `form` where it says whether the day or the month comes first.
    """
    check_plain(values.name, values.dtype, "an attribute")
    if kind == "date":
        return to_instants(values, timezone, form if form in DATE_ORDERS else None)
    texts = text_of(values)
    if kind == "integer":
        return texts.cast(pl.Int64, strict=False)
    if kind == "number":
        if decimal == ",":
            texts = texts.set(texts.str.contains(".", literal=True), None)
            texts = texts.str.replace(",", ".", literal=True)
        return texts.cast(pl.Float64, strict=False).fill_nan(None)
    if kind == "boolean":
        truth = {"true": True, "false": False}
        return texts.str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Boolean)
    return texts


def declared(text: str) -> dict[str, Type]:
    """Types as the command line writes them: `amount:number, case:age:integer`."""
    found: dict[str, Type] = {}
    for part in text.split(","):
        name, _, word = part.strip().rpartition(":")
        kind = next((kind for kind in TYPES if kind == word), None)
        if not name or kind is None:
            raise LogError(
                f"{part.strip()!r} declares no type; write {option('types', 'amount:number')} "
                f"with a column of the log and one of {', '.join(TYPES)}"
            )
        found[name] = kind
    return found


def text_of(values: pl.Series) -> pl.Series:
    """Values of a plain type as text; null where there is none, or a time outside the calendar."""
    return within_calendar(values).cast(pl.String)


def as_text(values: pl.Series) -> pl.Series:
    """Each value as XES writes it; times in UTC, to the millisecond or as fine as needed."""
    dtype = values.dtype
    if isinstance(dtype, pl.Datetime) or dtype == pl.Date:
        return _times(values)
    if dtype.is_float():
        texts = values.cast(pl.String)
        return texts.replace(["inf", "-inf"], ["INF", "-INF"])
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise LogError(
            f"the column {values.name!r} holds {dtype}, which cannot be written as text; "
            "convert or drop it"
        )
    return values.cast(pl.String)


def marked(values: pl.Series, forbidden: str) -> pl.Series:
    """Texts with a mark in place of each forbidden character; other values as they are."""
    return values.str.replace_all(forbidden, MARK) if values.dtype == pl.String else values


def xes_type(values: pl.Series) -> str:
    """The XES type of a column."""
    dtype = values.dtype
    if isinstance(dtype, pl.Datetime) or dtype == pl.Date:
        return "date"
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    return "boolean" if dtype == pl.Boolean else "string"


def per_case(texts: pl.Series, offsets: Ints) -> list[bytes]:
    """The texts of each case, one after another; missing ones leave nothing."""
    plain = texts.fill_null("")
    sizes = np.concatenate([[0], np.cumsum(plain.str.len_bytes().to_numpy(), dtype=np.int64)])
    joined: str = plain.str.join("").item()
    whole = joined.encode()
    return [whole[begin:end] for begin, end in pairwise(sizes[offsets].tolist())]


def _times(values: pl.Series) -> pl.Series:
    stamps = values.cast(pl.Datetime("us")) if values.dtype == pl.Date else values
    if stamps.dtype.time_zone is not None:  # type: ignore[attr-defined]
        stamps = stamps.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    stamps = stamps.dt.cast_time_unit("us")
    fine = (stamps.to_physical() % 1000 != 0).any()
    return stamps.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.{6 if fine else 3}f+00:00")
