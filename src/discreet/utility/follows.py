"""Directly-follows distance: how far the steps of two logs lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.log.follows import Follows
from discreet.log.variants import Variants


@dataclass(frozen=True)
class FollowsDistance:
    """Two measures of the difference between directly-follows counts, start and end included.

    `total_variation` compares shares (0 equal, 1 nothing in common) and ignores the size of the
    logs. `percentage_error` is the mean over the pairs of the first log of |count − other
    count| / count, as a fraction: 0 equal, 1 if the other log is empty.
    """

    total_variation: float
    percentage_error: float


def follows_distance(left: Variants | Follows, right: Variants | Follows) -> FollowsDistance:
    """Compare the directly-follows counts of `right` with those of `left`."""
    pair = [Follows.of_variants(v) if isinstance(v, Variants) else v for v in (left, right)]
    labels = sorted(set(pair[0].activities) | set(pair[1].activities))
    ours, other = (_on(follows, labels) for follows in pair)
    if not ours.sum() or not other.sum():
        distance = float(bool(ours.sum()) != bool(other.sum()))
        return FollowsDistance(distance, distance)
    seen = ours > 0
    return FollowsDistance(
        float(np.abs(ours / ours.sum() - other / other.sum()).sum() / 2),
        float((np.abs(ours - other)[seen] / ours[seen]).mean()),
    )


def _on(follows: Follows, labels: list[str]) -> Floats:
    """The counts on a common alphabet."""
    position = {label: i for i, label in enumerate(labels)}
    place = [position[label] for label in follows.activities] + [len(labels)]
    counts = np.zeros((len(labels) + 1, len(labels) + 1))
    counts[np.ix_(place, place)] = follows.counts
    return counts
