"""Variants that stay in the engine: counts here, sequences on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.log.engines.protocol import Engine, Sizes
from discreet.log.variants import Variants

MOST_VARIANTS = 1_000_000
"""More variants stay in the engine, and only those that are released or sampled leave it.

Which side of this a log is on changes nothing of the distribution of a release: noise is drawn
for each variant of a count alike, whatever the order in which they are numbered.
"""


@dataclass(frozen=True)
class InEngine:
    """The variants of an engine, numbered by cases, then length, then the engine's own order.

    The numbering is fixed before any noise is drawn and never changes, and a decision that draws
    independently for each variant by its count has the same distribution in every numbering. So
    partition selection of these counts is that of the variants in memory, to the last bit of its
    distribution: with S variants of n cases, how many of them are shown is Binomial(S, π(n)),
    which ones is uniform, and their noise is that of a variant that is shown.
    """

    engine: Engine

    @cached_property
    def sizes(self) -> Sizes:
        """How many variants there are of each number of cases and each length."""
        return self.engine.sizes()

    @cached_property
    def counts(self) -> Integers:
        """How many cases follow each variant."""
        counts: Integers = np.repeat(self.sizes.cases, self.sizes.variants)
        return counts

    @cached_property
    def lengths(self) -> Integers:
        """How many events each variant has."""
        lengths: Integers = np.repeat(self.sizes.length, self.sizes.variants)
        return lengths

    @property
    def activities(self) -> tuple[str, ...]:
        """The labels that the sequences are made of."""
        return self.engine.facts().activities

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.engine.facts().cases

    def __len__(self) -> int:
        """Number of variants."""
        return int(self.sizes.variants.sum())

    def take(self, indices: Ints, counts: Ints | None = None) -> Variants:
        """The chosen variants in the order given, with new counts if any are given."""
        ends = np.cumsum(self.sizes.variants)
        size = np.searchsorted(ends, indices, side="right")
        rank = indices - (ends - self.sizes.variants)[size]
        found = self.engine.picked(self.sizes.cases[size], self.sizes.length[size], rank)
        return found if counts is None else replace(found, counts=np.asarray(counts, np.int64))
