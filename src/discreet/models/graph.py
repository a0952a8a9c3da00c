"""Directly-follows graphs with a start and an end, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.arrays import Floats


@dataclass(frozen=True, eq=False)
class Graph:
    """How often one activity follows another, a case starts with it, or ends with it.

    Zero means: never. Floats may be noisy counts of anything.
    """

    labels: tuple[str, ...]
    follows: Floats
    start: Floats
    end: Floats

    @classmethod
    def of_sequences(cls, sequences: Mapping[tuple[str, ...], int]) -> Graph:
        """Count every pair as often as it occurs."""
        labels = tuple(sorted({label for sequence in sequences for label in sequence}))
        number = {label: i for i, label in enumerate(labels)}
        follows = np.zeros((len(labels), len(labels)))
        start, end = np.zeros(len(labels)), np.zeros(len(labels))
        for sequence, count in sequences.items():
            if sequence:
                codes = [number[label] for label in sequence]
                start[codes[0]] += count
                end[codes[-1]] += count
                for a, b in pairwise(codes):
                    follows[a, b] += count
        return cls(labels, follows, start, end)

    @classmethod
    def from_square(cls, labels: tuple[str, ...], square: Floats) -> Graph:
        """From a matrix whose last row is START and whose last column is END."""
        return cls(labels, square[:-1, :-1], square[-1, :-1], square[:-1, -1])

    @property
    def square(self) -> Floats:
        """One matrix: last row START, last column END."""
        size = len(self.labels)
        result = np.zeros((size + 1, size + 1))
        result[:-1, :-1], result[-1, :-1], result[:-1, -1] = self.follows, self.start, self.end
        return result

    def part(self, members: Iterable[int], start: Floats, end: Floats) -> Graph:
        """The graph on some activities, with the start and end weights given for all."""
        chosen = sorted(members)
        return Graph(
            tuple(self.labels[i] for i in chosen),
            self.follows[chosen][:, chosen],
            start[chosen],
            end[chosen],
        )

    def trimmed(self) -> Graph:
        """Only the activities that some edge touches."""
        touched = self.follows.any(axis=0) | self.follows.any(axis=1)
        touched |= (self.start > 0) | (self.end > 0)
        return self if touched.all() else self.part(touched.nonzero()[0], self.start, self.end)

    def frequent(self, share: float) -> Graph:
        """Without the edges rarer than `share` of the most frequent one from the same activity.

        The infrequent variant of the Inductive Miner cuts this graph where the full one has no
        cut. An end counts as an edge from its activity, but no end is dropped; rare starts are
        compared with the most frequent start.
        """
        most = np.maximum(self.follows.max(axis=1, initial=0), self.end)
        follows = np.where(self.follows > share * most[:, None], self.follows, 0)
        start = np.where(self.start >= share * self.start.max(initial=0), self.start, 0)
        return Graph(self.labels, follows, start, self.end)
