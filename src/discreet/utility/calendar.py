"""Measures of how well a release keeps waits, durations, the calendar and remaining times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.log.events import EventLog
from discreet.log.instants import DAY, HOUR, MONDAY, SECOND, WEEK, microseconds

# Tuned
RELATIONS = 10
"""Number of the log's most frequent relations on which waits are compared."""

LONGEST_PREFIX = 8
"""Largest number of events of a prefix told apart when remaining times are predicted by it and
the last activity."""


@dataclass(frozen=True, eq=False)
class Timed:
    """A log with the arrays that the measures share."""

    log: EventLog

    @cached_property
    def instants(self) -> Integers:
        """The time of each event in microseconds since 1970, in the log's own order."""
        return microseconds(self.log)

    @cached_property
    def waits(self) -> dict[tuple[str, str], Floats]:
        """Sorted seconds from event to event, for each relation."""
        log = self.log
        later = np.ones(log.events, dtype=np.bool_)
        later[log.offsets[:-1]] = False
        second = np.flatnonzero(later)
        if not len(second):
            return {}
        waited = (self.instants[second] - self.instants[second - 1]) / SECOND
        size = max(1, len(log.activities))
        keys = log.codes[second - 1].astype(np.int64) * size + log.codes[second]
        order = np.lexsort((waited, keys))
        found, starts = np.unique(keys[order], return_index=True)
        parts = np.split(waited[order], starts[1:])
        return {
            (log.activities[key // size], log.activities[key % size]): part
            for key, part in zip(found.tolist(), parts, strict=True)
        }

    @cached_property
    def spans(self) -> Floats:
        """The duration of each case, in seconds."""
        begin, end = self.log.offsets[:-1], self.log.offsets[1:] - 1
        return np.asarray((self.instants[end] - self.instants[begin]) / SECOND, dtype=np.float64)

    @cached_property
    def start_weeks(self) -> Integers:
        """The week in which each case starts."""
        return (self.instants[self.log.offsets[:-1]] - MONDAY) // WEEK

    @cached_property
    def week_hours(self) -> Integers:
        """Weekday and hour of each event, UTC."""
        since = self.instants - MONDAY
        return np.asarray(since // DAY % 7 * 24 + since // HOUR % 24, dtype=np.int64)

    @cached_property
    def remaining(self) -> Floats:
        """Days from each event to the end of its case."""
        end = np.repeat(self.instants[self.log.offsets[1:] - 1], np.diff(self.log.offsets))
        return np.asarray((end - self.instants) / DAY, dtype=np.float64)

    @cached_property
    def positions(self) -> Integers:
        """The position of each event in its case, from 0, up to `LONGEST_PREFIX`."""
        begin = np.repeat(self.log.offsets[:-1], np.diff(self.log.offsets))
        place = np.arange(self.log.events) - begin
        return np.asarray(np.minimum(place, LONGEST_PREFIX), dtype=np.int64)


def wait_error(log: Timed, released: Timed, share: float) -> float:
    """Median over the log's most frequent relations of the relative error of a quantile of waits.

    A relation that the release lacks has the error 1; waits under a second count as one.
    """
    frequent = sorted(log.waits, key=lambda pair: (-len(log.waits[pair]), pair))[:RELATIONS]
    if not frequent:
        return 0.0
    errors = []
    for pair in frequent:
        other = released.waits.get(pair)
        true = max(1.0, float(np.quantile(log.waits[pair], share)))
        given = None if other is None else max(1.0, float(np.quantile(other, share)))
        errors.append(1.0 if given is None else abs(given - true) / true)
    return float(np.median(errors))


def duration_log_distance(log: Timed, released: Timed) -> float:
    """Earth mover's distance of ln(1 s + duration of a case)."""
    from scipy.stats import wasserstein_distance

    return float(wasserstein_distance(np.log1p(log.spans), np.log1p(released.spans)))


def total_variation(one: Integers, other: Integers) -> float:
    """Half the sum of the differences between the shares of values, in [0, 1]."""
    values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    left = np.bincount(place[: len(one)], minlength=len(values)) / max(1, len(one))
    right = np.bincount(place[len(one) :], minlength=len(values)) / max(1, len(other))
    return float(np.abs(left - right).sum() / 2)


def remaining_error(log: Timed, released: Timed) -> float:
    """Mean absolute error, in days, of remaining times predicted from the release.

    The predictor is the median remaining time of the released events with the same activity at
    the same place, else of those with the same activity, else of all.
    """
    number = {activity: i for i, activity in enumerate(log.log.activities)}
    recode = np.array([number.get(label, -1) for label in released.log.activities], dtype=np.int64)
    known = recode[released.log.codes]
    wide = LONGEST_PREFIX + 1
    places = len(number) * wide
    by_place = _medians(known * wide + released.positions, known >= 0, released.remaining, places)
    by_activity = _medians(known, known >= 0, released.remaining, len(number))
    overall = float(np.median(released.remaining))
    codes = log.log.codes.astype(np.int64)
    guess = by_place[codes * wide + log.positions]
    guess = np.where(np.isnan(guess), by_activity[codes], guess)
    guess = np.where(np.isnan(guess), overall, guess)
    return float(np.abs(guess - log.remaining).mean())


def _medians(keys: Integers, kept: Booleans, values: Floats, size: int) -> Floats:
    """The median value of each key, NaN if it has none."""
    keys, values = keys[kept], values[kept]
    order = np.lexsort((values, keys))
    found, first, many = np.unique(keys[order], return_index=True, return_counts=True)
    ranked = values[order]
    medians = np.full(size, np.nan)
    medians[found] = (ranked[first + (many - 1) // 2] + ranked[first + many // 2]) / 2
    return medians


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


LOG_MEASURES: dict[str, tuple[Callable[[EventLog, EventLog], float], str]] = {
    "times_smape": (times_smape, "error of the times between events"),
    "duration_distance": (
        duration_distance,
        "earth mover's distance of case durations, in mean durations",
    ),
    "throughput_distance": (throughput_distance, "total variation of the cases ended per week"),
}
"""The measures that an empty release has too, by name, with what they mean."""

Measure = Callable[[Timed, Timed], float]
MEASURES: dict[str, tuple[Measure, str]] = {
    "wait_median_error": (
        lambda log, released: wait_error(log, released, 0.5),
        "error of the median wait of the ten most frequent relations",
    ),
    "wait_p90_error": (
        lambda log, released: wait_error(log, released, 0.9),
        "error of the 90% wait of these relations",
    ),
    "duration_log_distance": (
        duration_log_distance,
        "earth mover's distance of the logarithms of case durations",
    ),
    "start_week_distance": (
        lambda log, released: total_variation(log.start_weeks, released.start_weeks),
        "total variation of the weeks in which cases start",
    ),
    "week_hour_distance": (
        lambda log, released: total_variation(log.week_hours, released.week_hours),
        "total variation of weekday and hour of all events",
    ),
    "remaining_time_error": (
        remaining_error,
        "mean error in days of remaining times predicted from the release",
    ),
}
"""The measures by name, each a function of log and release with a description."""
