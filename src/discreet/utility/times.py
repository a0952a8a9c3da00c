"""Distances between the times of two logs."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.events import TIME, EventLog

HOUR = 3_600_000_000
WEEK = 7 * 24 * HOUR


def times_smape(log: EventLog, released: EventLog) -> float:
    """Symmetric mean absolute percentage error of the time between events, in [0, 1].

    Paper 001 averages |t − a| / (|t| + |a|) over the events, t the true time since the event
    before and a the released one. A release does not say which event was which, so events are
    matched within the same directly-follows pair by rank, which favours the release; a pair that
    the release lacks counts 1 per event.
    """
    true, given = _gaps(log), _gaps(released)
    total = sum(len(values) for values in true.values())
    if not total:
        return 0.0
    error = 0.0
    for pair, values in true.items():
        other = given.get(pair)
        if other is None:
            error += len(values)
            continue
        ranks = (np.arange(len(values)) + 0.5) / len(values)
        matched = other[(ranks * len(other)).astype(np.int64)]
        scale = np.abs(values) + np.abs(matched)
        error += float((np.abs(values - matched)[scale > 0] / scale[scale > 0]).sum())
    return error / total


def duration_distance(log: EventLog, released: EventLog) -> float:
    """Earth mover's distance between the case durations, as a share of the true mean.

    0: equal distributions; .5: half a mean duration must be moved per case; 1 for an empty
    release if all true durations are lost.
    """
    from scipy.stats import wasserstein_distance

    true = _durations(log)
    given = _durations(released) if released.cases else np.zeros(1)
    mean = float(true.mean())
    distance = float(wasserstein_distance(true, given))
    return distance / mean if mean else float(distance > 0)


def throughput_distance(log: EventLog, released: EventLog) -> float:
    """Total variation between the shares of cases that end in each calendar week, in [0, 1]."""
    if not released.cases:
        return 1.0
    shares: list[dict[int, float]] = []
    for one in (log, released):
        weeks, many = np.unique(_stamps(one)[one.offsets[1:] - 1] // WEEK, return_counts=True)
        shares.append(dict(zip(weeks.tolist(), (many / one.cases).tolist(), strict=True)))
    either = shares[0].keys() | shares[1].keys()
    return sum(abs(shares[0].get(w, 0.0) - shares[1].get(w, 0.0)) for w in either) / 2


def _stamps(log: EventLog) -> Integers:
    """Microseconds of each event, in the order of `log.codes`."""
    column = log.table[TIME].gather(log.order).dt.cast_time_unit("us")
    return column.cast(pl.Int64).to_numpy().astype(np.int64)


def _durations(log: EventLog) -> Floats:
    stamps = _stamps(log)
    return np.asarray((stamps[log.offsets[1:] - 1] - stamps[log.offsets[:-1]]) / HOUR, np.float64)


def _gaps(log: EventLog) -> dict[tuple[str, str], Floats]:
    """For each directly-follows pair the hours in between, sorted."""
    stamps = _stamps(log)
    inner = np.ones(log.events, dtype=bool)
    inner[log.offsets[:-1]] = False
    second = np.flatnonzero(inner)
    if not len(second):
        return {}
    hours = (stamps[second] - stamps[second - 1]) / HOUR
    size = len(log.activities)
    keys = log.codes[second - 1].astype(np.int64) * size + log.codes[second]
    order = np.lexsort((hours, keys))
    found, starts = np.unique(keys[order], return_index=True)
    parts = np.split(hours[order], starts[1:])
    return {
        (log.activities[key // size], log.activities[key % size]): part
        for key, part in zip(found.tolist(), parts, strict=True)
    }
