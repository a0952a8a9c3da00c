"""The variants of a log as a tree of their prefixes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Integers
from discreet.log.variants import Variants


@dataclass(frozen=True)
class Level:
    """The nodes of one depth of a prefix tree: parent (in the level above) and activity."""

    parent: Integers
    symbol: Integers
    cases: Integers
    """How many cases have this prefix."""


class PrefixTree:
    """The distinct prefixes of a log's variants, level by level."""

    def __init__(self, variants: Variants) -> None:
        self.activities = variants.activities
        self.counts = np.asarray(variants.counts, dtype=np.int64)
        lengths, begin = np.asarray(variants.lengths), np.asarray(variants.offsets[:-1])
        width = max(len(variants.activities), 1)
        self.levels: list[Level] = []
        self.ends: list[tuple[Integers, Integers]] = []
        """For each level, variants that end there and their node."""
        alive = np.arange(len(lengths))
        node = np.zeros(len(lengths), dtype=np.int64)
        depth = 0
        while True:
            over = lengths[alive] == depth
            self.ends.append((alive[over], node[over]))
            alive, node = alive[~over], node[~over]
            if not alive.size:
                break
            keys = node * width + variants.codes[begin[alive] + depth]
            distinct, node = np.unique(keys, return_inverse=True)
            cases = np.bincount(node, weights=self.counts[alive]).astype(np.int64)
            self.levels.append(Level(distinct // width, distinct % width, cases))
            depth += 1
