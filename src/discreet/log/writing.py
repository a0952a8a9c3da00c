"""Writing logs: XES, CSV or Parquet by the name of the file, all of it or nothing."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl

from discreet.log.columns import file_names
from discreet.log.datatypes import as_text, marked
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.expansion import Expansion
from discreet.log.files import (
    CSV_FORBIDS,
    LOG_SUFFIXES,
    XES_SUFFIXES,
    XML_FORBIDS,
    atomic_write,
)
from discreet.log.formats.parquet import parquet_metadata
from discreet.log.formats.xes.writer import expanded_pieces, xes_pieces
from discreet.log.log_attributes import as_attributes

# Tuned
EXPANDED_ZSTD = 1
"""Compression level of cases of released variants: only random names are left to compress."""


def write_log(
    log: EventLog | Expansion,
    path: str | os.PathLike[str],
    *,
    attributes: Mapping[str, object] | None = None,
) -> None:
    """Write the log to .xes, .csv (also .gz) or .parquet, replacing the file only when done.

    `attributes` are those of the whole log: plain values, or an Attribute where they nest. Only
    what is given is written, never what the log was read with, which may tell more than the
    events do. They go into the XES header or the Parquet metadata; CSV has no place for them.
    Columns have their standard names in XES, elsewhere those under which they were read.
    """
    target = Path(path)
    name = target.name.lower()
    if not name.endswith(LOG_SUFFIXES):
        raise LogError(
            f"{target.name}: unknown kind of file {target.suffix!r}; "
            f"known are {', '.join(LOG_SUFFIXES)}"
        )
    of_log = as_attributes(attributes or {})
    cases = pl.Series(log.case_ids, dtype=pl.String)
    if cases.n_unique() < len(cases):
        again = cases.filter(cases.is_duplicated())[0]
        raise LogError(f"two cases have the identifier {again!r}; give each its own to write them")
    with atomic_write(target) as file:
        if name.endswith(".parquet"):
            try:
                level = EXPANDED_ZSTD if isinstance(log, Expansion) else None
                metadata = parquet_metadata(of_log)
                _table(log).write_parquet(file, metadata=metadata, compression_level=level)
            except pl.exceptions.PolarsError as error:
                raise LogError(f"{target} cannot be written: {error}") from None
            return
        with _packed(file) if name.endswith(".gz") else contextlib.nullcontext(file) as stream:
            if not name.endswith(XES_SUFFIXES):
                _table(log, texts=True).write_csv(stream)
            elif isinstance(log, Expansion):
                _write_pieces(expanded_pieces(log, of_log), stream)
            else:
                _write_pieces(xes_pieces(log, of_log), stream)


def carried(log: EventLog | Expansion, path: Path) -> EventLog | Expansion:
    """The log with a mark in place of characters that this kind of file cannot carry.

    Each value is looked at by itself, and what is marked follows from the name of the file. So
    nothing that a log holds can keep it from being written.
    """
    name = path.name.lower()
    if name.endswith(".parquet"):
        return log
    forbidden = XML_FORBIDS if name.endswith(XES_SUFFIXES) else CSV_FORBIDS
    if isinstance(log, Expansion):
        labels = marked(pl.Series(log.variants.activities, dtype=pl.String), forbidden)
        return replace(log, variants=replace(log.variants, activities=tuple(labels)))
    columns = [marked(values, forbidden) for values in log.table]
    return replace(log, table=log.table.with_columns(columns))


def _table(log: EventLog | Expansion, *, texts: bool = False) -> pl.DataFrame:
    """The events under the names of their columns in a file; every value as text if need be."""
    one = log.patterns if isinstance(log, Expansion) else log
    table = one.frame
    if texts:
        table = table.select(as_text(values) for values in table)
    if isinstance(log, Expansion):
        table = log.table_of(table)
    return table.rename(file_names(one))


@contextlib.contextmanager
def _packed(file: BinaryIO) -> Iterator[BinaryIO]:
    """Gzip without name and time, so that the same log gives the same bytes."""
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0, compresslevel=6) as stream:
        yield cast(BinaryIO, stream)


def _write_pieces(pieces: Iterator[bytes], stream: BinaryIO) -> None:
    """Write (and compress) one piece while the next is being made."""
    with ThreadPoolExecutor(1) as writer:
        pending: Future[int] | None = None
        for piece in pieces:
            if pending is not None:
                pending.result()
            pending = writer.submit(stream.write, piece)
        if pending is not None:
            pending.result()
