"""Sources of events for an engine, and the columns that it reads of them.

Files, tables and queries are read batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from discreet.log.columns import RawTable, below_header, by_row
from discreet.log.engines.capacity import memory_limit
from discreet.log.errors import LogError, option
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, labels_of
from discreet.log.files import Snapshot
from discreet.log.formats.csv import delimited_pieces
from discreet.log.formats.objects import as_texts, from_arrow
from discreet.log.formats.parquet import by_file, same_schema
from discreet.log.reading import MappedTable, Reading
from discreet.log.timestamps import Clocks, within_calendar

_WHOLE_NUMBERS = (20, 21, 23)
"""PostgreSQL's type numbers of int8, int2 and int4."""

# Tuned
BATCH = 200_000
"""Rows of a batch where they pass through this process."""

PIECE = 16_000_000
"""Bytes of a text file read at a time."""


@dataclass(frozen=True)
class EventSource:
    """A table to be read: its columns, and whether its rows have an order of their own."""

    name: str
    schema: pl.DataFrame
    """Without rows, with the types that values are read with."""
    batches: Callable[[Sequence[str]], Iterator[pl.DataFrame]]
    """The rows of these columns, in their order if they have one."""
    place: Callable[[int], str] = by_row
    """Says in words where a row stood."""
    ordered: bool = True
    parquet: tuple[Path, ...] = ()
    """The files, where they are Parquet: most engines read them faster than in batches."""
    heights: tuple[int, ...] = ()
    """The number of rows of each of these files."""
    snapshot: Snapshot = Snapshot()
    """The files before anything was read of them."""


def from_parquet(files: Sequence[Path], name: str) -> EventSource:
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
    return EventSource(
        name, schema, batches, place, parquet=tuple(files), heights=heights, snapshot=snapshot
    )


def heights_of(files: Sequence[Path]) -> tuple[int, ...]:
    """The number of rows of each Parquet file."""
    from pyarrow import parquet

    return tuple(parquet.read_metadata(path).num_rows for path in files)


def from_delimited(
    files: Sequence[Path], name: str, delimiter: str | None, encoding: str | None
) -> EventSource:
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
    return EventSource(name, schema, batches, place, snapshot=snapshot)


def from_frame(frame: pl.DataFrame, name: str = "the table") -> EventSource:
    """A frame in memory, in its own order."""

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield from frame.select(columns).iter_slices(BATCH)

    return EventSource(name, frame.clear(), batches)


def from_relation(relation: Any, name: str = "the relation") -> EventSource:
    """A relation of DuckDB, which has no order of its own."""
    schema = from_arrow(relation.limit(0).to_arrow_table())

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        chosen = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        for batch in relation.project(chosen).to_arrow_reader(BATCH):
            found = pl.from_arrow(batch)
            assert isinstance(found, pl.DataFrame)
            yield found

    return EventSource(name, schema, batches, ordered=False)


def from_database(url: str, query: str | None) -> EventSource:
    """The answer to a query in a database that SQLAlchemy reaches, each value a text by itself.

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
    return EventSource(name, schema, batches, ordered=False)


def as_query(text: str) -> str:
    """A query as it is; the name of a table as the query of all its rows."""
    plain = text.strip().rstrip(";")
    return f"SELECT * FROM {plain}" if len(plain.split()) == 1 else plain


def _kinds(dialect: str, cursor: Any) -> list[type[pl.DataType]]:
    """The type of each column: text, but for declared whole numbers, which sort unlike texts."""
    told = dialect == "postgresql"
    return [
        pl.Int64 if told and field[1] in _WHOLE_NUMBERS else pl.String
        for field in cursor.description
    ]


def _refused(error: Exception) -> LogError:
    """The error of a database without its address, which may hold a password."""
    reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    return LogError(f"the database cannot be read: {reason}")


@dataclass(frozen=True)
class Layout:
    """Which columns events have: times, individuals, what breaks ties, a position in the file."""

    timed: bool = True
    people: bool = False
    ties: int = 0
    placed: bool = True

    @property
    def order(self) -> list[str]:
        """The columns by which the events of a case are sorted."""
        return [
            *(["ts"] if self.timed else []),
            *(f"tie_{i}" for i in range(self.ties)),
            *(["pos"] if self.placed else []),
        ]

    @property
    def required(self) -> dict[str, str]:
        """The columns that an event cannot be counted without, with the word for each."""
        return {
            "case_id": "case",
            "label": "activity",
            **({"ts": "timestamp"} if self.timed else {}),
            **({"person": "individual"} if self.people else {}),
        }


@dataclass(frozen=True)
class ReadingPlan:
    """The columns of a source by role, found by the same rules as in memory."""

    source: EventSource
    reading: Reading
    shaped: MappedTable
    """The table as memory would have it, without rows."""
    further: tuple[str, ...] = ()
    """Columns without a role that are read, too."""

    @classmethod
    def of(cls, source: EventSource, reading: Reading) -> ReadingPlan:
        """Find the columns; refuse what does not fit, before anything is read."""
        shaped = reading.without_rows(RawTable(source.name, source.schema, source.place))
        labels_of(shaped.table, reading.classifier)
        kinds = source.schema.schema
        others = [c for c in shaped.further if c != reading.individual and _plain(kinds[c])]
        return cls(source, reading, shaped, tuple(others) if reading.further else ())

    @property
    def case(self) -> str:
        """The column of the cases."""
        return self.shaped.names[CASE]

    @property
    def activity(self) -> str:
        """The column of the activities."""
        return self.shaped.names[ACTIVITY]

    @property
    def lifecycle(self) -> str | None:
        """The column that is part of the label, if the classifier says so."""
        joined = self.reading.classifier == "activity+lifecycle"
        return self.shaped.names[LIFECYCLE] if joined else None

    @property
    def transition(self) -> str | None:
        """The column that says which events are kept, if only some are."""
        return self.shaped.names[LIFECYCLE] if self.reading.transitions else None

    @property
    def time(self) -> str | None:
        """The column of the timestamps, unless the order of the file counts."""
        return self.shaped.names[TIME] if self.reading.order == "time" else None

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        roles = (self.case, self.activity, self.lifecycle, self.time, self.reading.individual)
        listed = (*roles, self.transition, *self.reading.tie_break, *self.further)
        return list(dict.fromkeys(column for column in listed if column is not None))

    @property
    def layout(self) -> Layout:
        """The layout of the events."""
        if self.time is None and not self.source.ordered and not self.reading.tie_break:
            raise LogError(
                "the rows of a table have no order to keep; name columns that tell it with "
                "tie_break= (--tie-break), or read the times"
            )
        return Layout(
            timed=self.time is not None,
            people=self.reading.individual is not None,
            ties=len(self.reading.tie_break),
            placed=self.source.ordered,
        )

    def frames(self, note: Callable[[Clocks], None]) -> Iterator[pl.DataFrame]:
        """The events, batch by batch: each value is read by itself, so batches change nothing.

        Where cases that lack a value are to be left out, the values that are missing stay so.
        `note` is called for each batch with how its times were written.
        """
        shape = replace(
            self.reading.narrowed(self.columns),
            case=self.case,
            activity=self.activity,
            timestamp=self.time,
            lifecycle=self.lifecycle or self.transition,
            drop_incomplete=False,
        )
        before = 0
        for batch in self.source.batches(self.columns):
            height, numbered = batch.height, batch.with_row_index("row")
            raw = self._raw(batch, before)
            if self.transition is not None:
                kept = shape.kept(batch[self.transition])
                batch, numbered, raw = batch.filter(kept), numbered.filter(kept), raw.only(kept)
            if self.reading.drop_incomplete:
                whole = pl.all_horizontal(pl.col(self._required).is_not_null())
                lacking = batch.filter(~whole).select(case_id=pl.col(self.case).cast(pl.String))
                yield lacking.with_columns(label=pl.lit(None, dtype=pl.String))
                numbered = numbered.filter(batch.select(whole).to_series())
                raw = raw.only(batch.select(whole).to_series())
            if raw.table.height:
                self._check_fine(raw)
                shaped = shape.of(raw)
                note(shaped.clocks)
                frame = self._frame(shaped, numbered["row"].cast(pl.Int64) + before)
                extra = [
                    within_calendar(raw.table[c]).alias(f"more_{i}")
                    for i, c in enumerate(self.further)
                ]
                yield frame.with_columns(extra)
            before += height

    def named(self, found: pl.DataFrame) -> pl.DataFrame:
        """Further columns as memory reads them, from values as they stand in the source."""
        raw = RawTable(self.source.name, found, lambda row: "an event")
        types = {name: kind for name, kind in self.reading.kinds.items() if name in found.columns}
        return pl.DataFrame(
            {
                self.shaped.further[c]: self.reading.further_column(raw, c, types.get(c))
                for c in found.columns
            }
        )

    @property
    def _required(self) -> list[str]:
        roles = (self.case, self.activity, self.time, self.reading.individual)
        return [column for column in roles if column is not None]

    def _raw(self, batch: pl.DataFrame, before: int) -> RawTable:
        return RawTable(self.source.name, batch, lambda row: self.source.place(before + row))

    def _frame(self, shaped: MappedTable, rows: pl.Series) -> pl.DataFrame:
        table = shaped.table
        columns = {"case_id": table[CASE], "label": labels_of(table, self.reading.classifier)}
        if self.time is not None:
            columns["ts"] = table[TIME].to_physical()
        if shaped.individual is not None:
            columns["person"] = table[shaped.individual]
        for i, name in enumerate(shaped.tie_break):
            columns[f"tie_{i}"] = table[name]
        if self.source.ordered:
            columns["pos"] = rows
        return pl.DataFrame(columns)

    def _check_fine(self, raw: RawTable) -> None:
        """Refuse times finer than a microsecond: cut off, they would tie what has an order."""
        if self.time is None:
            return
        values = raw.table[self.time]
        if isinstance(values.dtype, pl.Datetime) and values.dtype.time_unit == "ns":
            fine = values.to_physical() % 1000 != 0
            if fine.any():
                raise finer_than_microseconds(raw.place(int(fine.arg_max() or 0)))


def _plain(kind: pl.DataType) -> bool:
    """Whether every engine hands over the values of a type as they are, whatever they are."""
    timed = isinstance(kind, pl.Datetime) and kind.time_unit != "ns"  # not every engine has these
    numeric = kind.is_float() or (kind.is_integer() and kind not in (pl.Int128, pl.UInt128))
    return numeric or timed or kind in (pl.String, pl.Boolean, pl.Date)


def finer_than_microseconds(place: str) -> LogError:
    """The error for times that no engine keeps in full."""
    return LogError(
        f"{place} has a timestamp finer than a microsecond; round the times, or read the log with "
        "engine='memory' (--engine memory), which cuts them off"
    )


def unbroken_ties(many: int) -> LogError:
    """The error for events whose order is open: any other order would be as true."""
    return LogError(
        f"different events of one case have the same time ({many} times), and the rows of a table "
        f"have no order: name columns that tell it with {option('tie_break', 'sequence_number')}; "
        "the activity's own column will do if any fixed order is good enough"
    )
