"""From files, tables and queries to a log that an engine has counted."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from discreet.log.engines.lazy import EngineLog
from discreet.log.engines.limits import memory_limit
from discreet.log.engines.plan import Plan
from discreet.log.engines.quoting import literal, quoted
from discreet.log.engines.sources import (
    Source,
    as_query,
    from_database,
    from_delimited,
    from_frame,
    from_parquet,
    from_relation,
)
from discreet.log.errors import LogError, option
from discreet.log.raw import RawTable
from discreet.log.shaping import Reading
from discreet.log.snapshot import Snapshot

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+]*://")
DATABASES = (".duckdb", ".ddb")
"""How the name of a DuckDB database ends."""

_TAKEN = ("memory", "system", "temp")
"""What DuckDB calls databases of its own."""


def without_order(data: Any, query: str | None) -> Source | None:
    """What has rows without an order, databases and relations; None for everything else."""
    if isinstance(data, str) and _ADDRESS.match(data):
        return from_database(data, query)
    if isinstance(data, str | os.PathLike) and str(data).lower().endswith(DATABASES):
        return _from_duckdb(Path(data), query)
    if query is not None:
        raise LogError(f"{option('query')} is for databases, and this is none")
    if type(data).__name__ == "DuckDBPyRelation":
        return from_relation(data)
    return None


def source_of(
    data: pl.DataFrame | Sequence[Path], name: str, delimiter: str | None, encoding: str | None
) -> Source:
    """A frame or files as a source of events."""
    if isinstance(data, pl.DataFrame):
        return from_frame(data, name)
    if all(path.name.lower().endswith(".parquet") for path in data):
        from discreet.log.engines.duckdb import load

        load()
        return from_parquet(data, name)
    texts = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
    if all(path.name.lower().endswith(texts) for path in data):
        tabs = all(".tsv" in path.name.lower() for path in data)
        return from_delimited(data, name, delimiter or ("\t" if tabs else None), encoding)
    raise LogError(
        f"{name} is read in memory only ({option('engine', 'memory')}); engines read Parquet and "
        "CSV: write it as one of them"
    )


def counted_by_duckdb(source: Source, reading: Reading) -> EngineLog:
    """Let DuckDB read, check and count the events."""
    from discreet.log.engines.duckdb import DuckDBEngine

    plan = Plan.of(source, reading)
    engine = DuckDBEngine(plan, memory_limit(reading.memory)).read()
    return EngineLog(engine, plan.shaped, reading.classifier)


def collected(source: Source) -> RawTable:
    """All of a source in memory."""
    batches = list(source.batches(source.schema.columns))
    return RawTable(source.name, pl.concat(batches) if batches else source.schema, source.place)


def _from_duckdb(path: Path, query: str | None) -> Source:
    from discreet.log.engines.duckdb import load

    duckdb = load()
    if not path.is_file():
        raise LogError(f"there is no file {path}; check the path")
    if not query:
        raise LogError(f"{path.name} is a database: name a table or query with {option('query')}")
    snapshot = Snapshot.of((path,))
    try:
        connection = duckdb.connect(":memory:", config={"temp_directory": f"{path}.tmp"})
        name = quoted(f"{path.stem}_" if path.stem.lower() in _TAKEN else path.stem)
        # a process opens a database by its path once, and whoever asks again gets what it was
        connection.execute(f"ATTACH {literal(path)} AS {name} (READ_ONLY)")
        connection.execute(f"USE {name}")
        found = from_relation(connection.sql(as_query(query)), path.name)
        return replace(found, snapshot=snapshot)
    except duckdb.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise LogError(f"{path.name} cannot be read: {reason}") from None
