"""What DPIM reads of the log: three statistics, each of bounded sensitivity.

Every function of this file maps each case on its own; sums over cases are the only thing that
leaves it without noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.models.replay import PrefixTree, Replay, replay
from discreet.models.tree import Tree

# Proof
GRID = 10_000
"""Real-valued shares of a case are rounded down to multiples of 1/GRID before they are added."""

# Tuned for memory
MOST_REMEMBERED_SCORES = 20_000
"""Most scores of trees that are kept."""


class CaseStatistics:
    """The cases of a log seen through a public alphabet; other events are passed over.

    Cases left without an event stay: under swap their number is public with the others'.
    """

    def __init__(self, variants: Variants, labels: tuple[str, ...]) -> None:
        self.labels = labels
        self.variants = variants.through(labels)
        self._scores: dict[tuple[Tree, object], int] = {}

    @property
    def number(self) -> int:
        """The number of cases: public under swap of cases, and only there."""
        return self.variants.cases

    @cached_property
    def prefixes(self) -> PrefixTree:
        """The variants as a prefix tree, for replay."""
        return PrefixTree(self.variants)

    @cached_property
    def _pairs(self) -> tuple[Integers, Integers]:
        """The distinct directly-follows pairs of each variant: variant and cell."""
        source, target, owner = pairs(self.variants)
        cells = (len(self.labels) + 1) ** 2
        keys = np.unique(owner * cells + source * (len(self.labels) + 1) + target)
        return keys // cells, keys % cells

    def pair_counts(self) -> Integers:
        """The number of cases with each pair: a matrix, START the last row, END the last column.

        A case changes each cell by at most one, and as many cells as it has distinct pairs.
        """
        return self._summed(np.ones(len(self.variants), dtype=np.int64))

    def bounded_pair_counts(self, max_pairs: int, norm: int) -> Integers:
        """These counts in units of 1/GRID; a case with more than `max_pairs` pairs counts less.

        A case with k pairs gives each of them min(1, max_pairs/k)^(1/norm), rounded down. Its
        contribution then has L1 norm at most GRID·max_pairs (norm 1), or squared L2 norm at most
        GRID²·max_pairs (norm 2).
        """
        owner, _ = self._pairs
        distinct = np.bincount(owner, minlength=len(self.variants))
        weights = np.full(len(self.variants), GRID, dtype=np.int64)
        for k in np.unique(distinct[distinct > max_pairs]).tolist():
            weights[distinct == k] = (
                GRID * max_pairs // k if norm == 1 else math.isqrt(GRID**2 * max_pairs // k)
            )
        return self._summed(weights)

    def _summed(self, weights: Integers) -> Integers:
        owner, cell = self._pairs
        size = len(self.labels) + 1
        result = np.zeros(size * size, dtype=np.int64)
        np.add.at(result, cell, self.variants.counts[owner] * weights[owner])
        return result.reshape(size, size)

    def first_and_last(self, members: set[int]) -> tuple[Integers, Integers]:
        """The number of cases in which each activity is the first, and the last, of the given ones.

        A case adds one to one cell of each, or nothing.
        """
        chosen = np.zeros(len(self.labels) + 1, dtype=bool)
        chosen[list(members)] = True
        positions = np.flatnonzero(chosen[self.variants.codes])
        owner = np.repeat(np.arange(len(self.variants)), self.variants.lengths)[positions]
        first, last = np.zeros((2, len(self.labels)), dtype=np.int64)
        if positions.size:
            begins = np.flatnonzero(np.diff(owner, prepend=-1))
            ends = np.append(begins[1:], len(owner)) - 1
            for counts, at in ((first, begins), (last, ends)):
                codes = self.variants.codes[positions[at]]
                np.add.at(counts, codes, self.variants.counts[owner[at]])
        return first, last

    def replay(self, tree: Tree) -> Replay:
        """The replay of every case on a tree."""
        return replay(tree, self.prefixes)

    def fitness_of(self, tree: Tree, *, pooled: bool = False) -> int:
        """The sum of the cases' fitness in units of 1/GRID; `pooled`: over all their tokens."""
        score = self._pooled_sum if pooled else self.fitness_sum
        return self._remembered(tree, pooled, score)

    def quality_of(self, tree: Tree, weight: float) -> int:
        """The sum of the cases' scores of a tree in units of 1/GRID."""
        score = partial(self.quality_sum, weight=weight)
        return self._remembered(tree, ("quality", weight), score)

    def _remembered(self, tree: Tree, what: object, score: Callable[[Replay], int]) -> int:
        """A score, computed once: the same trees come again in other rounds and releases."""
        if (tree, what) not in self._scores:
            if len(self._scores) >= MOST_REMEMBERED_SCORES:
                self._scores.clear()
            self._scores[tree, what] = score(self.replay(tree))
        return self._scores[tree, what]

    def _pooled_sum(self, result: Replay) -> int:
        return int(result.pooled_fitness * self.number * GRID)

    def fitness_sum(self, result: Replay) -> int:
        """The sum of the cases' fitness in units of 1/GRID; a case adds between 0 and GRID."""
        return int(self._floored(result.variant_fitness) @ self.variants.counts)

    def quality_sum(self, result: Replay, weight: float) -> int:
        """The sum of the cases' scores in units of 1/GRID; a case adds between 0 and GRID.

        The score of a case is weight·(fitness·known) + (1 − weight)·narrowness: `known` is the
        share of its events that the tree has, narrowness is 1 − ln(choices)/ln(activities), where
        `choices` is the mean number of activities that the tree allows along the case. It stands
        for precision, which is not a mean over cases.
        """
        lengths = np.maximum(self.variants.lengths, 1)
        owner = np.repeat(np.arange(len(self.variants)), self.variants.lengths)
        seen = result.automaton.known[self.variants.codes].astype(np.int64)
        known = np.bincount(owner, weights=seen, minlength=len(self.variants)) / lengths
        known[self.variants.lengths == 0] = 1
        widest = math.log(max(len(self.labels), 2))
        # One logarithm at a time: vectorised ones may round by position, hence by other cases.
        narrow = [1 - math.log(max(c, 1.0)) / widest for c in result.variant_choices.tolist()]
        score = weight * (result.variant_fitness * known) + (1 - weight) * np.array(narrow)
        return int(self._floored(score) @ self.variants.counts)

    @staticmethod
    def _floored(values: Floats) -> Integers:
        floored = np.floor(np.clip(values, 0, 1) * GRID)
        return np.asarray(floored, dtype=np.int64)
