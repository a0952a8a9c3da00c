"""Tables of variants: a Parquet file with one row for each, and how many cases follow it.

The form for large releases: as large as what was released, not as its cases written out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from discreet.log.errors import LogError
from discreet.log.files import atomic_write
from discreet.log.formats.parquet import parquet_metadata, read_parquet
from discreet.log.log_attributes import as_attributes
from discreet.log.variants import Variants

SUFFIX = ".variants.parquet"
"""Ending of the name of a table of variants."""

SEQUENCE, CASES = "variant", "cases"


def is_variant_table(path: Path) -> bool:
    """Whether the name says that it is a table of variants."""
    return path.name.lower().endswith(SUFFIX)


def write_variants(
    variants: Variants, path: Path, *, attributes: Mapping[str, object] | None = None
) -> None:
    """Write the variants, replacing the file only when done; attributes go into its metadata."""
    metadata = parquet_metadata(as_attributes(attributes or {}))
    with atomic_write(path) as file:
        variants.to_polars().write_parquet(file, metadata=metadata)


def read_variants(path: Path) -> tuple[Variants, dict[str, object]]:
    """The variants of a table, and the attributes in its metadata."""
    found = read_parquet((path,), path.name)
    table = found.table
    kinds = dict(table.schema)
    if kinds.get(SEQUENCE) != pl.List(pl.String) or not kinds.get(CASES, pl.Null()).is_integer():
        raise LogError(
            f"{path.name} is not a table of variants: it needs the columns {SEQUENCE!r}, lists of "
            f"texts, and {CASES!r}, whole numbers; a log has a name that ends in .parquet only"
        )
    counts = table[CASES].cast(pl.Int64)
    events = table[SEQUENCE].explode().drop_nulls()
    lengths = table[SEQUENCE].list.len()
    whole = not counts.null_count() and not lengths.null_count() and not (counts < 0).any()
    if not whole or lengths.sum() != len(events) or table.select(SEQUENCE).n_unique() < len(table):
        raise LogError(f"{path.name}: a variant is repeated, or lacks a label or its cases")
    labels = events.unique().sort()
    codes = events.cast(pl.Enum(labels)).to_physical().to_numpy().astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths.to_numpy(), dtype=np.int64)])
    variants = Variants(tuple(labels), codes, offsets.astype(np.int64), counts.to_numpy())
    return variants.take(variants.canonical_order()), found.attributes


def variants_digest(variants: Variants) -> str:
    """SHA-256 of the variants and their counts, the same in every file."""
    plain = variants.trimmed()
    total = hashlib.sha256(json.dumps(plain.activities).encode())
    for part in (plain.offsets, plain.codes, plain.counts):
        total.update(part.astype("<i8").tobytes())
    return total.hexdigest()
