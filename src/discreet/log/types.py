"""Types of further columns, where the user declares them: read value by value."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from discreet.log.errors import LogError, option
from discreet.log.timestamps import DATE_ORDERS, to_instants, within_calendar

Type = Literal["text", "integer", "number", "boolean", "date"]
TYPES: tuple[Type, ...] = get_args(Type)

_PLAIN = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)


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


def text_of(values: pl.Series) -> pl.Series:
    """Values of a plain type as text; null where there is none, or a time outside the calendar."""
    return within_calendar(values).cast(pl.String)


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
