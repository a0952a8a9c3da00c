"""Recognising a log that was seen before, without keeping anything that tells what is in it."""

from __future__ import annotations

import hmac
import json

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.engines.memory import hashed
from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, EventLog
from discreet.log.instants import microseconds
from discreet.log.variants import spans

VERSION = "2:"
"""How a fingerprint begins; those of the first kind are hexadecimal digits only."""


def fingerprint(log: EventLog, key: bytes) -> str:
    """A keyed hash of who did what and when: the same for a log as XES, CSV or Parquet.

    Of each case a keyed hash, and of their sum another: so it is the same in every order of the
    cases, and where an engine holds them only the sum leaves it. Further columns do not count,
    since formats keep them differently. Without the key a guess at the content cannot be checked.
    """
    if isinstance(log, EngineLog):
        if log.classifier != "activity":
            raise LogError("the engine keeps activity and lifecycle as one")
        labels, total = list(log.activities), log.engine.digest(key)
    else:
        labels, codes = _activities(log)
        total = hashed(log, codes, key)
    said = json.dumps([log.cases, log.has_times, labels, total])
    return VERSION + hmac.new(key, said.encode(), "sha256").hexdigest()[: 64 - len(VERSION)]


def first_fingerprint(log: EventLog, key: bytes) -> str:
    """The fingerprint that ledgers kept at first: one hash of all cases, in the order of names."""
    if isinstance(log, EngineLog):
        raise LogError(
            "some logs of this ledger were noted in a way that engines cannot compare with; where "
            "it fits into memory, read it with engine='memory' (--engine memory)"
        )
    by_name = sorted(range(log.cases), key=log.case_ids.__getitem__)
    positions, offsets = spans(log.offsets, np.array(by_name, dtype=np.int64))
    labels, codes = _activities(log)
    total = hmac.new(key, b"discreet fingerprint 1", "sha256")
    total.update(json.dumps([[log.case_ids[i] for i in by_name], labels]).encode())
    total.update(offsets.astype("<i8").tobytes())
    total.update(codes[positions].astype("<i4").tobytes())
    if log.has_times:
        total.update(microseconds(log)[positions].astype("<i8").tobytes())
    return total.hexdigest()


def _activities(log: EventLog) -> tuple[list[str], Ints]:
    """The activities' names in order and their codes, whatever classifier the log is read with."""
    column = log.table[ACTIVITY]
    if not log.events or column[int(log.order[0])] == log.activities[log.codes[0]]:
        return list(log.activities), log.codes
    plain = column.cast(pl.String)[log.order]
    return plain.unique().sort().to_list(), plain.rank("dense").to_numpy().astype(np.int32) - 1
