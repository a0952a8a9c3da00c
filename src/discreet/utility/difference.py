"""Absolute log difference: how many edits turn one log into the other, cases counted."""

from __future__ import annotations

from typing import Literal

import numpy as np

from discreet.arrays import Integers
from discreet.log.variants import Variants
from discreet.models.edits import Edits
from discreet.models.similarity import leave_equal
from discreet.models.transport import EXACT_PAIRS, Transport, transport

Buffer = Literal["length", "longest"]


def absolute_log_difference(
    left: Variants, right: Variants, *, buffer: Buffer = "length", limit: int | None = EXACT_PAIRS
) -> Transport:
    """The cheapest flow of the cases of one log into those of the other (TraVaS's paper, 5.1).

    Moving a case costs the Levenshtein distance of the variants. The log with fewer cases gets
    a buffer node for what cannot be matched. A case to or from the buffer costs its `length`
    (it is deleted or inserted whole: the result is the least number of edit operations), or,
    with "longest", the length of the longest variant of both logs. The latter is what the
    figures published in TraVaS's paper are on: an empty Sepsis gives 1050 · 185 = 1.9e5.

    Both costs are metrics in which the buffer is one more point, so cases of equal variants
    may stay where they are without loss, and only the surplus is moved.
    """
    source, target = left.counts.astype(np.int64), right.counts.astype(np.int64)
    leave_equal(left, right, source, target)
    surplus = int(source.sum() - target.sum())
    source = np.append(source, max(-surplus, 0))
    target = np.append(target, max(surplus, 0))
    longest = int(max(left.lengths.max(initial=0), right.lengths.max(initial=0)))

    edits = Edits(left, right)

    def costs(rows: Integers, columns: Integers) -> Integers:
        inside, within = rows[rows < len(left)], columns[columns < len(right)]
        matrix = np.zeros((len(rows), len(columns)), dtype=np.int64)
        if len(inside) and len(within):
            matrix[: len(inside), : len(within)] = edits.whole(inside, within)
        if len(inside) < len(rows):
            matrix[-1, : len(within)] = right.lengths[within] if buffer == "length" else longest
        if len(within) < len(columns):
            matrix[: len(inside), -1] = left.lengths[inside] if buffer == "length" else longest
        return matrix

    return transport(source, target, costs, limit=limit)
