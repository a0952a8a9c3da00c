"""Relative log similarity: earth mover's distance between two variant distributions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Integers
from discreet.log.variants import Variants
from discreet.models.edits import Edits
from discreet.models.transport import EXACT_PAIRS, MOST_MASS, Costs, transport

# Proof

COST_UNITS = 1 << 30
"""Cost, in units, of moving a case to a sequence that has nothing in common with its own."""

MOST_WEIGHT = 1 << 20
"""Most units that a distribution is divided into when cases are compared with it."""

MOST_CASES = MOST_MASS // MOST_WEIGHT
"""Most cases, some four billion, that can be compared with a distribution."""


@dataclass(frozen=True)
class Similarity:
    """A similarity; where it is not exact, the true one is at least this."""

    value: float
    exact: bool


def relative_log_similarity(left: Variants, right: Variants) -> float:
    """One minus the cheapest way to turn one variant distribution into the other.

    Between 0 (nothing in common) and 1 (equal distributions); 0 if exactly one log is empty.
    An optimal transport over all pairs, whatever the size, equal variants included; the cost of
    a pair is rounded down to 2⁻³⁰.
    """
    return log_similarity(left, right, limit=None).value


def log_similarity(
    left: Variants, right: Variants, *, limit: int | None = EXACT_PAIRS
) -> Similarity:
    """The relative log similarity, exact up to `limit` pairs of variants, then a lower bound.

    Equal variants are moved like all others: the relative edit distance breaks the triangle
    inequality (ab, aba, ba: 1 > 1/3 + 1/3), so leaving them in place may cost more.
    """
    if not left.cases or not right.cases:
        return Similarity(float(left.cases == right.cases), True)
    source, target = common_total(left, right)
    return similarity_after(left, right, source, target, int(source.sum()), limit=limit)


def similarity_after(
    left: Variants,
    right: Variants,
    source: Integers,
    target: Integers,
    total: int,
    *,
    limit: int | None,
) -> Similarity:
    """One minus what it costs to move the masses `source` to `target`, of `total` altogether."""
    found = transport(source, target, _costs(left, right), limit=limit)
    return Similarity(1 - found.cost / (total * COST_UNITS), found.exact)


def cases_in_place(log: Variants, distribution: Variants) -> Fraction:
    """The cases of a log times their similarity to a distribution, exactly.

    Cases minus the cheapest way, F, to bring the log to that distribution with as many cases,
    where a case moves at a cost between 0 and 1. One case more raises this by 0 to 2, whatever the
    log and the distribution:

    - F rises by at most 1: move the new case to the distribution at a cost of at most 1, the
      others as before.
    - F falls by at most 1: take the new case out of a cheapest way. What is left reaches the
      distribution, but for one unit of mass that must now end elsewhere, at most 1 dearer.

    No triangle inequality is used. Costs are rounded down to whole units by the pair alone, the
    distribution to whole weights by itself alone, and the transport is solved exactly in integers,
    so the bounds hold as they stand for what is computed here.
    """
    if log.cases > MOST_CASES:
        raise OverflowError(f"a log of more than {MOST_CASES:,} cases cannot be compared")
    if len(log) == 0 or len(distribution) == 0:
        return Fraction(0)
    weights = _weights(distribution.counts.astype(np.int64))
    total = int(weights.sum())
    source, target = log.counts.astype(np.int64) * total, weights * log.cases
    found = transport(source, target, _costs(log, distribution), limit=None)
    return log.cases - Fraction(found.cost, total * COST_UNITS)


def leave_equal(left: Variants, right: Variants, source: Integers, target: Integers) -> None:
    """Take off both sides, in place, the mass that they share on the same sequence."""
    position = {sequence: j for j, (sequence, _) in enumerate(right)}
    for i, (sequence, _) in enumerate(left):
        j = position.get(sequence)
        if j is not None:
            both = min(source[i], target[j])
            source[i] -= both
            target[j] -= both


def _costs(left: Variants, right: Variants) -> Costs:
    """The costs of moving a case: relative edit distances, rounded down to whole units."""
    edits = Edits(left, right)

    def costs(rows: Integers, columns: Integers) -> Integers:
        return edits.whole(rows, columns) * COST_UNITS // edits.longer(rows, columns)

    return costs


def _weights(counts: Integers) -> Integers:
    """Whole weights in proportion to the counts, at most MOST_WEIGHT together."""
    total = int(counts.sum())
    if total <= MOST_WEIGHT:
        return counts
    scaled = [count * MOST_WEIGHT for count in counts.tolist()]
    weights: Integers = np.array([value // total for value in scaled], dtype=np.int64)
    rest = np.array([value % total for value in scaled], dtype=np.int64)
    missing = MOST_WEIGHT - int(weights.sum())
    weights[np.argsort(-rest, kind="stable")[:missing]] += 1
    return weights


def common_total(left: Variants, right: Variants) -> tuple[Integers, Integers]:
    """Both distributions in whole units of the same total, so that no mass is rounded."""
    common = int(np.gcd(left.cases, right.cases))
    if left.cases * right.cases // common >= MOST_MASS:
        raise OverflowError("these logs have too many cases for an exact comparison")
    source = left.counts.astype(np.int64) * (right.cases // common)
    target = right.counts.astype(np.int64) * (left.cases // common)
    return source, target
