"""Recognising a log that was seen before, without keeping anything that tells what is in it."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.log.events import ACTIVITY, TIME, EventLog
from discreet.log.variants import spans


def fingerprint(log: EventLog, key: bytes) -> str:
    """A keyed hash of who did what and when: the same for a log as XES, CSV or Parquet.

    Cases count in the order of their names, events in theirs. Further columns do not count, since
    formats keep them differently. Without the key a guess at the content cannot be checked.
    """
    names = pl.Series(log.case_ids, dtype=pl.String)
    by_name = names.arg_sort().to_numpy().astype(np.int64)
    positions, offsets = spans(log.offsets, by_name)
    labels, codes = _activities(log)
    total = hashlib.blake2b(key=key, digest_size=32, person=b"discreet log 1")
    for texts in (names[by_name], labels):
        total.update(len(texts).to_bytes(8, "big"))
        total.update(texts.str.len_bytes().cast(pl.Int64).to_numpy().astype("<i8").tobytes())
        total.update("".join(texts.to_list()).encode())
    total.update(offsets.astype("<i8").tobytes())
    total.update(codes[positions].astype("<i4").tobytes())
    if log.has_times:
        times = log.table[TIME].dt.cast_time_unit("us").to_physical().to_numpy()
        total.update(times[log.order[positions]].astype("<i8").tobytes())
    return total.hexdigest()


def _activities(log: EventLog) -> tuple[pl.Series, npt.NDArray[np.int32]]:
    """The activities' names in order and their codes, whatever classifier the log is read with."""
    labels = pl.Series(log.activities, dtype=pl.String)
    column = log.table[ACTIVITY]
    if not log.events or column[int(log.order[0])] == log.activities[log.codes[0]]:
        return labels, log.codes
    plain = column.cast(pl.String)[log.order]
    return plain.unique().sort(), plain.rank("dense").to_numpy().astype(np.int32) - 1
