"""Reading objects in memory: frames of Polars and pandas, Arrow tables, logs of PM4Py."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import polars as pl

from discreet.log.columns import RawTable, by_row
from discreet.log.errors import LogError

_NAME = "the table"


def read_object(data: Any) -> RawTable:
    """A frame, an Arrow table or a log of PM4Py, known by their package without importing it."""
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, pl.DataFrame):
        return RawTable(_NAME, data, by_row)
    kind = type(data)
    match (kind.__module__.partition(".")[0], kind.__name__):
        case ("pandas", "DataFrame"):
            return _from_pandas(data)
        case ("pyarrow", "Table" | "RecordBatch"):
            return RawTable(_NAME, from_arrow(data), by_row)
        case ("pm4py", "EventLog" | "EventStream"):
            return _from_pm4py(data, grouped=kind.__name__ == "EventLog")
    raise LogError(
        f"cannot read a log from {kind.__name__}; give a path, a Polars or pandas frame, an Arrow "
        "table or a log of PM4Py"
    )


def from_arrow(table: Any) -> pl.DataFrame:
    """A table of Arrow as a frame; refused where a type has no counterpart there."""
    for field in table.schema:
        if re.search("interval|union", str(field.type)):
            raise LogError(
                f"the column {field.name!r} holds {field.type}, which cannot be read; convert it "
                "to texts, numbers or times in the source, or leave it out"
            )
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def _from_pandas(frame: Any) -> RawTable:
    try:
        frame = frame.rename(columns=str)
        texts = [name for name, kind in frame.dtypes.items() if str(kind) == "object"]
        table = pl.from_pandas(frame.drop(columns=texts))
        found = (as_texts(name, frame[name], frame[name].isna()) for name in texts)
        table = table.with_columns(found).select(*frame.columns)
    except LogError:
        raise
    except ImportError:
        raise LogError(
            "reading a pandas frame needs pyarrow; install it, or pass a Polars frame"
        ) from None
    except Exception as error:
        raise LogError(f"the pandas frame cannot be converted: {error}") from None
    return RawTable(_NAME, table, by_row)


def _from_pm4py(log: Any, *, grouped: bool) -> RawTable:
    """The events with the attributes of their trace; as in XES, their keys are not public."""
    events = list(log)
    if grouped:
        of_trace = [({f"case:{key}": v for key, v in one.attributes.items()}, one) for one in log]
        events = [{**dict(event), **own} for own, trace in of_trace for event in trace]
    keys = sorted({str(key) for event in events for key in event})
    columns = []
    for key in keys:
        values = [event.get(key) for event in events]
        columns.append(as_texts(key, values, (value is None for value in values)))
    return RawTable("the log", pl.DataFrame(columns), by_row, public_names=False)


def as_texts(name: str, values: Iterable[Any], missing: Iterable[bool]) -> pl.Series:
    """Objects as text, each by itself: a common type would depend on all of them."""
    texts: list[str | None] = []
    for row, (value, lacks) in enumerate(zip(values, missing, strict=True)):
        if not lacks and not isinstance(value, str | int | float | Decimal | date | UUID):
            raise LogError(
                f"{by_row(row)}: the column {name!r} holds a {type(value).__name__}, which is not "
                "a plain value; convert or drop the column"
            )
        texts.append(None if lacks else str(value))
    return pl.Series(name, texts, dtype=pl.String)
