"""Drawing from noisy tables. Nothing here reads a log: it is all post-processing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.privacy.randomness import Randomness

AT_ONCE = 1 << 20
"""Events that are drawn at once; a larger log is drawn in several parts."""


def in_parts(offsets: Integers) -> Iterator[tuple[int, int, Integers]]:
    """Where the events of each part begin and end, and those of its cases within it."""
    parts = offsets[:-1] // AT_ONCE
    for part in np.unique(parts):
        first, last = np.searchsorted(parts, [part, part + 1])
        start, end = int(offsets[first]), int(offsets[last])
        yield start, end, offsets[first : last + 1] - start


def fractions(size: int, rng: Randomness) -> Floats:
    """Uniform numbers in [0, 1)."""
    return (rng.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def choose(weights: Floats, size: int, rng: Randomness) -> Integers:
    """Indices drawn by weight; uniformly if no weight is positive."""
    return choose_by_row(weights[None, :], np.zeros(size, dtype=np.int64), rng)


def choose_by_row(weights: Floats, rows: Integers, rng: Randomness) -> Integers:
    """For each entry of `rows` a column, by the weights in that row.

    Each entry by itself follows its row; together the entries of a row have its shares as nearly
    as whole numbers allow, so that drawing adds no scatter of its own.
    """
    columns = weights.shape[1]
    empty = weights.sum(axis=1, keepdims=True) <= 0
    share = np.where(empty, 1.0, weights)
    share = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    share[:, -1] = 1.0
    steps = (np.arange(len(weights))[:, None] + share).ravel()
    place = np.searchsorted(steps, rows + even_fractions(rows, rng), side="right")
    chosen: Integers = np.clip(place - rows * columns, 0, columns - 1)
    return chosen


def even_fractions(rows: Integers, rng: Randomness) -> Floats:
    """Uniform numbers in [0, 1): of n entries of a row one in each n-th, in random order."""
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order], kind="stable")]
    many = np.bincount(rows, minlength=1)
    rank = np.empty(len(rows), dtype=np.int64)
    rank[order] = np.arange(len(rows)) - (np.cumsum(many) - many)[rows[order]]
    return (rank + fractions(len(rows), rng)) / many[rows]
