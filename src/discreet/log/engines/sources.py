"""Where the events of an engine come from: files, tables, queries, read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.log.engines.limits import memory_limit
from discreet.log.errors import LogError, option
from discreet.log.formats.csv import delimited_pieces
from discreet.log.formats.objects import as_texts, from_arrow
from discreet.log.raw import below_header, by_row
from discreet.log.snapshot import Snapshot
from discreet.log.tables import by_file, same_schema

BATCH = 200_000
"""Events that are read at once where they pass through this process."""

PIECE = 16_000_000
"""Bytes of a text file that are read at once."""


@dataclass(frozen=True)
class Source:
    """A table to be read: its columns, and whether its rows have an order of their own."""

    name: str
    schema: pl.DataFrame
    """Without rows, with the types that values are read with."""
    batches: Callable[[Sequence[str]], Iterator[pl.DataFrame]]
    """The rows of these columns, in their order if they have one."""
    place: Callable[[int], str] = by_row
    """Where a row stood, in words."""
    ordered: bool = True
    parquet: tuple[Path, ...] = ()
    """The files, where they are Parquet: most engines read them faster than in batches."""
    heights: tuple[int, ...] = ()
    """How many rows each of these files has."""
    snapshot: Snapshot = Snapshot()
    """The files before anything was read of them."""


def from_parquet(files: Sequence[Path], name: str) -> Source:
    """Parquet files of one kind, one after another."""
    from pyarrow import parquet

    snapshot = Snapshot.of(files)
    schema, heights = same_schema(files), heights_of(files)
    several = len(files) > 1

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        kinds = {column: schema.schema[column] for column in columns}
        for path in files:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH, columns=list(columns)):
                    found = pl.from_arrow(batch)
                    assert isinstance(found, pl.DataFrame)
                    yield found.select(columns).cast(kinds)  # type: ignore[arg-type]

    place = by_file(files, heights) if several else by_row
    return Source(
        name, schema, batches, place, parquet=tuple(files), heights=heights, snapshot=snapshot
    )


def heights_of(files: Sequence[Path]) -> tuple[int, ...]:
    """How many rows each of some Parquet files has."""
    from pyarrow import parquet

    return tuple(parquet.read_metadata(path).num_rows for path in files)


def from_delimited(
    files: Sequence[Path], name: str, delimiter: str | None, encoding: str | None
) -> Source:
    """CSV files with one header, one after another; every value as the text it is."""

    def pieces(path: Path) -> Iterator[pl.DataFrame]:
        size = min(PIECE, memory_limit(None) // 16)
        with closing(delimited_pieces(path, delimiter, encoding, size=size)) as found:  # type: ignore[type-var]
            for piece in found:
                yield piece.table

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        for path in files:
            for table in pieces(path):
                yield table.select(columns)

    snapshot, headers = Snapshot.of(files), []
    for path in files:
        with closing(pieces(path)) as begin:  # type: ignore[type-var]
            headers.append(next(begin).columns)
        if headers[-1] != headers[0]:
            raise LogError(
                f"{path.name} has another header than {files[0].name}; read only files of one "
                "kind together"
            )
    schema = pl.DataFrame(schema=dict.fromkeys(headers[0], pl.String))
    place = below_header if len(files) == 1 else by_row
    return Source(name, schema, batches, place, snapshot=snapshot)


def from_frame(frame: pl.DataFrame, name: str = "the table") -> Source:
    """A frame in memory, in its own order."""

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield from frame.select(columns).iter_slices(BATCH)

    return Source(name, frame.clear(), batches)


def from_relation(relation: Any, name: str = "the relation") -> Source:
    """A relation of DuckDB, which has no order of its own."""
    schema = from_arrow(relation.limit(0).to_arrow_table())

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        chosen = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        for batch in relation.project(chosen).to_arrow_reader(BATCH):
            found = pl.from_arrow(batch)
            assert isinstance(found, pl.DataFrame)
            yield found

    return Source(name, schema, batches, ordered=False)


def from_database(url: str, query: str | None) -> Source:
    """What a query gives of a database that SQLAlchemy reaches: values as texts, each by itself.

    Only whole numbers of PostgreSQL stay what they are; elsewhere types are to be declared.
    """
    from sqlalchemy import create_engine, text
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    if not query:
        raise LogError(f"a database needs a table or query: name it with {option('query')}")
    statement = text(as_query(query))
    try:
        database = create_engine(make_url(url), poolclass=NullPool)  # no line stays open
        name = f"the database {make_url(url).database or url.partition(':')[0]}"
        with database.connect() as connection:
            result = connection.execution_options(stream_results=True).execute(statement)
            columns = list(result.keys())
            kinds = _kinds(database.dialect.name, result.cursor)
            result.close()
    except (ArgumentError, SQLAlchemyError, ImportError, ValueError) as error:
        raise _refused(error) from None

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        places = [columns.index(column) for column in wanted]
        try:
            with (
                database.connect().execution_options(stream_results=True) as connection,
                connection.execute(statement) as result,
            ):
                for rows in result.partitions(BATCH // 4):
                    values = [[row[place] for row in rows] for place in places]
                    yield pl.DataFrame(
                        [
                            pl.Series(column, found, dtype=pl.Int64)
                            if kinds[columns.index(column)] == pl.Int64
                            else as_texts(column, found, (value is None for value in found))
                            for column, found in zip(wanted, values, strict=True)
                        ]
                    )
        except SQLAlchemyError as error:
            raise _refused(error) from None

    schema = pl.DataFrame(schema=dict(zip(columns, kinds, strict=True)))
    return Source(name, schema, batches, ordered=False)


_WHOLE_NUMBERS = (20, 21, 23)
"""What PostgreSQL calls int8, int2 and int4."""


def _kinds(dialect: str, cursor: Any) -> list[type[pl.DataType]]:
    """Whole numbers where the database says so: they sort otherwise than their texts."""
    told = dialect == "postgresql"
    return [
        pl.Int64 if told and field[1] in _WHOLE_NUMBERS else pl.String
        for field in cursor.description
    ]


def _refused(error: Exception) -> LogError:
    """What a database says, without the address, which may hold a password."""
    reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    return LogError(f"the database cannot be read: {reason}")


def as_query(text: str) -> str:
    """A query as it is; the name of a table as the query of all its rows."""
    plain = text.strip().rstrip(";")
    return f"SELECT * FROM {plain}" if len(plain.split()) == 1 else plain
