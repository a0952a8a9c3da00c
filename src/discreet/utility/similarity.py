"""Relative log similarity: earth mover's distance between two variant distributions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from discreet.log.variants import Variants
from discreet.utility.transport import EXACT_PAIRS, Floats, Integers, transport


@dataclass(frozen=True)
class Similarity:
    """A similarity; where it is not exact, the true one is at least this."""

    value: float
    exact: bool


def edit_distances(left: Variants, right: Variants, *, relative: bool = True) -> Floats:
    """Levenshtein distance of every pair of sequences, over the longer length if relative."""
    spelled, others = words(left, right)
    everything = np.arange(len(left)), np.arange(len(right))
    return _distances(left, right, spelled, others, relative, *everything)


def relative_log_similarity(left: Variants, right: Variants) -> float:
    """One minus the cheapest way to turn one variant distribution into the other.

    Between 0 (nothing in common) and 1 (equal distributions); 0 if exactly one log is empty.
    Exact whatever the size: an optimal transport over all pairs, equal variants included.
    """
    return log_similarity(left, right, limit=None).value


def log_similarity(
    left: Variants,
    right: Variants,
    *,
    limit: int | None = EXACT_PAIRS,
    match_equal: bool = False,
) -> Similarity:
    """The relative log similarity, exact up to `limit` pairs of variants, then a lower bound.

    `match_equal` leaves the mass that both logs put on the same variant where it is and moves
    only the rest. The relative edit distance breaks the triangle inequality (ab, aba, ba: 1 >
    1/3 + 1/3), so this may cost more than the best plan: faster, and a lower bound again.
    """
    if len(left) == 0 or len(right) == 0:
        return Similarity(float(len(left) == len(right)), True)
    source, target = _common_total(left, right)
    total = int(source.sum())
    shared = 0
    if match_equal:
        shared = leave_equal(left, right, source, target)
    spelled, others = words(left, right)
    costs = partial(_distances, left, right, spelled, others, True)
    found = transport(source, target, costs, limit=limit)
    return Similarity(1 - found.cost / total, found.exact and shared == 0)


def leave_equal(left: Variants, right: Variants, source: Integers, target: Integers) -> int:
    """Take the mass that both sides have on the same sequence off both; returns how much."""
    position = {sequence: j for j, (sequence, _) in enumerate(right)}
    shared = 0
    for i, (sequence, _) in enumerate(left):
        j = position.get(sequence)
        if j is not None:
            both = min(source[i], target[j])
            source[i] -= both
            target[j] -= both
            shared += int(both)
    return shared


def _common_total(left: Variants, right: Variants) -> tuple[Integers, Integers]:
    """Both distributions in whole units of the same total, so that no mass is rounded."""
    common = int(np.gcd(left.cases, right.cases))
    if left.cases * right.cases // common >= 1 << 52:
        raise OverflowError("these logs have too many cases for an exact comparison")
    source = left.counts.astype(np.int64) * (right.cases // common)
    target = right.counts.astype(np.int64) * (left.cases // common)
    return source, target


def words(left: Variants, right: Variants) -> tuple[list[str], list[str]]:
    """Each sequence as a string over one common alphabet, one letter per activity."""
    labels = sorted(set(left.activities) | set(right.activities))
    first = 0 if len(labels) <= 256 else 0x10000  # one byte per letter is faster
    letter = {label: first + i for i, label in enumerate(labels)}

    def spell(variants: Variants) -> list[str]:
        letters = np.array([letter[label] for label in variants.activities], dtype="<u4")
        text = letters[variants.codes].tobytes().decode("utf-32-le")
        bounds = variants.offsets.tolist()
        return [text[a:b] for a, b in pairwise(bounds)]

    return spell(left), spell(right)


def _distances(
    left: Variants,
    right: Variants,
    spelled: list[str],
    others: list[str],
    relative: bool,
    rows: Integers,
    columns: Integers,
) -> Floats:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    distances = cdist(
        [spelled[i] for i in rows],
        [others[j] for j in columns],
        scorer=Levenshtein.distance,
        dtype=np.int32,
        workers=-1,
    ).astype(np.float64)
    if relative:
        longer = np.maximum(left.lengths[rows][:, None], right.lengths[columns][None, :])
        distances /= np.maximum(longer, 1)
    return distances
