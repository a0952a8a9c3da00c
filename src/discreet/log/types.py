"""Types of further columns, where the user declares them: read value by value."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from discreet.log.errors import LogError, option
from discreet.log.times import DATE_ORDERS, to_instants

Type = Literal["text", "integer", "number", "boolean", "date"]
TYPES: tuple[Type, ...] = get_args(Type)


def typed(
    values: pl.Series, kind: Type, timezone: str, *, form: str | None = None, decimal: str = "."
) -> pl.Series:
    """The values as the declared type; null where a value is missing or does not fit.

    Dates follow `form` where it says whether the day or the month comes first.
    """
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise LogError(f"the column {values.name!r} holds {values.dtype}, which has no type here")
    if kind == "date":
        return to_instants(values, timezone, form if form in DATE_ORDERS else None)
    texts = values.cast(pl.String)
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
