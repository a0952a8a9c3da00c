"""Drawing from noisy tables. Nothing here reads a log: it is all post-processing."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.privacy.randomness import Randomness


def fractions(size: int, rng: Randomness) -> Floats:
    """Uniform numbers in [0, 1)."""
    return (rng.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def choose(weights: Floats, size: int, rng: Randomness) -> Integers:
    """Indices drawn by weight; uniformly if no weight is positive."""
    return choose_by_row(weights[None, :], np.zeros(size, dtype=np.int64), rng)


def choose_by_row(weights: Floats, rows: Integers, rng: Randomness) -> Integers:
    """For each entry of `rows` a column, by the weights in that row."""
    columns = weights.shape[1]
    empty = weights.sum(axis=1, keepdims=True) <= 0
    share = np.where(empty, 1.0, weights)
    share = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    share[:, -1] = 1.0
    steps = (np.arange(len(weights))[:, None] + share).ravel()
    place = np.searchsorted(steps, rows + fractions(len(rows), rng), side="right")
    chosen: Integers = np.clip(place - rows * columns, 0, columns - 1)
    return chosen
