"""Directly-follows distance: how far the steps of two logs lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.log.variants import Variants
from discreet.utility.transport import Integers

START, END = "⊤", "⊥"


@dataclass(frozen=True)
class FollowsDistance:
    """Two views of the difference between directly-follows counts, start and end included.

    `total_variation` compares shares (0 equal, 1 nothing in common) and ignores the size of the
    logs. `percentage_error` is the mean over the pairs of the first log of |count − other
    count| / count, as a fraction: 0 equal, 1 if the other log is empty.
    """

    total_variation: float
    percentage_error: float


def follows_counts(variants: Variants, labels: tuple[str, ...]) -> Integers:
    """How often each label is directly followed by each, as a square matrix.

    `labels` must hold all activities; row and column `len(labels)` stand for start and end.
    """
    size = len(labels) + 1
    position = {label: i for i, label in enumerate(labels)}
    known = np.array([position[label] for label in variants.activities], dtype=np.int64)
    lengths = variants.lengths
    # Each sequence becomes start, its activities, end, in one flat array.
    padded = np.full(len(variants.codes) + 2 * len(variants), size - 1, dtype=np.int64)
    shift = np.repeat(2 * np.arange(len(variants)) + 1, lengths)
    padded[np.arange(len(variants.codes)) + shift] = known[variants.codes]
    ends = np.cumsum(lengths + 2) - 1
    inner = np.ones(len(padded), dtype=bool)
    inner[ends] = False
    step = np.flatnonzero(inner)
    weight = np.repeat(variants.counts, lengths + 1)
    pairs = padded[step] * size + padded[step + 1]
    counts = np.bincount(pairs, weights=weight.astype(np.float64), minlength=size * size)
    return counts.astype(np.int64).reshape(size, size)


def follows_distance(left: Variants, right: Variants) -> FollowsDistance:
    """Compare the directly-follows counts of `right` with those of `left`."""
    labels = tuple(sorted(set(left.activities) | set(right.activities)))
    ours = follows_counts(left, labels).astype(np.float64)
    other = follows_counts(right, labels).astype(np.float64)
    if not ours.sum() or not other.sum():
        distance = float(bool(ours.sum()) != bool(other.sum()))
        return FollowsDistance(distance, distance)
    seen = ours > 0
    return FollowsDistance(
        float(np.abs(ours / ours.sum() - other / other.sum()).sum() / 2),
        float((np.abs(ours - other)[seen] / ours[seen]).mean()),
    )
