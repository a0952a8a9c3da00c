"""Drawing from noisy histograms. Nothing here reads a log: it is all post-processing."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

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


def significant(counts: Floats, scale: float) -> npt.NDArray[np.bool_]:
    """Which noisy counts the noise alone hardly made.

    Laplace noise passes scale·ln(50·cells) in any of the cells once in a hundred times.
    """
    return counts > scale * math.log(50 * counts.size)


def projected(counts: Floats) -> Floats:
    """The nearest nonnegative counts of the same total: what the noise added, it takes away again.

    Clipping alone would keep what the noise added to empty cells and raise the total. All zero
    if the total is not positive.
    """
    total = counts.sum()
    if total <= 0:
        return np.zeros_like(counts)
    falling = -np.sort(-counts)
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    cut = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(counts - cut, 0.0))


def shrunk(counts: Floats, scale: float, parent: Floats) -> Floats:
    """Rows of noisy counts as distributions, each drawn towards its parent's (James–Stein).

    A row departs from its parent only as far as its distance exceeds what the noise explains.
    """
    total = counts.sum(axis=1, keepdims=True).clip(min=0)
    expected = total * parent
    away = np.where(parent > 0, counts - expected, 0.0)
    cells = (parent > 0).sum(axis=1, keepdims=True)
    explained = (cells - 2).clip(min=0) * 2 * scale**2
    distance = (away**2).sum(axis=1, keepdims=True)
    kept = np.where(distance > explained, 1 - explained / np.maximum(distance, 1e-300), 0.0)
    rows = (expected + kept * away).clip(min=0)
    mass = rows.sum(axis=1, keepdims=True)
    return np.where(mass > 0, rows / np.where(mass > 0, mass, 1.0), parent)
