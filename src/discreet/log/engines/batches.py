"""Whole cases as rows of Arrow tables, so that questions about cases run wherever these are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.cases import Cases, Question, added
from discreet.log.columns import RawTable
from discreet.log.engines.sources import ReadingPlan
from discreet.log.reading import Reading

if TYPE_CHECKING:
    import pyarrow as pa

EVENTS = "events"
"""The column with the list of events of each case: code, ts and further columns."""

# Tuned
AT_ONCE = 1 << 18
"""Events read at a time: a batch has about as many, or one case that has more."""

KEPT_BYTES = 400
"""Bytes of an event in memory while questions are asked; small logs stay there in between."""


@dataclass(frozen=True)
class Reader:
    """Reads cases from rows of Arrow; it may be sent to other machines."""

    activities: tuple[str, ...]
    reading: Reading
    further: dict[str, tuple[str, str, pl.DataType]]
    """For each further column by its name here: the field, its name in the source, and its type."""

    @classmethod
    def of(cls, plan: ReadingPlan, activities: tuple[str, ...], columns: Collection[str]) -> Reader:
        """A reader of some of the further columns of a plan, given by their names here."""
        kinds = plan.source.schema.schema
        further = {
            plan.shaped.further[column]: (f"more_{i}", column, kinds[column])
            for i, column in enumerate(plan.further)
            if plan.shaped.further[column] in columns
        }
        return cls(activities, plan.reading, further)

    @property
    def fields(self) -> list[str]:
        """The fields that are kept of an event."""
        return ["code", "ts", *(field for field, _, _ in self.further.values())]

    @property
    def schema(self) -> pl.DataFrame:
        """The further columns, without rows."""
        empty = {name: pl.Series([], dtype=kind) for name, (_, _, kind) in self.further.items()}
        return pl.DataFrame([self._read(name, values) for name, values in empty.items()])

    def cases(self, batch: pa.RecordBatch) -> Cases:
        """The cases of a batch."""
        import pyarrow as pa

        lists = batch.column(EVENTS)
        begin = lists.offsets.to_numpy().astype(np.int64)
        events = lists.flatten()
        assert isinstance(events, pa.StructArray)
        return Cases(
            self.activities,
            events.field("code").to_numpy(zero_copy_only=False).astype(np.int64),
            begin - begin[0],
            events.field("ts").to_numpy(zero_copy_only=False).astype(np.int64),
            lambda name: self._column(name, events),
        )

    def none(self) -> Cases:
        """No cases."""
        empty = np.zeros(0, dtype=np.int64)
        schema = self.schema
        return Cases(self.activities, empty, np.zeros(1, np.int64), empty, schema.get_column)

    def _column(self, name: str, events: Any) -> pl.Series:
        field, _, kind = self.further[name]
        found = pl.from_arrow(events.field(field))
        assert isinstance(found, pl.Series)
        return self._read(name, found.cast(kind))

    def _read(self, name: str, values: pl.Series) -> pl.Series:
        """A column as memory reads it, from values as they stand in the source."""
        column = self.further[name][1]
        raw = RawTable("the log", values.alias(column).to_frame(), lambda row: "an event")
        return self.reading.further_column(raw, column, self.reading.kinds.get(column)).alias(name)


def case_by_case(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Rows that stand case by case, cut where a case ends."""
    waiting: list[pl.DataFrame] = []
    for frame in filter(len, frames):
        last = frame["case_id"][-1]
        begin = frame.height - int((frame["case_id"] == last).sum())
        if begin or (waiting and waiting[-1]["case_id"][-1] != last):
            yield pl.concat([*waiting, frame[:begin]])
            waiting = []
        waiting.append(frame[begin:])
    if waiting:
        yield pl.concat(waiting)


def as_rows(frame: pl.DataFrame) -> pa.RecordBatch:
    """Rows that stand case by case as one row for each case."""
    import pyarrow as pa

    case = frame["case_id"]
    first = (case != case.shift()).fill_null(value=True).arg_true().to_numpy()
    events = frame.drop("case_id").rechunk().to_arrow().to_struct_array().combine_chunks()
    offsets = pa.array(np.append(first, frame.height), pa.int32())
    return pa.record_batch({EVENTS: pa.ListArray.from_arrays(offsets, events)})


def flat(lists: pl.Series) -> tuple[Integers, Integers]:
    """Lists one after another, and where each begins."""
    lengths = lists.list.len().to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    values = lists.explode().drop_nulls().to_numpy() if len(lists) else np.zeros(0)
    return np.asarray(values), offsets


@dataclass(frozen=True)
class Stored:
    """Cases in a file of this machine."""

    path: Path
    reader: Reader
    few: bool
    """Whether all cases may be in memory while questions are asked."""

    @classmethod
    def write(cls, path: Path, frames: Iterable[pl.DataFrame], reader: Reader, room: int) -> Stored:
        """Store rows that stand case by case; `room` are the bytes that cases may take."""
        import pyarrow as pa

        events, writer = 0, None
        with pa.OSFile(str(path), "wb") as file:
            for frame in case_by_case(frames):
                rows = as_rows(frame)
                writer = writer or pa.ipc.new_file(file, rows.schema)
                writer.write_batch(rows)
                events += frame.height
            if writer is not None:
                writer.close()
        return cls(path, reader, events * KEPT_BYTES <= room)

    @property
    def schema(self) -> pl.DataFrame:
        """The columns that there are, without rows."""
        return self.reader.schema

    def total(self, question: Question) -> pl.DataFrame:
        """The answer for all cases, batch after batch."""
        return added(map(question, self._all if self.few else self._batches()))

    @cached_property
    def _all(self) -> list[Cases]:
        return list(self._batches())

    def _batches(self) -> Iterator[Cases]:
        import pyarrow as pa

        with pa.memory_map(str(self.path)) as source, pa.ipc.open_file(source) as file:
            for number in range(file.num_record_batches):
                yield self.reader.cases(file.get_batch(number))
