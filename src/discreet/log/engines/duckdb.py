"""DuckDB: logs larger than memory, on one machine.

It reads and counts logs, and writes tables of variants out as logs. What does not fit into memory
goes to a folder that is its owner's alone and gone afterwards.
"""

from __future__ import annotations

import contextlib
import glob
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np
import polars as pl

from discreet.log.engines.batches import AT_ONCE, Reader, Stored
from discreet.log.engines.capacity import in_words, memory_limit
from discreet.log.engines.sources import ReadingPlan, finer_than_microseconds
from discreet.log.engines.sql import FILE_BITS, SqlEngine, literal, quoted
from discreet.log.errors import LogError, option
from discreet.log.events import ACTIVITY, CASE, TIME
from discreet.log.expansion import numbered
from discreet.log.files import Snapshot, replacing
from discreet.log.formats.parquet import parquet_metadata
from discreet.log.instants import SECOND
from discreet.log.log_attributes import as_attributes
from discreet.log.timestamps import Clocks
from discreet.log.variants import Variants
from discreet.log.writing import write_log

if TYPE_CHECKING:
    import duckdb

_INTEGERS = frozenset(
    f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
)
_TIMES = frozenset(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "DATE"))
_ZONED = "TIMESTAMP WITH TIME ZONE"
_OWN_NAMES = frozenset(("file_row_number", "file_index", "filename"))

TABLES = (".parquet", ".csv")
"""Endings of the files that DuckDB writes; all others are written from memory."""

_EVENTS = f"""
SELECT CAST(number AS VARCHAR) AS {quoted(CASE)}, unnest(variant) AS {quoted(ACTIVITY)},
       unnest(times) AS {quoted(TIME)}
FROM (SELECT unnest(range(first, first + cases)) AS number, variant,
             [{{}} FOR i IN range(len(variant))] AS times FROM variants)
"""

PREFIX = "discreet-engine-"
_LOCK = ".lock"


def load() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError:
        raise LogError(
            "the engine duckdb is not installed: pip install 'discreet[duckdb]', or choose "
            f"{option('engine', 'memory')}"
        ) from None
    return duckdb


def connect(memory: int, scratch: Scratch, threads: int | None = None) -> Any:
    """A database of its own in memory; what does not fit goes to the temporary folder."""
    settings = {
        "memory_limit": f"{memory}B",
        "temp_directory": str(scratch.path),
        "preserve_insertion_order": False,  # positions are kept as numbers
        "autoinstall_known_extensions": False,  # nothing is fetched from anywhere
        "autoload_known_extensions": False,
    }
    if threads is not None:
        settings["threads"] = threads
    return load().connect(":memory:", config=settings)


@contextmanager
def explained(memory: int, scratch: Scratch, doing: str = "read") -> Iterator[None]:
    """Turn errors of DuckDB into LogErrors that say what would help."""
    duckdb = load()
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise LogError(
            f"{in_words(memory)} of memory were not enough, or the temporary folder "
            f"{scratch.path.parent} is full ({_first_line(error)}); give more with "
            f"{option('memory', '8GB')}, or another folder in TMPDIR"
        ) from None
    except duckdb.Error as error:
        raise LogError(f"it cannot be {doing}: {_first_line(error)}") from None


class DuckDBEngine(SqlEngine):
    """Sorts and counts within a memory limit; what does not fit goes to a temporary folder."""

    name: ClassVar[str] = "duckdb"
    text: ClassVar[str] = "VARCHAR"
    divided: ClassVar[str] = "//"
    room: ClassVar[dict[str, int]] = {"BIGINT": 63, "HUGEINT": 127}

    def __init__(self, plan: ReadingPlan, memory: int, threads: int | None = None) -> None:
        super().__init__(memory, plan)
        self._scratch = Scratch()
        self._staged = True
        self._connection: duckdb.DuckDBPyConnection = connect(memory, self._scratch, threads)

    def read(self) -> DuckDBEngine:
        """Read, check and count the log."""
        with self._explained(), self.snapshot.kept():
            native = self._native()
            if native is None:
                self._stage()
            else:
                self._staged, self.heights = False, self.plan.source.heights
                self._connection.execute(f"CREATE VIEW events AS {native}")
                self._check_fine()
            self.count(drop_incomplete=self.plan.reading.drop_incomplete)
        if self._staged:
            self.snapshot = Snapshot()  # what was copied is all that is read from now on
        return self

    def _native(self) -> str | None:
        """A query of the events where the types of the columns leave no question how to read."""
        source, reading = self.plan.source, self.plan.reading
        files = [str(path) for path in source.parquet]
        if not files or any(map(glob.has_magic, files)):
            return None
        scan = f"read_parquet([{', '.join(map(literal, files))}], hive_partitioning = false)"
        relation = self._connection.sql(f"SELECT * FROM {scan}")
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        if list(kinds) != source.schema.columns or _OWN_NAMES & {k.lower() for k in kinds}:
            return None
        if any(map(_overflows, map(source.schema.schema.__getitem__, self.plan.further))):
            return None
        parts = {
            "case_id": _as_key(self.plan.case, kinds),
            "label": _as_text(self.plan.activity, kinds),
        }
        if self.plan.lifecycle is not None and parts["label"] is not None:
            joined = _as_text(self.plan.lifecycle, kinds)
            parts["label"] = joined and f"{parts['label']} || '+' || coalesce({joined}, '')"
        if self.plan.time is not None:
            utc = reading.zone == "UTC" and reading.timestamp_format is None
            parts["ts"] = _as_instant(self.plan.time, kinds, utc=utc)
        if reading.individual is not None:
            parts["person"] = _as_text(reading.individual, kinds)
        for i, column in enumerate(reading.tie_break):
            declared = column in reading.kinds
            parts[f"tie_{i}"] = None if declared else _as_order(column, kinds)
        staged = self.plan.transition and _as_text(self.plan.transition, kinds)
        if None in parts.values() or (self.plan.transition and staged is None):
            return None
        parts |= {f"more_{i}": quoted(column) for i, column in enumerate(self.plan.further)}
        parts["pos"] = f"(CAST(file_index AS BIGINT) << {FILE_BITS}) + file_row_number"
        chosen = ", ".join(f"{expression} AS {name}" for name, expression in parts.items())
        kept = ", ".join(map(literal, reading.transitions))
        where = f" WHERE {staged} IS NULL OR {staged} IN ({kept})" if staged else ""
        return f"SELECT {chosen} FROM {scan}{where}"

    def _stage(self) -> None:
        """Copy the events that are needed, batch by batch, read by the rules of memory."""
        self._connection.execute(f"CREATE TABLE events ({self._columns()})")
        for frame in self.plan.frames(self._note):
            self._connection.register("batch", frame.to_arrow())
            self._connection.execute("INSERT INTO events BY NAME SELECT * FROM batch")
            self._connection.unregister("batch")

    def _note(self, clocks: Clocks) -> None:
        self.clocks += clocks
        if self.plan.reading.timezone is None:
            self.clocks.check("an event")

    def _columns(self) -> str:
        """The columns of the staged events with their types."""
        layout, shaped = self.plan.layout, self.plan.shaped
        kinds = {"case_id": "VARCHAR", "label": "VARCHAR"}
        kinds |= {"ts": "BIGINT"} if layout.timed else {}
        kinds |= {"person": "VARCHAR"} if layout.people else {}
        for i, name in enumerate(shaped.tie_break):
            kind = shaped.table[name].dtype
            kinds[f"tie_{i}"] = "VARCHAR" if kind == pl.String else "HUGEINT"
            if kind.is_temporal():
                kinds[f"tie_{i}"] = "TIMESTAMP"
        for i, name in enumerate(self.plan.further):
            kinds[f"more_{i}"] = _stored(self.plan.source.schema.schema[name])
        kinds |= {"pos": "BIGINT"} if layout.placed else {}
        return ", ".join(f"{name} {kind}" for name, kind in kinds.items())

    def _check_fine(self) -> None:
        column = self.plan.time
        kind = None if column is None else self.plan.source.schema.schema[column]
        if column is None or not (isinstance(kind, pl.Datetime) and kind.time_unit == "ns"):
            return
        files = ", ".join(literal(path) for path in self.plan.source.parquet)
        found = self._query(
            f"SELECT count(*) AS n FROM read_parquet([{files}]) "
            f"WHERE epoch_ns(CAST({quoted(column)} AS TIMESTAMP_NS)) % 1000 <> 0"
        )
        if found["n"][0]:
            raise finer_than_microseconds("an event")

    def _query(self, sql: str) -> pl.DataFrame:
        with self._explained():
            found = pl.from_arrow(self._connection.sql(sql).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return found

    def _keep(self, name: str, sql: str, **values: str) -> int:
        made = f"CREATE OR REPLACE TABLE {name} AS {sql}"
        with self._explained():
            return int(self._connection.execute(made, values or None).fetchall()[0][0])

    def _view(self, name: str, sql: str) -> None:
        self._connection.execute(f"CREATE VIEW {name} AS {sql}")

    def _register(self, name: str, rows: pl.DataFrame) -> None:
        self._connection.register("batch", rows.to_arrow())
        self._keep(name, "SELECT * FROM batch")
        self._connection.unregister("batch")

    def _where(self, position: int) -> str:
        return self.plan.source.place(position) if self._staged else super()._where(position)

    def _ordered(self, value: str, keys: Sequence[str]) -> str:
        return f"list({value} ORDER BY {', '.join(keys)})"

    def _sorted(self, number: str, taken: str = "x") -> str:
        return f"list_transform(list_sort(list({number})), lambda x: {taken})"

    def _size(self, values: str) -> str:
        return f"len({values})"

    def _hashed(self, name: str, text: str) -> str:
        return f"sha256(concat(${name}, {text}))"

    def _number(self, digits: str) -> str:
        return f"CAST(concat('0x', {digits}) AS BIGINT)"  # the sum is a HUGEINT

    def _steps(self, mark: int) -> str:
        return (
            f"SELECT unnest(list_prepend({mark}, seq)) AS source, "
            f"unnest(list_append(seq, {mark})) AS target, cases FROM {self.variants_table}"
        )

    def _summing(self, reader: Reader, events: str, keys: Sequence[str]) -> Stored:
        path = self._scratch.path / f"cases-{next(self._copies)}.arrow"
        chosen, order = ", ".join(("case_id", *reader.fields)), ", ".join(("case_id", *keys))
        with self._explained():
            rows = self._connection.sql(f"SELECT {chosen} FROM ({events}) ORDER BY {order}")
            frames = (pl.DataFrame(batch) for batch in rows.to_arrow_reader(AT_ONCE))
            try:
                stored = Stored.write(path, frames, reader, self.memory // 2)
            except OSError as error:
                raise LogError(
                    f"the cases cannot be written to the temporary folder {path.parent.parent} "
                    f"({_first_line(error)}); name another in TMPDIR"
                ) from None
            self._connection.execute(f"SET memory_limit = '{self.memory}B'")  # frees what it holds
        return stored

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.memory, self._scratch)


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


class Scratch:
    """A folder that lives as long as this object. What a killed process left goes first.

    Its owner holds a lock, which the system releases when the process ends, however it ends; so a
    folder whose lock is free belongs to nobody.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        sweep(parent)
        try:
            while True:
                self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))  # this user's alone
                lock = (self.path / _LOCK).open("wb")
                if _hold(lock) is not False and (self.path / _LOCK).exists():
                    break
                lock.close()  # another process swept the folder away before the lock was there
        except OSError as error:
            raise LogError(
                f"no temporary folder can be made in {parent}: {error.strerror}; name another "
                "place in the environment variable TMPDIR"
            ) from None
        self.close = weakref.finalize(self, _remove, self.path, lock)


def sweep(parent: Path) -> None:
    """Remove the folders of processes that are gone."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("rb+") as lock:
            if _hold(lock):
                shutil.rmtree(folder, ignore_errors=True)


def _hold(file: BinaryIO) -> bool | None:
    """Whether the file could be locked; None where the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(folder: Path, lock: BinaryIO) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def _stored(kind: pl.DataType) -> str:
    """The type of a staged column that has no role."""
    if kind.is_integer():
        return "HUGEINT" if kind == pl.UInt64 else "BIGINT"
    if kind.is_float():
        return "DOUBLE"
    if isinstance(kind, pl.Datetime):
        return _ZONED if kind.time_zone else "TIMESTAMP"
    return {pl.Boolean: "BOOLEAN", pl.Date: "DATE"}.get(type(kind), "VARCHAR")


def _overflows(kind: pl.DataType) -> bool:
    """Whether DuckDB fails on some values of a type that a file may have."""
    return isinstance(kind, pl.Datetime) and kind.time_unit == "ms"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _as_key(column: str, kinds: dict[str, str]) -> str | None:
    known = kinds[column] == "VARCHAR" or kinds[column] in _INTEGERS
    return quoted(column) if known else None


def _as_text(column: str, kinds: dict[str, str]) -> str | None:
    if kinds[column] in _INTEGERS:
        return f"CAST({quoted(column)} AS VARCHAR)"
    return quoted(column) if kinds[column] == "VARCHAR" else None


def _as_order(column: str, kinds: dict[str, str]) -> str | None:
    plain = _INTEGERS | _TIMES | {"VARCHAR", _ZONED}
    return quoted(column) if kinds[column] in plain else None


def _as_instant(column: str, kinds: dict[str, str], *, utc: bool) -> str | None:
    """Microseconds since 1970; local times of other zones are read by the rules of memory."""
    kind, name = kinds[column], quoted(column)
    if kind == _ZONED:
        return f"epoch_us({name})"
    if kind not in _TIMES or not utc:
        return None
    if kind == "TIMESTAMP_NS":
        return f"epoch_ns({name}) // 1000"
    return f"epoch_us(CAST({name} AS TIMESTAMP))"
