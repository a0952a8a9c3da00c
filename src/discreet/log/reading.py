"""Reading logs: any supported file or frame to an EventLog, or one LogError that says why not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import polars as pl

from discreet.log.columns import WORDS, choose, existing
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, Classifier, EventLog
from discreet.log.source import Source
from discreet.log.tables import read_csv, read_frame, read_parquet
from discreet.log.times import check_timezone, to_instants
from discreet.log.xes import Engine, read_xes

SUFFIXES = (".xes", ".xes.gz", ".csv", ".csv.gz", ".parquet")

NO_EVENTS = pl.DataFrame(
    schema={CASE: pl.String, ACTIVITY: pl.String, TIME: pl.Datetime("us", "UTC")}
)

Order = Literal["time", "file"]
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
    delimiter: str | None = None,
    order: Order = "time",
    duplicates: Duplicates = "error",
    engine: Engine = "auto",
    allow_empty: bool = False,
) -> EventLog:
    """Read an event log from XES, CSV or Parquet (also .gz), or from a Polars or pandas frame.

    `case`, `activity`, `timestamp` and `lifecycle` name columns; without them the names that
    the usual tools write are recognised. `individual` names the column of the person behind a
    case, for guarantees per person. Timestamps become instants in UTC; those without an offset
    are local times of `timezone`. `order="file"` keeps the order of the file and leaves the
    timestamps out. `duplicates="merge"` reads XES traces of the same name as one case.
    `engine="strict"` reads XES element by element even if the file is plain. A log without
    events is an error unless `allow_empty`: a release may be empty, a log to release may not.

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
    given = {CASE: case, ACTIVITY: activity, TIME: timestamp, LIFECYCLE: lifecycle}
    try:
        found = _read(source, case, timezone, delimiter, duplicates, engine)
        if found.table.is_empty():
            if not allow_empty:
                raise LogError(f"{found.name} has no events; there is nothing to release")
            return EventLog.from_table(NO_EVENTS, attributes=found.attributes)
        try:
            table, person, cases = _shaped(
                found, given, individual, timezone, timestamp_format, order
            )
        except LogError as error:
            raise LogError(f"{found.name}: {error}") from None
        return EventLog.from_table(
            table,
            classifier=classifier,
            individual=person,
            attributes=found.attributes,
            case_column=cases,
        )
    except LogError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise LogError(f"the log cannot be read: {reason}") from error


def _read(
    source: Any,
    case: str | None,
    timezone: str,
    delimiter: str | None,
    duplicates: Duplicates,
    engine: Engine,
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
        return read_xes(
            path,
            timezone=timezone,
            by_trace=case is None,
            merge=duplicates == "merge",
            engine=engine,
        )
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


def _shaped(
    source: Source,
    given: dict[str, str | None],
    individual: str | None,
    timezone: str,
    timestamp_format: str | None,
    order: Order,
) -> tuple[pl.DataFrame, str | None, str]:
    """The table under XES names with every required value present.

    Also the column of the individuals in it, and that of the cases as the file names it.
    """
    columns = source.table.columns
    timed = order == "time"
    chosen = choose(columns, given, (CASE, ACTIVITY, TIME) if timed else (CASE, ACTIVITY))
    shaped: dict[str, pl.Series] = {}
    for role in (CASE, ACTIVITY, LIFECYCLE):
        if role in chosen:
            shaped[role] = _as_text(source.table[chosen[role]], role)
    for role in (CASE, ACTIVITY):
        _check_present(shaped[role], WORDS[role], source)
    if timed:
        shaped[TIME] = _times(source, chosen[TIME], timezone, timestamp_format)
    renamed = {column: role for role, column in chosen.items()}
    for column in columns:
        if column not in renamed:
            name = f"original:{column}" if column in (*shaped, TIME) else column
            shaped[name] = source.table[column]
            renamed[column] = name
    person = None
    if individual is not None:
        person = renamed[existing(columns, individual, "individual")]
        if person not in shaped:
            raise LogError(f"the column {individual!r} cannot be both timestamp and individual")
        _check_present(shaped[person], "individual", source)
    return pl.DataFrame(shaped), person, chosen[CASE]


def _as_text(values: pl.Series, role: str) -> pl.Series:
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise LogError(
            f"the column {values.name!r} holds {values.dtype}, which cannot be the {WORDS[role]}"
        )
    return values.cast(pl.String)


def _check_present(values: pl.Series, word: str, source: Source) -> None:
    if values.null_count():
        first = int(values.is_null().arg_max() or 0)
        raise LogError(
            f"{source.place(first)} has no {word} ({values.null_count()} of {len(values)} events "
            f"have none); fill it in or remove these events"
        )


def _times(source: Source, column: str, timezone: str, form: str | None) -> pl.Series:
    texts = source.table[column]
    if texts.null_count():
        first = int(texts.is_null().arg_max() or 0)
        raise LogError(
            f"{source.place(first)} has no timestamp ({texts.null_count()} of {len(texts)} "
            "events have none); fill it in, or keep the order of the file with order='file'"
        )
    instants = to_instants(texts, timezone, form)
    if instants.null_count():
        first = int(instants.is_null().arg_max() or 0)
        shown = str(texts[first])
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise LogError(
            f"{source.place(first)}: {shown!r} is no timestamp that can be read"
            + (f" by the format {form!r}" if form else "; give the format with timestamp_format=")
        )
    return instants


def _check_option(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise LogError(f"unknown {name} {value!r}: {' or '.join(allowed)}")
