"""A table of variants written out as a log by DuckDB, without its events in this process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from discreet.log.engines.duckdb import connect, explained
from discreet.log.engines.limits import memory_limit
from discreet.log.engines.quoting import literal, quoted
from discreet.log.engines.scratch import Scratch
from discreet.log.events import ACTIVITY, CASE, TIME
from discreet.log.expansion import numbered
from discreet.log.files import replacing
from discreet.log.instants import SECOND
from discreet.log.log_attributes import as_attributes
from discreet.log.tables import parquet_metadata
from discreet.log.variants import Variants
from discreet.log.writing import write_log

TABLES = (".parquet", ".csv")
"""What DuckDB writes; everything else is written from memory."""

_EVENTS = f"""
SELECT CAST(number AS VARCHAR) AS {quoted(CASE)}, unnest(variant) AS {quoted(ACTIVITY)},
       unnest(times) AS {quoted(TIME)}
FROM (SELECT unnest(range(first, first + cases)) AS number, variant,
             [{{}} FOR i IN range(len(variant))] AS times FROM variants)
"""


def write_expanded(
    variants: Variants,
    path: Path,
    *,
    attributes: Mapping[str, object] | None = None,
    memory: str | int | None = None,
) -> None:
    """Write the cases one by one as `numbered` makes them, all of it or nothing.

    Cases are numbered in the order of their variants; times are artificial, 1970 and a second per
    event, and order the rows of a case: rows themselves have no order, so that nothing waits.
    `attributes` go into the metadata of Parquet and the header of XES.
    """
    if not path.name.lower().endswith(TABLES):
        write_log(numbered(variants), path, attributes=attributes)
        return
    limit, scratch = memory_limit(memory), Scratch()
    first = np.cumsum(variants.counts) - variants.counts + 1
    given = variants.to_polars().with_columns(first=first)
    with replacing(path) as target, explained(limit, scratch, "written"):
        connection = connect(limit, scratch)
        try:
            connection.register("variants", given.to_arrow())
            connection.execute(
                _copy(path, target, parquet_metadata(as_attributes(attributes or {})))
            )
        finally:
            connection.close()


def _copy(path: Path, target: Path, metadata: Mapping[str, str]) -> str:
    instant = f"make_timestamptz(i * {SECOND})"
    if path.name.lower().endswith(".csv"):
        instant = f"strftime(make_timestamp(i * {SECOND}), '%Y-%m-%dT%H:%M:%S+00:00')"
        form = "FORMAT csv, HEADER"
    else:
        stored = ", ".join(f"{quoted(k)}: {literal(v)}" for k, v in metadata.items())
        form = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{stored}}}"
    events = _EVENTS.format(instant)
    return f"COPY ({events}) TO {literal(target)} ({form}, USE_TMP_FILE false)"
