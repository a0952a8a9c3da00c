"""Which engine reads a log, and why: said before it is read."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from discreet.log.engines.limits import in_words, memory_limit
from discreet.log.shaping import EngineName

VALUE_BYTES = 45
"""What a value of a Parquet file takes in memory, at the worst moment of a release."""

TEXT_BYTES = 5
"""What a byte of a CSV file takes in memory; a packed one stands for ten."""


class Choice(NamedTuple):
    """An engine, and in words why it was chosen."""

    engine: Literal["memory", "duckdb", "spark"]
    reason: str = ""


def choose_engine(
    files: Sequence[Path], engine: EngineName = "auto", memory: str | int | None = None
) -> Choice:
    """The engine that is named; else memory, unless the files are too large for the limit."""
    if engine != "auto":
        return Choice(engine)
    limit = memory_limit(memory)
    size = _in_memory(files)
    if size <= limit:
        return Choice("memory")
    why = f"in memory it would take about {in_words(size)}, and {in_words(limit)} may be used"
    if any(importlib.util.find_spec(name) is None for name in ("duckdb", "pyarrow")):
        return Choice("memory", f"{why}; pip install 'discreet[duckdb]' would make it fit")
    return Choice("duckdb", why)


def _in_memory(files: Sequence[Path]) -> int:
    """About how many bytes reading these files in memory takes; 0 if that is the only way."""
    total = 0
    for path in files:
        name = path.name.lower()
        size = path.stat().st_size if path.is_file() else 0  # reading will say if there is none
        if name.endswith(".parquet"):
            total += _values(path) * VALUE_BYTES
        elif name.endswith((".csv", ".tsv", ".txt")):
            total += size * TEXT_BYTES
        elif name.endswith((".csv.gz", ".tsv.gz", ".txt.gz")):
            total += size * 10 * TEXT_BYTES
    return total


def _values(path: Path) -> int:
    try:
        frame = pl.scan_parquet(path, glob=False)
        rows = int(frame.select(pl.len()).collect().item())
        return rows * len(frame.collect_schema())
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return 0  # reading will say what is wrong with it
