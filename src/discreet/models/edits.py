"""Edit distances between the sequences of two sets of variants."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.variants import Variants

# Tuned: on the time that rapidfuzz takes.

FEW = 10_000
"""Number of pairs below which further threads take longer to start than they save."""


class Edits:
    """Levenshtein distances between the sequences of two logs, for any rows and columns."""

    def __init__(self, left: Variants, right: Variants) -> None:
        self._left, self._right = left.lengths, right.lengths
        self._words, self._others = spelled(left, right)

    def whole(self, rows: Integers, columns: Integers) -> Integers:
        """The least insertions, deletions and replacements that turn each row into each column."""
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist

        found: Integers = cdist(
            [self._words[i] for i in rows],
            [self._others[j] for j in columns],
            scorer=Levenshtein.distance,
            dtype=np.int32,
            workers=1 if len(rows) * len(columns) < FEW else -1,
        ).astype(np.int64)
        return found

    def longer(self, rows: Integers, columns: Integers) -> Integers:
        """The length of the longer sequence of each pair, at least 1."""
        lengths: Integers = np.maximum(self._left[rows][:, None], self._right[columns][None, :])
        return np.maximum(lengths, 1).astype(np.int64)


def edit_distances(left: Variants, right: Variants) -> Floats:
    """Levenshtein distance of every pair of sequences, over the longer length."""
    edits = Edits(left, right)
    everything = np.arange(len(left)), np.arange(len(right))
    found: Floats = edits.whole(*everything) / edits.longer(*everything)
    return found


def spelled(left: Variants, right: Variants) -> tuple[list[str], list[str]]:
    """Each sequence as a string over one common alphabet, one letter per activity.

    Always two lists, even of one log: comparing a list with itself takes half as long again.
    """
    labels = sorted(set(left.activities) | set(right.activities))
    first = 0 if len(labels) <= 256 else 0x10000  # one byte per letter is faster
    letter = {label: first + i for i, label in enumerate(labels)}

    def spell(variants: Variants) -> list[str]:
        letters = np.array([letter[label] for label in variants.activities], dtype="<u4")
        text = letters[variants.codes].tobytes().decode("utf-32-le")
        bounds = variants.offsets.tolist()
        return [text[a:b] for a, b in pairwise(bounds)]

    words = spell(left)
    return words, words.copy() if right is left else spell(right)
