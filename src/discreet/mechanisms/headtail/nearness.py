"""How near sequences are to each other, and which one of a list is the nearest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Integers
from discreet.log.variants import Variants
from discreet.models.edits import spelled

Distances = npt.NDArray[np.float32]

BLOCK = 1_000_000
"""Distances held in memory at a time."""

ALONE = 200_000
"""Fewer distances are not worth a second thread."""


def distances(some: Variants, others: Variants) -> Distances:
    """The relative edit distance of every pair: over the longer length, so between 0 and 1."""
    return _distances(*spelled(some, others))


def nearest(cases: Variants, support: Variants) -> Integers:
    """For each variant the nearest element of the support, the first where several are.

    A rule that reads one case and the support only: what a vote may depend on.
    """
    words, others = spelled(cases, support)
    rows = max(1, BLOCK // len(support))
    blocks = (words[begin : begin + rows] for begin in range(0, len(words), rows))
    found = [_distances(block, others).argmin(axis=1) for block in blocks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def gaps(support: Variants) -> Floats:
    """For each sequence how far the nearest other one is; of a single one, as far as can be."""
    apart = distances(support, support)
    np.fill_diagonal(apart, 1)
    found: Floats = apart.min(axis=1).astype(np.float64)
    return found


def joined(*logs: Variants) -> tuple[Variants, list[Integers]]:
    """The sequences of several logs, each once, with their counts added up.

    And where each sequence of each log is among them.
    """
    labels = tuple(sorted({label for log in logs for label in log.activities}))
    place = {label: code for code, label in enumerate(labels)}
    recoded = [
        np.array([place[label] for label in log.activities], dtype=np.int32)[log.codes]
        for log in logs
    ]
    lengths = np.concatenate([log.lengths for log in logs])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found, where = Variants.of_cases(labels, np.concatenate(recoded), offsets)
    counts = np.bincount(where, np.concatenate([log.counts for log in logs]), len(found))
    places = np.split(where, np.cumsum([len(log) for log in logs])[:-1])
    return replace(found, counts=counts.astype(np.int64)), places


def _distances(some: list[str], others: list[str]) -> Distances:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    workers = 1 if len(some) * len(others) < ALONE else -1
    found: Distances = cdist(
        some, others, scorer=Levenshtein.normalized_distance, dtype=np.float32, workers=workers
    )
    return found
