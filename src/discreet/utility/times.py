"""Distances between the times of two logs."""

from __future__ import annotations

import numpy as np

from discreet.log.events import EventLog
from discreet.log.instants import WEEK
from discreet.utility.calendar import Timed, total_variation


def times_smape(log: EventLog, released: EventLog) -> float:
    """Symmetric mean absolute percentage error of the time between events, in [0, 1].

    Amun's paper averages |t − a| / (|t| + |a|) over the events, t the true time since the event
    before and a the released one. A release does not say which event was which, so events are
    matched within the same directly-follows pair by rank, which favours the release; a pair that
    the release lacks counts 1 per event.
    """
    true, given = Timed(log).waits, Timed(released).waits
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

    true = Timed(log).spans
    given = Timed(released).spans if released.cases else np.zeros(1)
    mean = float(true.mean())
    distance = float(wasserstein_distance(true, given))
    return distance / mean if mean else float(distance > 0)


def throughput_distance(log: EventLog, released: EventLog) -> float:
    """Total variation between the shares of cases that end in each calendar week, in [0, 1]."""
    if not released.cases:
        return 1.0
    ends = (Timed(one).instants[one.offsets[1:] - 1] // WEEK for one in (log, released))
    return total_variation(*ends)
