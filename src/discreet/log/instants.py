"""The timestamps of a log as integers: microseconds since 1970, in the log's own order."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.errors import LogError
from discreet.log.events import TIME, EventLog
from discreet.log.timestamps import microseconds_of

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
WEEK = 7 * DAY
MONDAY = -3 * DAY
"""A Monday at midnight, UTC, from which weeks are counted: 29 December 1969."""

LATEST = 253_402_300_799 * SECOND
"""The last second of the year 9999: released times are cut there, few tools read later ones."""


def microseconds(log: EventLog) -> Integers:
    """When each event happened; within a case never decreasing."""
    if not log.has_times:
        raise no_times()
    times = log.table[TIME].gather(log.order)
    if not isinstance(times.dtype, pl.Datetime):
        raise LogError(
            f"the column {TIME} holds {times.dtype}, not timestamps; read the log with "
            "discreet.read_log, which converts them"
        )
    missing = times.null_count()
    if missing:
        raise LogError(
            f"{missing} of {log.events} events have no timestamp; drop those events, or read the "
            "log with order='file' and use a mechanism that returns variants, such as travas"
        )
    ticks: Integers = microseconds_of(times).to_numpy()
    return ticks


def no_times() -> LogError:
    """The error for a log without the times that are asked for."""
    return LogError(
        "this log has no timestamps, and its times are asked for; name their column when "
        "reading it (timestamp=...), or use a mechanism that returns variants, such as travas"
    )


def since_start(log: EventLog) -> Integers:
    """The time of each event since the first event of its case."""
    times = microseconds(log)
    return times - np.repeat(times[log.offsets[:-1]], np.diff(log.offsets))
