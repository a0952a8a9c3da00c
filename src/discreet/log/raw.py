"""What every reader hands on: a table as it stood in the file, and words for its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import polars as pl


@dataclass(frozen=True)
class RawTable:
    """A table before its columns are given roles; `place` says in words where a row stood.

    `public_names` says whether the names of the columns stand in a header or a schema. Where they
    are found in the events, as in XES, one case must not decide which column has which role.
    """

    name: str
    table: pl.DataFrame
    place: Callable[[int], str]
    attributes: dict[str, object] = field(default_factory=dict)
    public_names: bool = True

    def only(self, kept: pl.Series) -> RawTable:
        """The rows that are kept; each is still called by the place where it stood."""
        if kept.all():
            return self
        rows, place = kept.arg_true(), self.place
        return replace(self, table=self.table.filter(kept), place=lambda row: place(rows[row]))

    def narrowed(self, columns: Sequence[str]) -> RawTable:
        """Only these columns."""
        return replace(self, table=self.table.select(columns))

    def without_blanks(self) -> RawTable:
        """Without rows that have no value at all."""
        return self.only(self.table.select(pl.any_horizontal(pl.all().is_not_null())).to_series())


def below_header(row: int) -> str:
    """The place of a row in a table with a header."""
    return f"row {row + 2} (the header is row 1)"


def by_row(row: int) -> str:
    """The place of a row in a table without a header."""
    return f"row {row + 1}"
