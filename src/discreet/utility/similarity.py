"""Relative log similarity: earth mover's distance between two variant distributions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.log.variants import Variants

Floats = npt.NDArray[np.float64]


def edit_distances(left: Variants, right: Variants) -> Floats:
    """Levenshtein distance over the longer length, for every pair of sequences."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    labels = sorted(set(left.activities) | set(right.activities))
    letter = {label: chr(0x10000 + i) for i, label in enumerate(labels)}

    def words(variants: Variants) -> list[str]:
        return ["".join(letter[label] for label in sequence) for sequence, _ in variants]

    distances = cdist(
        words(left), words(right), scorer=Levenshtein.distance, dtype=np.int32, workers=-1
    )
    longer = np.maximum(left.lengths[:, None], right.lengths[None, :])
    return np.asarray(distances / np.maximum(longer, 1), dtype=np.float64)


def relative_log_similarity(left: Variants, right: Variants) -> float:
    """One minus the cheapest way to turn one variant distribution into the other.

    Between 0 (nothing in common) and 1 (equal distributions); 0 if exactly one log is empty.
    Exact: an optimal transport over all pairs, equal variants included.
    """
    if len(left) == 0 or len(right) == 0:
        return float(len(left) == len(right))
    import ot

    cost = edit_distances(left, right)
    source = left.counts / left.counts.sum()
    target = right.counts / right.counts.sum()
    value, log = ot.emd2(source, target, cost, numItermax=10_000_000, log=True)
    if log["warning"] is not None:
        raise ArithmeticError(f"the transport problem was not solved: {log['warning']}")
    return float(1 - value)
