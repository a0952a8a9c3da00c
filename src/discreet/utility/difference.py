"""Absolute log difference: the number of edits that turn one log into the other, cases counted."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Integers
from discreet.log.variants import Variants
from discreet.models.edits import Edits
from discreet.models.similarity import leave_equal
from discreet.models.transport import EXACT_PAIRS, Transport, transport


def absolute_log_difference(
    left: Variants, right: Variants, *, limit: int | None = EXACT_PAIRS
) -> Transport:
    """The cheapest flow of the cases of one log into those of the other (TraVaS's paper, 5.1).

    Moving a case costs the Levenshtein distance of the variants. The log with fewer cases gets
    a buffer node for what cannot be matched. A case to or from the buffer costs its length: it is
    deleted or inserted whole, so that the result is the least number of edit operations. (What
    the paper's own figures charge for it is in `published.py`.)

    The cost is a metric in which the buffer is one more point, so cases of equal variants
    may stay where they are without loss, and only the surplus is moved.
    """
    source, target = left.counts.astype(np.int64), right.counts.astype(np.int64)
    leave_equal(left, right, source, target)
    alone = left.lengths.astype(np.int64), right.lengths.astype(np.int64)
    return edits_with_buffer(left, right, source, target, *alone, limit=limit)


def edits_with_buffer(
    left: Variants,
    right: Variants,
    source: Integers,
    target: Integers,
    deleting: Integers,
    inserting: Integers,
    *,
    limit: int | None,
) -> Transport:
    """The cheapest flow of `source` cases into `target` cases, and of the surplus into a buffer.

    `deleting` and `inserting` are the costs of a case of each variant that has no partner.
    """
    surplus = int(source.sum() - target.sum())
    source = np.append(source, max(-surplus, 0))
    target = np.append(target, max(surplus, 0))
    edits = Edits(left, right)

    def costs(rows: Integers, columns: Integers) -> Integers:
        inside, within = rows[rows < len(left)], columns[columns < len(right)]
        matrix = np.zeros((len(rows), len(columns)), dtype=np.int64)
        if len(inside) and len(within):
            matrix[: len(inside), : len(within)] = edits.whole(inside, within)
        if len(inside) < len(rows):
            matrix[-1, : len(within)] = inserting[within]
        if len(within) < len(columns):
            matrix[: len(inside), -1] = deleting[inside]
        return matrix

    return transport(source, target, costs, limit=limit)
