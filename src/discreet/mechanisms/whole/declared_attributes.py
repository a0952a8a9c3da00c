"""Attributes to release: how they are declared, which steps they take, and their values as read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from discreet.arrays import Booleans, Floats, Integers
from discreet.log.datatypes import check_plain, text_of
from discreet.log.errors import LogError, option
from discreet.log.files import XML_FORBIDS
from discreet.mechanisms.whole.allocation import NAMES, TRAIT
from discreet.parameters import ParameterError

CORE = ("case:concept:name", "concept:name", "time:timestamp")
"""Columns that every release has."""

LARGEST = 2.0**53
"""Largest whole number counted as itself, the last one up to which each has a float of its own."""

# Proof

MOST_VOTES = 8
"""Most values that a case votes for when names are sought."""

Kind = Literal["text", "number", "integer", "boolean"]


@dataclass(frozen=True)
class DeclaredAttribute:
    """A column to release, its declared type and, where they are public, its values."""

    column: str
    kind: Kind = "text"
    public: tuple[str, ...] = ()

    @property
    def of_case(self) -> bool:
        """Whether it belongs to the case rather than to its events."""
        return self.column.startswith("case:")

    @property
    def numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.kind in ("number", "integer")

    @property
    def known(self) -> tuple[str, ...]:
        """Values that are public."""
        return ("false", "true") if self.kind == "boolean" else self.public

    def step(self, what: str) -> str:
        """The name of one of its steps."""
        return f"{what} of {self.column}"

    @property
    def steps(self) -> dict[str, float]:
        """Its steps and their shares of its budget in zCDP, which add up to one.

        Tuned on sample logs with invented columns; see "What was chosen on what" in
        docs/mechanisms/whole.md.
        """
        shares = {} if self.known else {f"{NAMES}{self.column}": 0.3 if self.numeric else 0.45}
        if self.numeric:
            shares |= {
                self.step("magnitudes, coarse"): 0.1,
                self.step("magnitudes, fine"): 0.2,
                self.step("grains"): 0.05,
            }
        if self.of_case:
            shares |= {
                self.step("values"): 0.1,
                f"{TRAIT}{self.column}": 0.05,
                self.step("values by trait"): 0.4,
            }
        else:
            shares |= {
                self.step("presence and repeats by activity"): 0.15,
                self.step("values by activity"): 0.4,
            }
        whole = sum(shares.values())
        return {name: share / whole for name, share in shares.items()}


def listed(text: str) -> tuple[str, ...]:
    """The parts of a list written with commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def check_name(parameter: str, column: str) -> None:
    """Refuse a column whose name could not be written to every format."""
    if re.search(XML_FORBIDS, column):
        raise ParameterError(
            f"{parameter}: {column!r} has a character that XES cannot carry; rename the column"
        )


def read_attributes(texts: tuple[str, ...]) -> tuple[DeclaredAttribute, ...]:
    """Attributes from texts: a column, perhaps with its type or its public values.

    For example `org:resource`, `case:amount:number` or `org:group=A|B|C`.
    """
    found: list[DeclaredAttribute] = []
    for text in texts:
        declared, _, listed = text.partition("=")
        name, _, word = declared.strip().rpartition(":")
        kind: Kind = next((kind for kind in get_args(Kind) if kind == word), "text")
        column = name if name and word == kind else declared.strip()
        public = tuple(sorted({value.strip() for value in listed.split("|") if value.strip()}))
        if not column or column in CORE:
            raise ParameterError(f"attributes: {text!r} is no further column; leave it out")
        check_name("attributes", column)
        if public and kind != "text":
            raise ParameterError(f"attributes: {text!r}: only texts have a list of public values")
        if any(other.column == column for other in found):
            raise ParameterError(f"attributes: {column} is named twice")
        found.append(DeclaredAttribute(column, kind, public))
    return tuple(found)


def kind_of(column: str, schema: pl.DataFrame, whole: pl.DataFrame, use: str) -> pl.DataType:
    """The type of a column to release; LogError if there is no such column that can be read.

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


def check_attribute(
    schema: pl.DataFrame, whole: pl.DataFrame, attribute: DeclaredAttribute
) -> None:
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
class ObservedValues:
    """The values of a column, event by event: codes into `values`, −1 where missing."""

    codes: Integers
    values: pl.Series

    @classmethod
    def of(cls, raw: pl.Series, attribute: DeclaredAttribute) -> ObservedValues:
        """The values of a column, each read by itself as the declared type."""
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
        """The case and value of each vote: up to `MOST_VOTES` distinct values of each case.

        Where a case has more, a hash of its first instant and the value under a random key picks
        among them, so the choice reads nothing of other cases.
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
