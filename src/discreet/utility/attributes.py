"""How well a release keeps the values of further columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from discreet.arrays import Integers, Ints
from discreet.log.datatypes import plain, text_of
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.utility.calendar import total_variation

# Tuned
BINS = 20
"""Number of bins in which numbers are compared, each with as many values of the log."""


def common_columns(log: EventLog, released: EventLog) -> list[str]:
    """Names of the further columns of plain values that both logs have."""
    return [
        name
        for name in released.table.columns
        if name not in (CASE, ACTIVITY, TIME)
        and name in log.table.columns
        and plain(log.table[name].dtype)
    ]


def value_distance(log: EventLog, released: EventLog, column: str) -> float:
    """Total variation of the values over all events, missing ones included, in [0, 1]."""
    return total_variation(*_codes(log, released, column))


def value_distance_by_activity(log: EventLog, released: EventLog, column: str) -> float:
    """Total variation of the values within each activity, weighted by its events, in [0, 1]; an
    activity that is lost counts 1."""
    return _by_label(log, released, column, log.codes, released.codes)


def value_distance_by_outcome(log: EventLog, released: EventLog, column: str) -> float:
    """Total variation of the values within the cases that end with the same activity, weighted by
    their events, in [0, 1]; an ending that is lost counts 1."""
    return _by_label(log, released, column, _outcomes(log), _outcomes(released))


def _outcomes(log: EventLog) -> Integers:
    """The last activity of its case, for each event."""
    last = log.codes[log.offsets[1:] - 1].astype(np.int64)
    return np.repeat(last, np.diff(log.offsets))


def _by_label(log: EventLog, released: EventLog, column: str, labels: Ints, others: Ints) -> float:
    own, other = _codes(log, released, column)
    number = {activity: i for i, activity in enumerate(released.activities)}
    distance = 0.0
    for code, activity in enumerate(log.activities):
        here, there = own[labels == code], other[others == number.get(activity, -1)]
        distance += len(here) * (total_variation(here, there) if len(there) else 1.0)
    return distance / max(1, log.events)


def alike(own: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Both as numbers if the log's are (a release may be read without types), else as texts."""
    if own.dtype.is_numeric():
        return own, other.cast(pl.Float64, strict=False)
    return text_of(own), text_of(other)


def _codes(log: EventLog, released: EventLog, column: str) -> tuple[Integers, Integers]:
    """Codes of the values: equal if the values are equal or in the same bin; −1 if missing."""
    own, other = alike(log.frame[column], released.frame[column])
    if own.dtype.is_numeric():
        given = own.drop_nulls().to_numpy().astype(np.float64)
        edges = np.unique(np.quantile(given, np.linspace(0, 1, BINS + 1))) if len(given) else given
        return _binned(own, edges), _binned(other, edges)
    texts = pl.concat([own, other])
    codes = texts.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    return codes[: len(own)], codes[len(own) :]


def _binned(values: pl.Series, edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Integers:
    bins = np.searchsorted(edges, values.fill_null(0).to_numpy(), side="right")
    return np.asarray(np.where(values.is_null().to_numpy(), -1, bins), dtype=np.int64)


Measure = Callable[[EventLog, EventLog, str], float]
MEASURES: dict[str, tuple[Measure, str]] = {
    "values": (value_distance, "total variation of its values"),
    "values_by_activity": (value_distance_by_activity, "the same, activity by activity"),
    "values_by_outcome": (value_distance_by_outcome, "the same, by the last activity of the case"),
}
"""The measures of a column by name, each a function of log and release with a description."""
