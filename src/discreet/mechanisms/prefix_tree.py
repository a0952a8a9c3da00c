"""A prefix tree of variants, grown level by level on integer arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.log.variants import Ints, Variants

CANDIDATES = 200_000
"""At most this many candidates are looked at on one level, whatever the log and the budget."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """The prefixes of one length that were kept: where they hang, how they go on, their count.

    `parent` indexes the level before; the symbol after the last activity is the end ⊥.
    """

    parent: Integers
    symbol: Integers
    count: Integers


class PrefixTree:
    """A growing tree, with all variants of a log standing at the prefixes they have reached.

    Candidates of the next level are numbered prefix · symbols + symbol, over the open prefixes of
    the last level. A case adds one to exactly one candidate of each level that it reaches.
    """

    def __init__(self, variants: Variants) -> None:
        self.activities = variants.activities
        self.symbols = len(variants.activities) + 1
        self.levels: list[Level] = []
        self.open = np.zeros(1, dtype=np.int64)
        self._variants = variants
        self._here = np.arange(len(variants))
        self._prefix = np.zeros(len(variants), dtype=np.int64)

    @property
    def depth(self) -> int:
        """The length of the longest prefixes so far."""
        return len(self.levels)

    @property
    def end(self) -> int:
        """The symbol of ⊥."""
        return self.symbols - 1

    @property
    def most_open(self) -> int:
        """How many open prefixes the next level may have, so that it stays within bounds."""
        return max(1, CANDIDATES // self.symbols)

    def raw_counts(self) -> Integers:
        """How many cases follow each candidate. Raw: to be noised before anything is decided."""
        counts = np.bincount(
            self._keys(),
            weights=self._variants.counts[self._here],
            minlength=len(self.open) * self.symbols,
        )
        return counts.astype(np.int64)

    def _keys(self) -> Integers:
        """The candidate that each variant still in the tree follows."""
        ended = self._variants.lengths[self._here] == self.depth
        symbols = np.full(len(self._here), self.end, dtype=np.int64)
        going = self._here[~ended]
        symbols[~ended] = self._variants.codes[self._variants.offsets[going] + self.depth]
        keys: Integers = self._prefix * self.symbols + symbols
        return keys

    def grow(self, chosen: Ints, counts: Ints) -> None:
        """Keep the chosen candidates, numbered in ascending order, with these noisy counts."""
        keys = self._keys()
        parent, symbol = np.divmod(np.asarray(chosen, dtype=np.int64), self.symbols)
        place = np.full(len(self.open) * self.symbols, -1, dtype=np.int64)
        going_on = np.flatnonzero(symbol != self.end)
        place[chosen[going_on]] = np.arange(len(going_on))
        self.levels.append(Level(self.open[parent], symbol, np.asarray(counts, dtype=np.int64)))
        self.open = going_on
        self._prefix = place[keys]
        inside = self._prefix >= 0
        self._prefix, self._here = self._prefix[inside], self._here[inside]

    def sequences(self) -> list[Integers]:
        """For each level the symbols of its prefixes, one row each."""
        rows = [np.zeros((1, 0), dtype=np.int64)]
        for level in self.levels:
            rows.append(np.column_stack([rows[-1][level.parent], level.symbol]))
        return rows[1:]

    def variants(self, leaves: list[tuple[Integers, Integers]]) -> Variants:
        """The given prefixes (indices and counts by level) as variants; ⊥ is left out."""
        codes, lengths, counts = [], [], []
        for rows, (chosen, count) in zip(self.sequences(), leaves, strict=True):
            shown = chosen[count > 0]
            ended = rows[shown, -1] == self.end
            length = rows.shape[1] - ended
            for part, size in ((shown[ended], rows.shape[1] - 1), (shown[~ended], rows.shape[1])):
                codes.append(rows[part, :size].ravel())
            order = np.argsort(~ended, kind="stable")
            lengths.append(length[order])
            counts.append(count[count > 0][order])
        if not codes:
            return Variants.empty()
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        flat = np.concatenate(codes).astype(np.int32)
        distinct, variant_of = Variants.of_cases(self.activities, flat, offsets)
        total = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(total, variant_of, np.concatenate(counts))
        return distinct.take(np.arange(len(distinct)), total).trimmed()
