"""Attributes that are asked for: how they are declared, and their steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from discreet.log.files import XML_FORBIDS
from discreet.mechanisms.whole.spending import NAMES, TRAIT
from discreet.parameters import ParameterError

CORE = ("case:concept:name", "concept:name", "time:timestamp")
"""Columns that every release has."""

Kind = Literal["text", "number", "integer", "boolean"]


@dataclass(frozen=True)
class Attribute:
    """A column that is asked for, its declared type and, where they are public, its values."""

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
        """Its steps and their shares of what it gets."""
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
    """A list as the command line writes it, with commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def check_name(parameter: str, column: str) -> None:
    """Refuse a column whose name could not be written to every format."""
    if re.search(XML_FORBIDS, column):
        raise ParameterError(
            f"{parameter}: {column!r} has a character that XES cannot carry; rename the column"
        )


def read_attributes(texts: tuple[str, ...]) -> tuple[Attribute, ...]:
    """Attributes as they are written: a column, perhaps its type or its public values.

    `org:resource`, `case:amount:number`, `org:group=A|B|C`.
    """
    found: list[Attribute] = []
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
        found.append(Attribute(column, kind, public))
    return tuple(found)
