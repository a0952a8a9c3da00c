"""Measures as the authors of TraVaS computed them, mistakes included.

Their figures can be compared with ours by no other rule. Nothing else should be measured this way:
each function says what is wrong with it, and `evaluate` computes these only if they are named.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Integers
from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.models.edits import Edits
from discreet.models.similarity import (
    Similarity,
    common_total,
    leave_equal,
    similarity_after,
)
from discreet.models.transport import EXACT_PAIRS, Transport
from discreet.utility.difference import edits_with_buffer

PENALTY = 10
"""The authors' surcharge on the largest distance for a case without a partner."""


def absolute_difference_as_travas(
    left: Variants, right: Variants, *, limit: int | None = EXACT_PAIRS
) -> Transport:
    """The cost of turning one log into the other, with a fine for each case without a partner.

    As in `absolute_log_difference` equal cases are taken off both logs, and the others move at the
    Levenshtein distance of their variants. But a surplus case costs the largest distance between
    any two variants that are left, plus ten. That is not a number of edits: what a missing case
    costs depends on which variants the logs do not share, so a single long one makes all missing
    cases dearer, and a part of a log differs from it by ten per case, however long the case is. An
    empty release of Sepsis is 10,500 away from it, nearer than any of the authors' releases is on
    average.
    """
    source, target = left.counts.astype(np.int64), right.counts.astype(np.int64)
    leave_equal(left, right, source, target)
    fine = _farthest(left, right, np.flatnonzero(source), np.flatnonzero(target)) + PENALTY
    alone = np.full(len(left), fine), np.full(len(right), fine)
    return edits_with_buffer(left, right, source, target, *alone, limit=limit)


def similarity_by_index(
    left: Variants, right: Variants, *, limit: int | None = EXACT_PAIRS
) -> Similarity:
    """The relative log similarity of a solver that takes place i of both lists for one variant.

    The authors hand their solver two lists of different variants. It expects one list of places
    with two distributions, assumes that a place has no distance from itself, and leaves the smaller
    of the two shares of place i where it is, free of charge. So the first variant of the log
    becomes the first of the release at no cost, whatever the two are. Logs without a common
    activity can have a similarity of 1, and the figure depends on the order of the variants in a
    file, here that of the arguments. It overstates releases with many invented variants (the
    authors' own of the benchmark on Sepsis by .33), and can also be too low: free moves take the
    mass that the cheapest way would have used.
    """
    if not left.cases or not right.cases:
        return Similarity(float(left.cases == right.cases), True)
    source, target = common_total(left, right)
    places = min(len(source), len(target))
    free = np.minimum(source[:places], target[:places])
    moved = source.copy(), target.copy()
    moved[0][:places] -= free
    moved[1][:places] -= free
    return similarity_after(left, right, *moved, int(source.sum()), limit=limit)


def by_appearance(log: EventLog) -> Variants:
    """The variants of a log in the order in which they first appear in it."""
    _, first = np.unique(log.variant_of_case, return_index=True)
    return log.variants.take(np.argsort(first))


def as_written(log: Variants, release: Variants) -> Variants:
    """The variants of a release in the order of the authors' files.

    Those of the log come first, in its order, as in a file of TraVaS; then the invented ones, the
    shorter first, as a prefix tree grows them. A file of uTraVaS lists them in random order.
    """
    position = {sequence: i for i, (sequence, _) in enumerate(log)}
    rank = [
        (position.get(sequence, len(log)), len(sequence), i)
        for i, (sequence, _) in enumerate(release)
    ]
    return release.take(np.array([i for *_, i in sorted(rank)], dtype=np.int64))


def _farthest(left: Variants, right: Variants, rows: Integers, columns: Integers) -> int:
    """The largest Levenshtein distance between chosen variants of two logs, 0 if there is none."""
    if not len(rows) or not len(columns):
        return 0
    edits = Edits(left, right)
    return max(int(edits.whole(row, columns).max()) for row in np.split(rows, len(rows)))
