"""Recognising a log that was seen before, without keeping anything that tells what is in it."""

from __future__ import annotations

import hmac
import json

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.events import ACTIVITY, TIME, EventLog
from discreet.log.variants import spans


def fingerprint(log: EventLog, key: bytes) -> str:
    """A keyed hash of who did what and when: the same for a log as XES, CSV or Parquet.

    Cases count in the order of their names, events in theirs. Further columns do not count, since
    formats keep them differently. Without the key a guess at the content cannot be checked.
    """
    by_name = sorted(range(log.cases), key=log.case_ids.__getitem__)
    positions, offsets = spans(log.offsets, np.array(by_name, dtype=np.int64))
    labels, codes = _activities(log)
    names = [log.case_ids[i] for i in by_name]
    total = hmac.new(key, b"discreet fingerprint 1", "sha256")
    total.update(json.dumps([names, labels]).encode())
    total.update(offsets.astype("<i8").tobytes())
    total.update(codes[positions].astype("<i4").tobytes())
    if log.has_times:
        times = log.table[TIME].to_numpy().astype("datetime64[us]", copy=False).view(np.int64)
        total.update(times[log.order[positions]].astype("<i8").tobytes())
    return total.hexdigest()


def _activities(log: EventLog) -> tuple[list[str], Ints]:
    """The activities' names in order and their codes, whatever classifier the log is read with."""
    column = log.table[ACTIVITY]
    if not log.events or column[int(log.order[0])] == log.activities[log.codes[0]]:
        return list(log.activities), log.codes
    plain = column.cast(pl.String)[log.order]
    return plain.unique().sort().to_list(), plain.rank("dense").to_numpy().astype(np.int32) - 1
