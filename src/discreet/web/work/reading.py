"""Reading a log for a job, by the steward's options; one that unpacks to too much is refused."""

from __future__ import annotations

import gzip
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.files import GZIP_MAGIC, PARQUET, files_of, readable
from discreet.log.formats.parquet import same_schema
from discreet.log.reading import Reading
from discreet.releasing import way
from discreet.releasing.request import Request

# Tuned
CHUNK = 1 << 22
"""Number of bytes unpacked at a time."""

CELL = 8
"""Fewest bytes that a value takes once it is read."""


def read(spec: dict[str, Any]) -> EventLog:
    """The log of a job with all its columns; the attributes asked for are read as declared."""
    if "request" in spec:
        request = Request.from_dict(spec["request"])
        path = request.log
        reading = replace(request.resolved().reading(request.reading), further=True)
    else:
        path, reading = spec["log"], Reading(**spec["reading"])
    check_unpacked(Path(path or ""), spec["unpacked"])
    return way.read(path, reading)


def check_unpacked(path: Path, limit: int) -> None:
    """Refuse a file that unpacks to more than `limit` bytes, however small it is."""
    files = files_of(path)
    if all(file.name.lower().endswith(PARQUET) for file in files):
        total = sum(_cells(file) * CELL for file in files)
    else:
        total = _unpacked(path, limit)
    if total > limit:
        raise LogError(f"{path.name} unpacks to more than {limit >> 30} GiB, which is not read")


def _cells(path: Path) -> int:
    """Rows times columns of a Parquet file, from its footer: pages may repeat one value."""
    columns = same_schema([path]).width
    with readable(path), path.open("rb") as file:
        try:
            return columns * int(pl.scan_parquet(file).select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise LogError(f"{path.name} is not a whole Parquet file: {error}") from None


def _unpacked(path: Path, limit: int) -> int:
    """Bytes that a packed file unpacks to, counted up to about the limit; 0 for a plain one."""
    total = 0
    with readable(path):
        with path.open("rb") as file:
            begin = file.read(4)
        if begin[:2] == GZIP_MAGIC:
            with gzip.open(path) as unpacked:
                while (chunk := unpacked.read(CHUNK)) and total <= limit:
                    total += len(chunk)
        elif begin == b"PK\x03\x04" and path.suffix.lower() == ".xlsx":
            try:
                with zipfile.ZipFile(path) as archive:
                    total = sum(entry.file_size for entry in archive.infolist())
            except zipfile.BadZipFile as error:
                raise LogError(f"{path.name} is damaged: {error}") from None
    return total
