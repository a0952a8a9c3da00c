"""Attributes that are asked for, read case by case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Booleans, Floats, Integers
from discreet.log.datatypes import check_plain, text_of
from discreet.log.errors import LogError, option
from discreet.wholelogs.declaring import CORE, Attribute

MOST_VOTES = 8
"""A case votes for so many of its values at most when names are sought."""


LARGEST = 2.0**53
"""Whole numbers beyond it count as it: up to there each has a float of its own."""


def kind_of(column: str, schema: pl.DataFrame, whole: pl.DataFrame, use: str) -> pl.DataType:
    """The type of a column that is asked for; LogError if there is none that can be read.

    `schema` has the columns that can be read, `whole` those that there are.
    """
    if column not in whole.columns:
        further = [c for c in whole.columns if c not in CORE]
        raise LogError(
            f"this log has no column {column!r}; its further columns are "
            + (", ".join(further) or "none")
        )
    check_plain(column, whole[column].dtype, use)
    if column not in schema.columns:
        raise LogError(
            f"the column {column!r} holds {whole[column].dtype}, which was left out or cannot "
            f"be had from this engine; read the log with {option('engine', 'memory')}"
        )
    return schema[column].dtype


def check_attribute(schema: pl.DataFrame, whole: pl.DataFrame, attribute: Attribute) -> None:
    """Raise LogError if there is no such column, or not one of the declared type."""
    column = attribute.column
    kind = kind_of(column, schema, whole, "an attribute")
    if attribute.numeric and not kind.is_numeric():
        raise LogError(
            f"the column {column!r} holds {kind}, not numbers; read the log with "
            f"types={{{column!r}: {attribute.kind!r}}} (--types {column}:{attribute.kind}), or "
            "ask for it as text"
        )


@dataclass(frozen=True, eq=False)
class Observed:
    """The values of a column, event by event: codes into `values`, −1 where missing."""

    codes: Integers
    values: pl.Series

    @classmethod
    def of(cls, raw: pl.Series, attribute: Attribute) -> Observed:
        """Read a column, each value by itself as the declared type."""
        if attribute.numeric:
            numbers = raw.cast(pl.Float64) + 0.0  # there is one zero
            plain = numbers.set(~numbers.is_finite().fill_null(False), None)
            if attribute.kind == "integer":
                plain = plain.round().clip(-LARGEST, LARGEST)
        else:
            plain = text_of(raw)
            if attribute.kind == "boolean":
                plain = plain.str.to_lowercase()
        values = plain.drop_nulls().unique().sort()
        places = pl.DataFrame({"value": values, "code": np.arange(len(values))})
        joined = plain.to_frame("value").join(places, on="value", how="left", maintain_order="left")
        return cls(joined["code"].fill_null(-1).to_numpy().astype(np.int64), values)

    @property
    def present(self) -> Booleans:
        """Which events have a value."""
        return self.codes >= 0

    def numbers(self) -> Floats:
        """The values as numbers."""
        return self.values.to_numpy().astype(np.float64)

    def of_cases(self, offsets: Integers) -> Integers:
        """The first value of each case, −1 if it has none."""
        events = len(self.codes)
        place = np.where(self.present, np.arange(events), events)
        first = np.minimum.reduceat(place, offsets[:-1]) if len(offsets) > 1 else place[:0]
        ends = np.minimum(first, max(events - 1, 0))
        return np.where(first < offsets[1:], self.codes[ends], -1)

    def votes(self, offsets: Integers, instants: Integers, key: int) -> tuple[Integers, Integers]:
        """Case and value for each of up to `MOST_VOTES` distinct values of each case.

        Where a case has more, a hash of its first instant and the value decides, under a random
        key: a choice that reads nothing of other cases.
        """
        held = np.flatnonzero(self.present)
        case = np.searchsorted(offsets, held, side="right") - 1
        pairs = np.unique(case * max(1, len(self.values)) + self.codes[held])
        owner, value = np.divmod(pairs, max(1, len(self.values)))
        first = pl.Series("first", instants[offsets[:-1]]).gather(owner)
        drawn = pl.DataFrame([first, self.values.gather(value).alias("value")]).hash_rows(key)
        order = np.lexsort((drawn.to_numpy(), owner))
        owner, value = owner[order], value[order]
        kept = np.arange(len(owner)) - np.searchsorted(owner, owner) < MOST_VOTES
        return owner[kept], value[kept]
