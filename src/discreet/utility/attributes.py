"""How well a release keeps the values of further columns."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.utility.calendar import total_variation

BINS = 20
"""Numbers are compared in this many bins, of equal size in the log."""


def common_columns(log: EventLog, released: EventLog) -> list[str]:
    """Further columns of plain values that both have."""
    return [
        name
        for name in released.table.columns
        if name not in (CASE, ACTIVITY, TIME)
        and name in log.table.columns
        and not log.table[name].dtype.is_nested()
    ]


def value_distance(log: EventLog, released: EventLog, column: str) -> float:
    """Total variation of the values over all events, missing ones included, in [0, 1]."""
    return total_variation(*_codes(log, released, column))


def value_distance_by_activity(log: EventLog, released: EventLog, column: str) -> float:
    """The same for each activity, weighed by its events; an activity that is lost counts 1."""
    own, other = _codes(log, released, column)
    distance = 0.0
    labels = released.frame[ACTIVITY].to_numpy()
    for code, activity in enumerate(log.activities):
        here, there = own[log.codes == code], other[labels == activity]
        distance += len(here) * (total_variation(here, there) if len(there) else 1.0)
    return distance / max(1, log.events)


def _codes(log: EventLog, released: EventLog, column: str) -> tuple[Integers, Integers]:
    """Values as numbers: equal where they are equal, or in the same bin; −1 where missing."""
    own, other = log.frame[column], released.frame[column]
    if own.dtype.is_numeric() and other.dtype.is_numeric():
        given = own.drop_nulls().to_numpy().astype(np.float64)
        edges = np.unique(np.quantile(given, np.linspace(0, 1, BINS + 1))) if len(given) else given
        return _binned(own, edges), _binned(other, edges)
    texts = pl.concat([own.cast(pl.String), other.cast(pl.String)])
    codes = texts.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
    return codes[: len(own)], codes[len(own) :]


def _binned(values: pl.Series, edges: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Integers:
    bins = np.searchsorted(edges, values.fill_null(0).to_numpy(), side="right")
    return np.asarray(np.where(values.is_null().to_numpy(), -1, bins), dtype=np.int64)
