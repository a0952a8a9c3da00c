"""Recognising a log that was seen before, without keeping anything that tells what is in it."""

from __future__ import annotations

import hmac
import json
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.engines.lazy import EngineLog
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, TIME, EventLog
from discreet.log.variants import spans


def fingerprint(log: EventLog, key: bytes) -> str:
    """A keyed hash of who did what and when: the same for a log as XES, CSV or Parquet.

    Cases count in the order of their names, events in theirs. Further columns do not count, since
    formats keep them differently. Without the key a guess at the content cannot be checked.
    """
    parts = _counted(log) if isinstance(log, EngineLog) else _held(log)
    total = hmac.new(key, b"discreet fingerprint 1", "sha256")
    total.update(json.dumps([parts.names, parts.labels]).encode())
    total.update(parts.offsets.astype("<i8").tobytes())
    total.update(parts.codes.astype("<i4").tobytes())
    if parts.times is not None:
        total.update(parts.times.astype("<i8").tobytes())
    return total.hexdigest()


class _Parts(NamedTuple):
    """What counts of a log, cases in the order of their names."""

    names: list[str]
    labels: list[str]
    offsets: Ints
    codes: Ints
    times: Ints | None


def _held(log: EventLog) -> _Parts:
    by_name = sorted(range(log.cases), key=log.case_ids.__getitem__)
    positions, offsets = spans(log.offsets, np.array(by_name, dtype=np.int64))
    labels, codes = _activities(log)
    times = None
    if log.has_times:
        ticks = log.table[TIME].to_numpy().astype("datetime64[us]", copy=False).view(np.int64)
        times = ticks[log.order[positions]]
    return _Parts([log.case_ids[i] for i in by_name], labels, offsets, codes[positions], times)


def _counted(log: EngineLog) -> _Parts:
    if log.classifier != "activity":
        raise LogError("the engine keeps activity and lifecycle as one")
    found = log.courses()
    return _Parts(found.names, list(log.activities), found.offsets, found.codes, found.times)


def _activities(log: EventLog) -> tuple[list[str], Ints]:
    """The activities' names in order and their codes, whatever classifier the log is read with."""
    column = log.table[ACTIVITY]
    if not log.events or column[int(log.order[0])] == log.activities[log.codes[0]]:
        return list(log.activities), log.codes
    plain = column.cast(pl.String)[log.order]
    return plain.unique().sort().to_list(), plain.rank("dense").to_numpy().astype(np.int32) - 1
