"""A column of which some value cannot be read is refused by its type, whatever its values are."""

from __future__ import annotations

import datetime as dt
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.log.datatypes import check_plain, plain, text_of
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism

ENGINES = ["memory", *(["duckdb"] if importlib.util.find_spec("duckdb") else [])]

NOT_PLAIN: Mapping[str, pl.Series] = {
    "Binary": pl.Series([b"text"]),
    "Duration": pl.Series([dt.timedelta(minutes=1)]),
    "List": pl.Series([["a"]]),
    "Array": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
    "Struct": pl.Series([{"a": 1}]),
}
"""A value of each type that any reader would take."""

ROLES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "case": ("the case", {"case": "odd"}),
    "activity": ("the activity", {"activity": "odd"}),
    "timestamp": ("the timestamp", {"timestamp": "odd"}),
    "epoch": ("the timestamp", {"timestamp": "odd", "timestamp_format": "seconds"}),
    "individual": ("the individual", {"individual": "odd"}),
    "tie_break": ("the order of events", {"tie_break": "odd"}),
    "types": ("an attribute", {"types": {"odd": "text"}}),
    "case_attributes": ("an attribute of a case", {"case_attributes": "odd"}),
}


def with_odd(values: pl.Series) -> pl.DataFrame:
    """A log with a column of these values, one after another."""
    table = sample_log("permits", cases=12, seed=2).table
    rows = np.arange(table.height) % len(values)
    return table.with_columns(values.gather(rows).alias("odd"))


def released(log: EventLog, **asked: str) -> bool:
    """Whether a release has the column and some events; noise hardly matters here."""
    chosen = mechanism("whole", epsilon=10_000, variants="travas", **asked)
    chosen.check(log)
    found = chosen.release(log).log()
    return found.events > 0 and "odd" in found.table.columns


def as_frame(table: pl.DataFrame, folder: Path) -> Any:
    return table


def as_parquet(table: pl.DataFrame, folder: Path) -> Any:
    table.write_parquet(folder / "log.parquet")
    return folder / "log.parquet"


def as_arrow(table: pl.DataFrame, folder: Path) -> Any:
    return table.to_arrow()


def as_pandas(table: pl.DataFrame, folder: Path) -> Any:
    import pandas as pd

    return table.to_pandas(types_mapper=pd.ArrowDtype)


FORMS = [as_frame, as_parquet, as_arrow, as_pandas]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", NOT_PLAIN)
def test_an_attribute_is_refused_by_its_type_alone(
    kind: str, form: Callable[[pl.DataFrame, Path], Any], engine: Any, tmp_path: Path
) -> None:
    data = form(with_odd(NOT_PLAIN[kind]), tmp_path)
    log = read_log(data, engine=engine)
    chosen = mechanism("whole", epsilon=5, variants="travas", attributes="odd")
    with pytest.raises(LogError, match=f"'odd' holds {kind}.*cannot be an attribute.*convert it"):
        chosen.check(log)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", NOT_PLAIN)
def test_a_beginning_is_refused_by_its_type_alone(kind: str, engine: Any) -> None:
    log = read_log(with_odd(NOT_PLAIN[kind]), engine=engine)
    chosen = mechanism("whole", epsilon=5, variants="travas", begun="odd")
    with pytest.raises(LogError, match=f"'odd' holds {kind}.*cannot be a beginning.*convert it"):
        chosen.check(log)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", NOT_PLAIN)
def test_a_role_is_refused_by_the_type_alone(
    kind: str, role: str, form: Callable[[pl.DataFrame, Path], Any], engine: Any, tmp_path: Path
) -> None:
    word, options = ROLES[role]
    data = form(with_odd(NOT_PLAIN[kind]), tmp_path)
    with pytest.raises(LogError, match=f"'odd' holds {kind}.*cannot be {word}.*convert it"):
        read_log(data, engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", NOT_PLAIN)
def test_a_column_that_nobody_asks_for_may_hold_anything(
    kind: str, form: Callable[[pl.DataFrame, Path], Any], engine: Any, tmp_path: Path
) -> None:
    values = pl.Series([b"\xff"]) if kind == "Binary" else NOT_PLAIN[kind]
    log = read_log(form(with_odd(values), tmp_path), engine=engine)
    found = mechanism("whole", epsilon=5, variants="travas", attributes="org:resource").release(log)
    assert "odd" not in found.log().table.columns


def test_objects_in_a_frame_are_refused_by_their_type() -> None:
    table = sample_log("permits", cases=12, seed=2).table
    odd = pl.Series("odd", [object()] * table.height, dtype=pl.Object)
    log = read_log(table.with_columns(odd))
    with pytest.raises(LogError, match=r"'odd' holds Object.*cannot be an attribute"):
        mechanism("whole", epsilon=5, variants="travas", attributes="odd").check(log)
    with pytest.raises(LogError, match=r"'odd' holds Object.*cannot be the individual"):
        read_log(table.with_columns(odd), individual="odd")


WITHIN = dt.datetime(2020, 1, 1, 12, 30)

TIMES: dict[str, tuple[Any, Any, int]] = {
    "microseconds": (pl.Datetime("us"), pl.Int64, 2**63 - 1),
    "milliseconds": (pl.Datetime("ms"), pl.Int64, 2**63 - 1),
    "milliseconds with a zone": (pl.Datetime("ms", "Europe/Amsterdam"), pl.Int64, 2**63 - 1),
    "nanoseconds": (pl.Datetime("ns", "UTC"), pl.Int64, 2**63 - 1),
    "dates": (pl.Date, pl.Int32, 2**31 - 1),
}
"""Types of times, what they are stored as, and how far that goes."""


def far(kind: str) -> pl.Series:
    """An ordinary value and the two that are furthest away, which no calendar has."""
    stamp, stored, most = TIMES[kind]
    ordinary = pl.Series([WITHIN]).cast(stamp).to_physical()
    return pl.concat([ordinary, pl.Series([most, -most - 1], dtype=stored)]).cast(stamp)


LATE = [
    (parameter, kind, engine)
    for parameter in ("attributes", "begun")
    for kind in TIMES
    for engine in ENGINES
    if (parameter, kind) != ("begun", "dates")  # a beginning is a time
    and (engine, kind) != ("duckdb", "nanoseconds")  # engines leave these out, by their type
]


@pytest.mark.parametrize(("parameter", "kind", "engine"), LATE)
def test_times_that_no_calendar_has_do_not_stop_a_release(
    parameter: str, kind: str, engine: Any, tmp_path: Path
) -> None:
    log = read_log(as_parquet(with_odd(far(kind)), tmp_path), engine=engine)
    assert released(log, **{parameter: "odd"})


@pytest.mark.parametrize("kind", [kind for kind in TIMES if kind != "nanoseconds"])
def test_a_time_that_no_calendar_has_is_named(kind: str) -> None:
    with pytest.raises(LogError, match=r"row 2: .*outside the years 1 to 9999"):
        read_log(with_odd(far(kind)), timestamp="odd")
    with pytest.raises(LogError, match=r"row 2: .*outside the years 1 to 9999.*'odd'"):
        read_log(with_odd(far(kind)), types={"odd": "date"})
    with pytest.raises(LogError, match="row 2 has no individual"):
        read_log(with_odd(far(kind)), individual="odd")


EDGES = [
    pl.Series([-(2**63), 2**63 - 1], dtype=pl.Int64),
    pl.Series([0, 2**64 - 1], dtype=pl.UInt64),
    pl.Series([-(2**127), 2**127 - 1], dtype=pl.Int128),
    pl.Series([1e308, float("nan"), float("inf")], dtype=pl.Float64),
    pl.Series([1e38, float("nan"), float("-inf")], dtype=pl.Float32),
    pl.Series(["9" * 36 + ".99"]).cast(pl.Decimal(38, 2)),
    pl.Series([True, None]),
    pl.Series([dt.time(23, 59, 59, 999_999)]),
    pl.Series(["\0", "\U0010ffff", ""]),
    pl.Series(["a"], dtype=pl.Enum(["a"])),
    pl.Series(["a"], dtype=pl.Categorical),
    pl.Series([None], dtype=pl.Null),
]


@pytest.mark.parametrize("values", EDGES, ids=lambda values: str(values.dtype))
def test_every_value_of_a_plain_type_is_read(values: pl.Series) -> None:
    log = read_log(with_odd(values))
    kind = log.table["odd"].dtype
    for typed in ("odd", "odd:number") if kind.is_numeric() else ("odd",):
        assert released(log, attributes=typed)


def test_what_is_plain() -> None:
    log = sample_log("permits", cases=5, seed=2)
    assert isinstance(log, EventLog)
    for name, kind in log.table.schema.items():
        assert plain(kind)
        check_plain(name, kind, "an attribute")
    assert text_of(far("dates")).to_list() == ["2020-01-01", None, None]
