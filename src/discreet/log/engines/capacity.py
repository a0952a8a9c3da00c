"""How much memory may be used, and which engine a log therefore needs."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from discreet.log.errors import LogError, option
from discreet.log.reading import EngineName

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

# Tuned
LEAST = 100 * 10**6
"""Smallest limit in bytes: below it an engine has no room to sort anything."""

UNKNOWN_MACHINE = 4 * 10**9
"""Bytes used where the system does not say how much memory it has."""

VALUE_BYTES = 45
"""Bytes of a value of a Parquet file in memory, at the peak of a release."""

TEXT_BYTES = 5
"""Bytes in memory of a byte of a CSV file; a compressed one stands for ten."""


class EngineChoice(NamedTuple):
    """An engine, and in words why it was chosen."""

    engine: Literal["memory", "duckdb", "spark"]
    reason: str = ""


def choose_engine(
    files: Sequence[Path], engine: EngineName = "auto", memory: str | int | None = None
) -> EngineChoice:
    """The engine that is named; else memory, unless the files are too large for the limit."""
    if engine != "auto":
        return EngineChoice(engine)
    limit = memory_limit(memory)
    size = _in_memory(files)
    if size <= limit:
        return EngineChoice("memory")
    why = f"in memory it would take about {in_words(size)}, and {in_words(limit)} may be used"
    if any(importlib.util.find_spec(name) is None for name in ("duckdb", "pyarrow")):
        return EngineChoice("memory", f"{why}; pip install 'discreet[duckdb]' would make it fit")
    return EngineChoice("duckdb", why)


def memory_limit(given: str | int | None) -> int:
    """Bytes, from words such as 4GB or 512MiB; without any, half of the machine's memory."""
    if given is None:
        return physical() // 2
    if isinstance(given, int):
        size = given
    else:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", given)
        unit = None if match is None else (UNITS | BINARY).get(match[2].upper())
        if match is None or unit is None:
            raise LogError(
                f"{given!r} is no amount of memory; write {option('memory', '4GB')} or 512MB"
            )
        size = int(float(match[1]) * unit)
    if size < LEAST:
        raise LogError(
            f"{in_words(size)} of memory is too little to work with; give {option('memory', '1GB')}"
        )
    return size


def physical() -> int:
    """The memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2 * UNKNOWN_MACHINE


def in_words(size: float) -> str:
    """A number of bytes in words, as in 2 GB."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:,.0f} bytes"


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
