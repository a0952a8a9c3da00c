"""What every reader hands on: a table as it stood in the file, and words for its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class Source:
    """A table before its columns are given roles; `place` says in words where a row stood.

    `public_names` says whether the names of the columns stand in a header or a schema. Where they
    are found in the events, as in XES, one case must not decide which column has which role.
    """

    name: str
    table: pl.DataFrame
    place: Callable[[int], str]
    attributes: dict[str, object] = field(default_factory=dict)
    public_names: bool = True
