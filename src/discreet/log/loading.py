"""Loading logs: any file, frame or database to an EventLog, or one LogError that says why not.

Files that fit are read into memory; larger ones, and what an engine holds anyway, are sorted and
counted by that engine.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import polars as pl

from discreet.log.columns import RawTable
from discreet.log.engines.capacity import choose_engine, memory_limit
from discreet.log.engines.memory import check_ties
from discreet.log.engines.sources import (
    EventSource,
    ReadingPlan,
    as_query,
    from_database,
    from_delimited,
    from_frame,
    from_parquet,
    from_relation,
)
from discreet.log.engines.sql import literal, quoted
from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError, option
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.expansion import one_by_one
from discreet.log.files import PARQUET, XES_SUFFIXES, Snapshot, files_of, origin_of, standard_input
from discreet.log.formats.csv import read_delimited
from discreet.log.formats.excel import read_excel
from discreet.log.formats.objects import read_object
from discreet.log.formats.parquet import read_parquet, same_schema
from discreet.log.formats.variant_tables import is_variant_table, read_variants
from discreet.log.formats.xes.reader import read_xes
from discreet.log.reading import MappedTable, Reading

DELIMITED = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
SUFFIXES = (*XES_SUFFIXES, *DELIMITED, ".parquet", ".xlsx")

DATABASES = (".duckdb", ".ddb")
"""Endings of the names of DuckDB databases."""

_TAKEN = ("memory", "system", "temp")
"""Names of DuckDB's own databases."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+]*://")

NO_EVENTS = pl.DataFrame(
    schema={CASE: pl.String, ACTIVITY: pl.String, TIME: pl.Datetime("us", "UTC")}
)

Options = ParamSpec("Options")


def _by_keywords(
    _: Callable[Options, Reading],
) -> Callable[[Callable[..., EventLog]], Callable[Concatenate[Any, Options], EventLog]]:
    """Give a function the options of reading as its keywords."""

    def taking(function: Callable[..., EventLog]) -> Callable[Concatenate[Any, Options], EventLog]:
        first, *_ = inspect.signature(function).parameters.values()
        options = inspect.signature(Reading).parameters.values()
        function.__signature__ = inspect.Signature([first, *options])  # type: ignore[attr-defined]
        return function

    return taking


@_by_keywords(Reading)
def read_log(data: Any, /, **options: Any) -> EventLog:
    """Read an event log from files, a database, or what is in memory.

    Files are XES, CSV and its kin (.csv, .tsv, .txt; all also .gz), Parquet and Excel; `-` is
    standard input, whose kind its beginning tells. A table of variants (.variants.parquet) becomes
    a log of its cases, with artificial times. A folder of Parquet files, or a pattern such as
    `lake/*.parquet`, is one log. Objects are frames of Polars and pandas, Arrow tables, relations
    of DuckDB, data frames of Spark and logs of PM4Py. A database is a DuckDB file or an address as
    SQLAlchemy writes it, with a table or `query`.

    `engine` says where events are sorted and counted: in `memory`, in `duckdb`, which needs only
    as much memory as `memory` allows ("4GB"; half of the machine's without it), or in `spark`.
    `auto` takes memory as long as the files fit into it. Every engine gives the same variants.
    Events of one case and one time are in the order of the columns `tie_break`, then of the file;
    rows of a database or of Spark have no order, and ties that no column breaks are refused there.

    `case`, `activity`, `timestamp` and `lifecycle` name columns; without them the names that
    the usual tools write in a header are recognised, in XES only the standard ones. `individual`
    names the column of the person behind a case, for guarantees per person. Timestamps become
    instants in UTC; those without an offset are local times of `timezone`, or of UTC if none of the
    others carries one either. `timestamp_format` is
    `day-first` or `month-first` for dates such as 03/04/2020, a strftime format, or `seconds`,
    `milliseconds` or `microseconds` since 1970. Further columns are text unless a schema or
    `types` says otherwise: text, integer, number (`decimal` is its point or comma), boolean or
    date. `delimiter` and `encoding` are those of a CSV file, where its beginning does not tell;
    `sheet` is one of an Excel file. `order="file"` keeps the order of the file and leaves the
    timestamps out. `duplicates="merge"` reads XES traces of the same name as one case.
    `drop_incomplete` leaves out cases that lack a required value, and events without a case.
    Where each activity has a row for each transition of its lifecycle, such as start and complete,
    `transitions="complete"` keeps one event of each: those of the transitions named, as they are
    written in the log, and those that carry none. A case with no such event is left out. Or
    `classifier="activity+lifecycle"` makes them different activities.
    `case_attributes` names columns that describe a whole case, as in "age, sex"; they get
    the prefix `case:` of such columns, which XES marks itself.
    `further=False` leaves out all columns that have no role, which is faster.
    `xes_reader="strict"` reads XES element by element even if the file is plain. A log without
    events is an error unless `allow_empty`: a release may be empty, a log to release may not.

    How a case is read depends on that case, the options and what is public of the file (a CSV's
    header, a Parquet schema), never on other cases: neighbouring files become neighbouring logs.

    Whatever is wrong with the input, the error is a LogError that says what, where and how to
    fix it.
    """
    return read_as(data, Reading(**options))


def read_as(data: Any, reading: Reading) -> EventLog:
    """Read an event log in the given way, and note which files it came from; see `read_log`."""
    origin = origin_of(data)
    log = _read_as(data, reading)
    log.__dict__["origin"] = origin
    return log


def column_names(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> list[str]:
    """The names of a file's columns, before any of them has a role."""
    reading = Reading(
        delimiter=delimiter,
        encoding=encoding,
        sheet=sheet,
        duplicates="merge",
        drop_incomplete=True,
    )
    files = files_of(Path(path))
    if all(one.name.lower().endswith(PARQUET) for one in files):
        return same_schema(files).columns
    return _read(path, files, reading).table.columns


def _read_as(data: Any, reading: Reading) -> EventLog:
    memory, further = reading.memory, reading.further
    memory_limit(memory)
    stack = contextlib.ExitStack()
    try:
        if isinstance(data, str) and data == "-":
            data = stack.enter_context(standard_input())
        if isinstance(data, str | os.PathLike) and is_variant_table(Path(data)):
            stack.enter_context(Snapshot.of((Path(data),)).kept())
            variants, attributes = read_variants(Path(data))
            return replace(one_by_one(variants), attributes=attributes)
        if reading.engine == "spark" or hasattr(data, "sparkSession"):
            from discreet.log.engines.spark import counted_by_spark

            if isinstance(data, pl.DataFrame | pl.LazyFrame) or reading.query is not None:
                raise LogError("the engine spark reads Parquet files and data frames of Spark")
            with _naming("the data frame" if hasattr(data, "sparkSession") else Path(data).name):
                return counted_by_spark(data, reading)
        source = without_order(data, reading.query)
        files = files_of(Path(data)) if isinstance(data, str | os.PathLike) and not source else ()
        chosen = choose_engine(files, reading.engine, memory).engine
        if chosen == "duckdb":
            if source is None:
                held = files or read_object(data).table
                source = source_of(held, _name(data, files), reading.delimiter, reading.encoding)
            with _naming(source.name):
                return counted_by_duckdb(source, reading)
        stack.enter_context((source.snapshot if source else Snapshot.of(files)).kept())
        whole: MappedTable | None = None
        if source is not None:
            found = collected(source)
        elif files and all(path.name.lower().endswith(PARQUET) for path in files):
            name = _name(data, files)
            if not further:
                with _naming(name):
                    whole = reading.without_rows(RawTable(name, same_schema(files), str))
            found = read_parquet(files, name, whole and reading.roles(whole))
        else:
            found = _read(data, files, reading)
        if found.table.is_empty():
            if not reading.allow_empty:
                raise LogError(f"{found.name} has no events; there is nothing to release")
            return EventLog.from_table(NO_EVENTS, attributes=found.attributes)
        with _naming(found.name):
            if not further:
                whole = whole or reading.without_rows(found)
                needed = reading.roles(whole)
                found, reading = found.narrowed(needed), reading.narrowed(needed)
            shaped = reading.of(found)
        log = EventLog.from_table(
            shaped.table,
            classifier=reading.classifier,
            individual=shaped.individual,
            attributes=found.attributes,
            tie_break=shaped.tie_break,
        )
        if source is not None:
            check_ties(log, shaped.tie_break)
        return replace(
            log,
            names=shaped.names,
            left_out=shaped.left_out,
            clocks=shaped.clocks,
            transitions=shaped.transitions,
            whole_schema=None if whole is None else whole.table,
        )
    except LogError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise LogError(f"the log cannot be read: {reason}") from error
    finally:
        stack.close()


def _read(
    data: Any,
    files: Sequence[Path],
    reading: Reading,
) -> RawTable:
    if not files:
        return read_object(data)
    name = files[0].name.lower()
    if len(files) > 1:
        raise LogError(
            f"{data} matches {len(files)} files; several are one log only if they are Parquet, or "
            "CSV with engine='duckdb' (--engine duckdb)"
        )
    path = files[0]
    if name.endswith(XES_SUFFIXES):
        return read_xes(
            path,
            by_trace=reading.case is None,
            merge=reading.duplicates == "merge",
            unnamed=reading.drop_incomplete,
            reader=reading.xes_reader,
        )
    if name.endswith(DELIMITED):
        usual = "\t" if ".tsv" in name else None
        return read_delimited(path, reading.delimiter or usual, reading.encoding)
    if name.endswith(".xlsx"):
        return read_excel(path, reading.sheet)
    if not path.exists():
        raise LogError(f"there is no file or folder {path}; check the path")
    raise LogError(
        f"{path.name}: unknown kind of file {path.suffix!r}; known are {', '.join(SUFFIXES)}"
    )


def without_order(data: Any, query: str | None) -> EventSource | None:
    """The source in a database or relation, whose rows have no order; None for other data."""
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
) -> EventSource:
    """A frame or files as a source of events."""
    if isinstance(data, pl.DataFrame):
        return from_frame(data, name)
    if all(path.name.lower().endswith(".parquet") for path in data):
        from discreet.log.engines.duckdb import load

        load()
        return from_parquet(data, name)
    if all(path.name.lower().endswith(DELIMITED) for path in data):
        tabs = all(".tsv" in path.name.lower() for path in data)
        return from_delimited(data, name, delimiter or ("\t" if tabs else None), encoding)
    raise LogError(
        f"{name} is read in memory only ({option('engine', 'memory')}); engines read Parquet and "
        "CSV: write it as one of them"
    )


def collected(source: EventSource) -> RawTable:
    """A whole source as a table in memory."""
    batches = list(source.batches(source.schema.columns))
    return RawTable(source.name, pl.concat(batches) if batches else source.schema, source.place)


def counted_by_duckdb(source: EventSource, reading: Reading) -> EngineLog:
    """A log whose events DuckDB has read, checked and counted."""
    from discreet.log.engines.duckdb import DuckDBEngine

    plan = ReadingPlan.of(source, reading)
    engine = DuckDBEngine(plan, memory_limit(reading.memory)).read()
    return EngineLog(engine, plan.shaped, reading.classifier)


def _from_duckdb(path: Path, query: str | None) -> EventSource:
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
        # a process opens a database by its path once, and asking again gives what it was
        connection.execute(f"ATTACH {literal(path)} AS {name} (READ_ONLY)")
        connection.execute(f"USE {name}")
        found = from_relation(connection.sql(as_query(query)), path.name)
        return replace(found, snapshot=snapshot)
    except duckdb.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise LogError(f"{path.name} cannot be read: {reason}") from None


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the log in front of the message of an error."""
    try:
        yield
    except LogError as error:
        raise LogError(f"{name}: {error}") from None


def _name(data: Any, files: Sequence[Path]) -> str:
    """The name of a log in messages."""
    return Path(data).name if files else "the table"
