"""Recognising a log that was seen before, without keeping anything that tells what is in it."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from discreet.log.events import EventLog


def fingerprint(log: EventLog, key: bytes) -> str:
    """A keyed hash of who did what and when: the same for a log as XES, CSV or Parquet.

    Cases count in the order of their names; events by time and, where times are equal, by
    activity. Further columns do not count, since formats keep them differently. Without the key a
    guess at the content cannot be checked against it.
    """
    from discreet.log.events import ACTIVITY, TIME

    names, case_ranks = _ranked(pl.Series(log.case_ids, dtype=pl.String))
    labels, codes = _ranked(log.frame[ACTIVITY].cast(pl.String))
    cases = np.repeat(case_ranks, np.diff(log.offsets))
    if log.has_times:
        times = log.frame[TIME].dt.cast_time_unit("us").to_physical().to_numpy()
        order = np.lexsort((codes, times, cases))
    else:
        times = np.zeros(0, dtype=np.int64)
        order = np.argsort(cases, kind="stable")
    total = hmac.new(key, b"discreet fingerprint 1", "sha256")
    for texts in (names, labels):
        total.update(texts.str.len_bytes().cast(pl.Int64).to_numpy().astype("<i8").tobytes())
        total.update(texts.str.join("").item().encode())
        total.update(len(texts).to_bytes(8, "big"))
    for numbers in (cases, codes, times):
        ordered = numbers[order] if len(numbers) else numbers
        total.update(np.ascontiguousarray(ordered, dtype="<i8").tobytes())
    return total.hexdigest()


def _ranked(values: pl.Series) -> tuple[pl.Series, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The distinct values in order, and for each value its place among them."""
    distinct = values.unique().sort()
    places = values.rank("dense").to_numpy().astype(np.int64) - 1
    return distinct, places
