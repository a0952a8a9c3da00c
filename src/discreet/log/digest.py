"""A fingerprint of what a log says, whatever file it stands in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise
from operator import mul

import numpy as np
import polars as pl

from discreet.log.datatypes import as_text, per_case
from discreet.log.events import CASE, TIME, EventLog
from discreet.log.expansion import Expansion
from discreet.log.variants import spans

# Tuned
CASES_AT_ONCE = 100_000
"""Cases hashed at a time."""

VALUES_AT_ONCE = 1_000_000
"""Values joined at a time."""


def content_digest(log: EventLog | Expansion) -> str:
    """SHA-256 of the events: every column by name, cases by identifier, events in their order.

    Written to XES, CSV or Parquet and read again, a log keeps its digest; a changed, added or
    removed value, event or column changes it. Attributes of the whole log do not count. The
    texts of an expansion are made once for each variant.
    """
    total = hashlib.sha256()
    columns = _expanded(log) if isinstance(log, Expansion) else _columns(log)
    for parts in columns:
        for size, pieces in parts:
            total.update(size.to_bytes(8, "big"))
            for piece in pieces:
                total.update(piece)
    return total.hexdigest()


Parts = tuple[tuple[int, Iterator[bytes]], ...]
"""The parts of a column, each with its size: its name, the length of each value, the values."""


def _columns(log: EventLog) -> Iterator[Parts]:
    rows = log.order[spans(log.offsets, _by_name(log.case_ids))[0]]
    for name in sorted(log.table.columns):
        values = log.table[name].gather(rows)
        if values.null_count() < len(values):
            lengths, texts = _worded(values)
            size = int(lengths[lengths > 0].sum())
            yield _whole(name.encode()), _whole(lengths.tobytes()), (size, _in_parts(texts))


def _expanded(expansion: Expansion) -> Iterator[Parts]:
    one, names = expansion.patterns, expansion.case_ids
    by_name = _by_name(names)
    chosen = expansion.variant_of_case[by_name]
    events = np.diff(one.offsets)
    used = np.repeat(np.bincount(chosen, minlength=one.cases), events) > 0
    for name in sorted(one.table.columns):
        values = one.frame[name]
        if values.filter(pl.Series(used)).null_count() == used.sum():
            continue
        if name == CASE:
            words = pl.Series(names, dtype=pl.String).gather(by_name).cast(pl.Binary).to_list()
            many = events[chosen]
            size = np.fromiter(map(len, words), np.int64, len(words))
            lengths = _whole(np.repeat(size, many).tobytes())
            yield _whole(name.encode()), lengths, (int(size @ many), _repeated(words, many))
            continue
        measured, texts = _worded(values)
        per_event = measured.tobytes()
        counted = [per_event[8 * a : 8 * b] for a, b in pairwise(one.offsets.tolist())]
        spoken_once = per_case(texts, one.offsets)
        sizes = np.array([len(text) for text in spoken_once], dtype=np.int64)
        yield (
            _whole(name.encode()),
            (8 * int(events[chosen].sum()), _joined(counted, chosen)),
            (int(sizes[chosen].sum()), _joined(spoken_once, chosen)),
        )


def _whole(part: bytes) -> tuple[int, Iterator[bytes]]:
    return len(part), iter((part,))


def _in_parts(texts: pl.Series) -> Iterator[bytes]:
    for part in texts.to_frame().iter_slices(VALUES_AT_ONCE):
        yield part.to_series().str.join("").item().encode()


def _joined(pieces: list[bytes], chosen: np.ndarray) -> Iterator[bytes]:
    for begin in range(0, len(chosen), CASES_AT_ONCE):
        yield b"".join(map(pieces.__getitem__, chosen[begin : begin + CASES_AT_ONCE].tolist()))


def _repeated(words: list[bytes], many: np.ndarray) -> Iterator[bytes]:
    for begin in range(0, len(words), CASES_AT_ONCE):
        part = slice(begin, begin + CASES_AT_ONCE)
        yield b"".join(map(mul, words[part], many[part].tolist()))


def _by_name(names: list[str]) -> np.ndarray:
    return np.argsort(pl.Series(names, dtype=pl.String).rank("ordinal").to_numpy())


def _worded(values: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """The length of each value in bytes, -1 where it is missing, and its text."""
    texts = values.to_physical().cast(pl.String) if values.name == TIME else as_text(values)
    lengths = texts.str.len_bytes().cast(pl.Int64).fill_null(-1).to_numpy()
    return lengths, texts.fill_null("")
