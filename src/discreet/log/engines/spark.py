"""Spark: logs of a cluster, in the session that is there, or one on this machine.

The tables of a log are in a session of their own, apart from those of others.
"""

from __future__ import annotations

import os
import sys
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlparse

import polars as pl

from discreet.log.cases import AMOUNT, KEY, Question, added
from discreet.log.engines.batches import EVENTS, Reader
from discreet.log.engines.capacity import memory_limit
from discreet.log.engines.sources import EventSource, ReadingPlan, heights_of
from discreet.log.engines.sql import FILE_BITS, SqlEngine, quoted
from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError, option
from discreet.log.files import Snapshot, files_of
from discreet.log.formats.parquet import same_schema
from discreet.log.instants import DAY
from discreet.log.reading import Reading
from discreet.log.timestamps import EPOCHS

_KINDS: dict[str, Any] = {
    "string": pl.String,
    "tinyint": pl.Int8,
    "smallint": pl.Int16,
    "int": pl.Int32,
    "bigint": pl.Int64,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "timestamp": pl.Datetime("us", "UTC"),
    "timestamp_ntz": pl.Datetime("us"),
    "float": pl.Float32,
    "double": pl.Float64,
}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FILE, _PLACE = "discreet_file", "discreet_row"
_URI, _NUMBER = "discreet_uri", "discreet_number"
_BY_SORTING = "spark.sql.execution.useObjectHashAggregateExec"
"""Without it lists are collected from sorted rows: a third less work, and it can spill."""


def load() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import pyarrow  # noqa: F401
        from pyspark import sql
    except ImportError:
        raise LogError(
            "the engine spark is not installed: pip install 'discreet[spark]' (it needs Java 17), "
            f"or choose {option('engine', 'duckdb')}"
        ) from None
    return sql


def session(memory: int, **more: str) -> Any:
    """The active session; else a new one on this machine, closed to the outside.

    `more` are further settings of a session that is started, with _ for the dots in their names.
    """
    sql = load()
    found = sql.SparkSession.getActiveSession()
    if found is not None:
        return found
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": f"{memory // 2**20}m",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",  # a fifth less processor time
        "spark.sql.shuffle.partitions": "8",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of questions about cases
    builder = sql.SparkSession.builder.master("local[*]").appName("discreet")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        raise LogError(f"Spark cannot be started ({_said(error)}); it needs Java 17") from None


def counted_by_spark(data: Any, reading: Reading) -> EngineLog:
    """A log whose events, in a data frame or Parquet files, Spark has read, checked and counted."""
    limit = memory_limit(reading.memory)
    if hasattr(data, "sparkSession"):
        source, frame = from_frame(data), data
    else:
        files = files_of(Path(data))
        source, frame = from_files(files, Path(data).name), None
    plan = ReadingPlan.of(source, reading)
    engine = SparkEngine(plan, limit, frame).read()
    return EngineLog(engine, plan.shaped, reading.classifier)


def from_frame(frame: Any) -> EventSource:
    """A data frame of Spark, whose rows have no order."""
    schema = {field.name: _kind(field) for field in frame.schema.fields}
    return EventSource("the data frame", pl.DataFrame(schema=schema), _no_batches, ordered=False)


def _kind(field: Any) -> Any:
    """The type of a field as memory would have it; Object where that has none."""
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    known = _KINDS.get(field.dataType.simpleString())
    try:
        return known or pl.Series(pa.nulls(0, to_arrow_type(field.dataType))).dtype
    except PySparkException:
        return pl.Object


def from_files(files: Sequence[Path], name: str) -> EventSource:
    """Parquet files, which Spark reads itself."""
    if not all(path.name.lower().endswith(".parquet") for path in files):
        raise LogError(
            f"{name} is not Parquet, which is what the engine spark reads; use "
            f"{option('engine', 'duckdb')}"
        )
    snapshot, parquet = Snapshot.of(files), tuple(files)
    schema, heights = same_schema(files), heights_of(files)
    return EventSource(
        name, schema, _no_batches, parquet=parquet, heights=heights, snapshot=snapshot
    )


def _no_batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    raise AssertionError("Spark reads its frames and files itself; no batch is ever asked for")


@dataclass(frozen=True)
class Spread:
    """Cases on the machines of a cluster; questions are sent there, and sums come back."""

    frame: Any
    reader: Reader
    explained: Callable[[], AbstractContextManager[None]]

    @property
    def schema(self) -> pl.DataFrame:
        """The further columns that can be read, without rows."""
        return self.reader.schema

    def total(self, question: Question) -> pl.DataFrame:
        """The answer for all cases, each added up where it is."""
        none = question(self.reader.none())
        kinds = none.to_arrow().schema
        reader = self.reader

        def answered(batches: Iterable[Any]) -> Iterator[Any]:
            for batch in batches:
                yield from question(reader.cases(batch)).to_arrow().cast(kinds).to_batches()

        with self.explained():
            parts = self.frame.mapInArrow(answered, _as_spark(kinds))
            found = parts.groupBy(KEY).agg({AMOUNT: "sum"}).toArrow().rename_columns([KEY, AMOUNT])
        whole = pl.from_arrow(found)
        assert isinstance(whole, pl.DataFrame)
        return added([none, whole.cast(none.schema)])


class Held:
    """Tables that Spark holds for a log, and lets go when the log is no longer used.

    They are checkpoints, not Spark's cache: that finds a table by its plan, in which a file is
    its path, and computes anew what it has lost, from whatever the file is by then. A checkpoint
    is these rows or an error.
    """

    def __init__(self) -> None:
        self._frames: list[Any] = []
        weakref.finalize(self, _let_go, self._frames).atexit = False  # then Spark ends itself

    def keep(self, frame: Any) -> Any:
        """The rows of a frame as they are now."""
        found = frame.localCheckpoint()  # computed now, so that nothing fails later
        self._frames.append(found)
        return found


def _let_go(frames: list[Any]) -> None:
    for frame in frames:
        with suppress(Exception):  # Spark may have ended before, or a server clears up itself
            frame._jdf.queryExecution().analyzed().rdd().unpersist(False)  # noqa: SLF001


def _as_spark(schema: Any) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


class SparkEngine(SqlEngine):
    """Sorts and counts on whatever machines the session has."""

    name: ClassVar[str] = "spark"
    text: ClassVar[str] = "STRING"
    divided: ClassVar[str] = "div"
    room: ClassVar[dict[str, int]] = {"BIGINT": 63}

    def __init__(
        self, plan: ReadingPlan, memory: int, frame: Any = None, partitions: int | None = None
    ) -> None:
        super().__init__(memory, plan)
        self.heights = plan.source.heights
        self._own, self._held = f"discreet_{uuid.uuid4().hex}", Held()
        with self._explained():
            whole = session(memory) if frame is None else frame.sparkSession
            self._session = whole.newSession()
            self._session.conf.set("spark.sql.session.timeZone", "UTC")
            self._session.conf.set(_BY_SORTING, "false")
            if partitions is not None:
                self._session.conf.set("spark.sql.shuffle.partitions", str(partitions))
            if frame is None:
                read = self._session.read.option("discreet", self._own)
                self._frame = read.parquet(*map(str, plan.source.parquet))
            else:
                frame.createGlobalTempView(self._own)
                self._frame = self._session.table(f"global_temp.{self._own}")

    def read(self) -> SparkEngine:
        """Read, check and count the log."""
        with self._explained(), self.snapshot.kept():
            chosen = self._expressions()
            if self.layout.placed:
                self._kept(self._frame).selectExpr(*chosen).createOrReplaceTempView("unplaced")
                self.checked_table = "unplaced"
                chosen.append(f"shiftleft({_FILE}, {FILE_BITS}) + {_PLACE} AS pos")
            events = self._kept(self._numbered()).selectExpr(*chosen)
            if not self.layout.placed:
                events = self._held.keep(events)  # what a frame says twice may differ
                self._session.catalog.dropGlobalTempView(self._own)
            events.createOrReplaceTempView("events")
            self.count(drop_incomplete=self.plan.reading.drop_incomplete)
        return self

    def _expressions(self) -> list[str]:
        """Events but for `pos`; what Spark would read by other rules than memory is refused."""
        plan, kinds = self.plan, dict(self._frame.dtypes)
        label = _as_text(plan.activity, kinds)
        if plan.lifecycle is not None:
            label = f"concat({label}, '+', coalesce({_as_text(plan.lifecycle, kinds)}, ''))"
        parts = {"case_id": _as_text(plan.case, kinds), "label": label}
        if plan.time is not None:
            parts["ts"] = _as_instant(plan.time, kinds, plan.reading)
        if plan.reading.individual is not None:
            parts["person"] = _as_text(plan.reading.individual, kinds)
        for i, column in enumerate(plan.reading.tie_break):
            if column in plan.reading.kinds:
                raise _unclear(column, "a declared type")
            parts[f"tie_{i}"] = quoted(column, "`")
        parts |= {f"more_{i}": quoted(column, "`") for i, column in enumerate(plan.further)}
        return [f"{expression} AS {name}" for name, expression in parts.items()]

    def _kept(self, rows: Any) -> Any:
        """The rows of the transitions that are kept, and those that carry none."""
        column, kinds = self.plan.transition, dict(self._frame.dtypes)
        if column is None:
            return rows
        from pyspark.sql.functions import expr

        said = expr(_as_text(column, kinds))
        return rows.where(said.isNull() | said.isin(*self.plan.reading.transitions))

    def _numbered(self) -> Any:
        """The rows with the number of their file and their place in it, where there are files."""
        if not self.layout.placed:
            return self._frame
        files = [str(path.resolve()) for path in self.plan.source.parquet]
        place = f"_metadata.row_index AS {_PLACE}"
        if len(files) == 1:
            return self._frame.selectExpr("*", place, f"0L AS {_FILE}")
        numbers = {
            f"file:{urlparse(uri).path}": files.index(_path_of(uri))
            for uri in self._frame.inputFiles()
        }
        known = pl.DataFrame({_URI: list(numbers), _NUMBER: list(numbers.values())})
        self._register("files", known)
        rows = self._frame.selectExpr("*", place, f"_metadata.file_path AS {_URI}")
        found = rows.join(self._session.table("files").hint("broadcast"), _URI, "left")
        unknown = "CAST(raise_error('a file that was not there before') AS BIGINT)"
        return found.selectExpr("*", f"coalesce({_NUMBER}, {unknown}) AS {_FILE}")

    def _query(self, sql: str) -> pl.DataFrame:
        with self._explained():
            found = pl.from_arrow(self._session.sql(sql).toArrow())
        assert isinstance(found, pl.DataFrame)
        return found

    def _keep(self, name: str, sql: str, **values: str) -> int:
        with self._explained():
            found = self._held.keep(self._session.sql(sql, args=values or None))
            found.createOrReplaceTempView(name)
            return int(found.count())

    def _view(self, name: str, sql: str) -> None:
        self._session.sql(sql).createOrReplaceTempView(name)

    def _register(self, name: str, rows: pl.DataFrame) -> None:
        self._session.createDataFrame(rows.to_arrow()).createOrReplaceTempView(name)

    def _ordered(self, value: str, keys: Sequence[str]) -> str:
        fields = ", ".join(f"{key} AS key_{i}" for i, key in enumerate(keys))
        return f"transform(sort_array(collect_list(struct({fields}, {value} AS v))), x -> x.v)"

    def _sorted(self, number: str, taken: str = "x") -> str:
        return f"transform(sort_array(collect_list({number})), x -> {taken})"

    def _size(self, values: str) -> str:
        return f"size({values})"

    def _hashed(self, name: str, text: str) -> str:
        return f"sha2(concat(:{name}, {text}), 256)"

    def _number(self, digits: str) -> str:
        return f"CAST(conv({digits}, 16, 10) AS DECIMAL(10, 0))"

    def _steps(self, mark: int) -> str:
        step = (
            f"named_struct('source', coalesce(get(seq, i - 1), {mark}), "
            f"'target', coalesce(get(seq, i), {mark}))"
        )
        return (
            "SELECT step.source AS source, step.target AS target, cases FROM (SELECT "
            f"explode(transform(sequence(0, size(seq)), i -> {step})) AS step, cases "
            f"FROM {self.variants_table}) AS exploded"
        )

    def _summing(self, reader: Reader, events: str, keys: Sequence[str]) -> Spread:
        whole = self._ordered(f"struct({', '.join(reader.fields)})", keys)
        name = f"courses_{next(self._copies)}"
        self._keep(name, f"SELECT {whole} AS {EVENTS} FROM ({events}) GROUP BY case_id")
        return Spread(self._session.table(name), reader, self._explained)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of Spark into LogErrors."""
        try:
            yield
        except LogError:
            raise
        except Exception as error:
            raise LogError(f"Spark cannot read it: {_said(error)}") from None


def _said(error: Exception) -> str:
    """What went wrong, in a line; in full where a question on another machine said it."""
    for known in ("LogError: ", "ModuleNotFoundError: "):
        if known in str(error):
            return str(error).rpartition(known)[2].strip().partition("\n")[0]
    return str(error).strip().partition("\n")[0][:300] or type(error).__name__


def _path_of(uri: str) -> str:
    return unquote(urlparse(uri).path)


def _unclear(column: str, kind: str) -> LogError:
    return LogError(
        f"the column {column!r} holds {kind}, which the engine spark does not read by the rules of "
        "the others; convert it in Spark first: activities, cases and individuals to strings or "
        "whole numbers, times to timestamps"
    )


def _as_text(column: str, kinds: dict[str, str]) -> str:
    if kinds[column] not in ("string", "boolean", "date", *_INTEGERS):
        raise _unclear(column, kinds[column])
    return f"CAST({quoted(column, '`')} AS STRING)"


def _as_instant(column: str, kinds: dict[str, str], reading: Reading) -> str:
    """Microseconds since 1970."""
    kind, name = kinds[column], quoted(column, "`")
    form = reading.timestamp_format
    if form in EPOCHS and kind in _INTEGERS:
        return f"CAST({name} AS BIGINT) * {EPOCHS[form]}"
    if form is None and kind == "timestamp":
        return f"unix_micros({name})"
    if form is None and reading.zone == "UTC" and kind == "timestamp_ntz":
        return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {name})"
    if form is None and reading.zone == "UTC" and kind == "date":
        return f"unix_date({name}) * {DAY}L"
    raise _unclear(column, f"{kind} as times of {reading.zone}")
