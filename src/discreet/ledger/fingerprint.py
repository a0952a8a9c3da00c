"""Fingerprints recognise a log that was seen before without telling what is in it.

They are keyed hashes. Their secret key is a file that only its owner may read, never in the
database.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
from pathlib import Path

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.ledger.errors import LedgerError
from discreet.log.engines.memory import hashed
from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, EventLog
from discreet.log.instants import microseconds
from discreet.log.variants import spans

VERSION = "2:"
"""The beginning of a fingerprint; those of the first kind are hexadecimal digits only."""


def fingerprint(log: EventLog, key: bytes) -> str:
    """A keyed hash of cases, activities and times: the same for a log as XES, CSV or Parquet.

    It hashes the sum of a keyed hash of each case, so it is the same in every order of the cases,
    and where an engine holds them only the sum leaves it. Further columns do not count,
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
    """The fingerprint of the first ledgers: one hash of all cases, in the order of their names."""
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
    """The sorted names of the activities and each event's code, for any classifier of the log."""
    column = log.table[ACTIVITY]
    if not log.events or column[int(log.order[0])] == log.activities[log.codes[0]]:
        return list(log.activities), log.codes
    plain = column.cast(pl.String)[log.order]
    return plain.unique().sort().to_list(), plain.rank("dense").to_numpy().astype(np.int32) - 1


def key_check(key: bytes) -> str:
    """The value by which a ledger recognises its key."""
    return hmac.new(key, b"discreet key check 1", "sha256").hexdigest()


def read_key(path: Path) -> bytes | None:
    """The secret key, or None where there is none yet."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"the fingerprint key {path} cannot be read ({error}); restore it from a backup, or "
            "move it away: known logs are then no longer recognised, nothing else is lost"
        ) from None
    if len(key) != 32:
        raise LedgerError(f"{path} is not a fingerprint key (32 bytes in hexadecimal)")
    return key


def make_key(path: Path) -> bytes:
    """A fresh secret key in a file that only its owner may read; an existing one stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_bytes(32)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    existing = read_key(path)
    assert existing is not None
    return existing
