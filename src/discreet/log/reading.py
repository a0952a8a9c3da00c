"""Reading logs: any supported file or frame to an EventLog, or one LogError that says why not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, Classifier, EventLog
from discreet.log.shaping import Order, Shape
from discreet.log.source import Source
from discreet.log.tables import read_csv, read_frame, read_parquet
from discreet.log.times import check_timezone
from discreet.log.types import TYPES, Type, declared
from discreet.log.xes import Engine, read_xes

SUFFIXES = (".xes", ".xes.gz", ".csv", ".csv.gz", ".parquet")

NO_EVENTS = pl.DataFrame(
    schema={CASE: pl.String, ACTIVITY: pl.String, TIME: pl.Datetime("us", "UTC")}
)

Duplicates = Literal["error", "merge"]


def read_log(
    source: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | Any,
    *,
    case: str | None = None,
    activity: str | None = None,
    timestamp: str | None = None,
    lifecycle: str | None = None,
    individual: str | None = None,
    classifier: Classifier = "activity",
    timezone: str = "UTC",
    timestamp_format: str | None = None,
    types: Mapping[str, Type] | str | None = None,
    decimal: str = ".",
    delimiter: str | None = None,
    order: Order = "time",
    duplicates: Duplicates = "error",
    engine: Engine = "auto",
    allow_empty: bool = False,
) -> EventLog:
    """Read an event log from XES, CSV or Parquet (also .gz), or from a Polars or pandas frame.

    `case`, `activity`, `timestamp` and `lifecycle` name columns; without them the names that
    the usual tools write in a header are recognised, in XES only the standard ones. `individual`
    names the column of the person behind a case, for guarantees per person. Timestamps become
    instants in UTC; those without an offset are local times of `timezone`. `timestamp_format` is
    `day-first` or `month-first` for dates such as 03/04/2020, a strftime format, or `seconds`,
    `milliseconds` or `microseconds` since 1970. Further columns are text unless a schema or
    `types` says otherwise: text, integer, number (`decimal` is its point or comma), boolean or
    date. `order="file"` keeps the order of the file and leaves the
    timestamps out. `duplicates="merge"` reads XES traces of the same name as one case.
    `engine="strict"` reads XES element by element even if the file is plain. A log without
    events is an error unless `allow_empty`: a release may be empty, a log to release may not.

    How a case is read depends on that case, the options and what is public of the file (a CSV's
    header, a Parquet schema), never on other cases: neighbouring files become neighbouring logs.

    Whatever is wrong with the input, the error is a LogError that says what, where and how to
    mend it.
    """
    _check_option("order", order, ("time", "file"))
    _check_option("duplicates", duplicates, ("error", "merge"))
    _check_option("engine", engine, ("auto", "strict"))
    _check_option("classifier", classifier, ("activity", "activity+lifecycle"))
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise LogError(f"delimiter={delimiter!r} must be one ASCII character")
    check_timezone(timezone)
    _check_option("decimal", decimal, (".", ","))
    kinds = declared(types) if isinstance(types, str) else types or {}
    for kind in kinds.values():
        _check_option("type", kind, TYPES)
    shape = Shape(
        case=case,
        activity=activity,
        timestamp=timestamp,
        lifecycle=lifecycle,
        individual=individual,
        timezone=timezone,
        timestamp_format=timestamp_format,
        order=order,
        types=kinds,
        decimal=decimal,
    )
    try:
        found = _read(source, delimiter, duplicates, engine, by_trace=case is None)
        if found.table.is_empty():
            if not allow_empty:
                raise LogError(f"{found.name} has no events; there is nothing to release")
            return EventLog.from_table(NO_EVENTS, attributes=found.attributes)
        try:
            table, person = shape.of(found)
        except LogError as error:
            raise LogError(f"{found.name}: {error}") from None
        return EventLog.from_table(
            table, classifier=classifier, individual=person, attributes=found.attributes
        )
    except LogError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise LogError(f"the log cannot be read: {reason}") from error


def _read(
    source: Any,
    delimiter: str | None,
    duplicates: Duplicates,
    engine: Engine,
    *,
    by_trace: bool,
) -> Source:
    if not isinstance(source, str | os.PathLike):
        if isinstance(source, pl.DataFrame | pl.LazyFrame) or _is_pandas(source):
            return read_frame(source)
        raise LogError(
            f"cannot read a log from {type(source).__name__}; give a path, or a Polars or "
            "pandas frame"
        )
    path = Path(source)
    if path.is_dir():
        raise LogError(f"{path} is a folder; name one file in it")
    name = path.name.lower()
    if name.endswith((".xes", ".xes.gz")):
        return read_xes(path, by_trace=by_trace, merge=duplicates == "merge", engine=engine)
    if name.endswith((".csv", ".csv.gz")):
        return read_csv(path, delimiter)
    if name.endswith(".parquet"):
        return read_parquet(path)
    raise LogError(
        f"{path.name}: unknown kind of file {path.suffix!r}; known are {', '.join(SUFFIXES)}"
    )


def _is_pandas(source: object) -> bool:
    kind = type(source)
    return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def _check_option(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise LogError(f"unknown {name} {value!r}: {' or '.join(allowed)}")
