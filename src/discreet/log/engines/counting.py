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

Which side of this a log is on changes nothing of a release: the numbering is the same.
"""


@dataclass(frozen=True)
class InEngine:
    """The variants of an engine in canonical order, which is that of the variants in memory.

    The order is that of the sequences themselves. No count has a say in it, nor the order of the
    cases, nor how the engine keeps them: so no tie is broken by what is behind the noise, and one
    seed gives one release wherever the variants are.
    """

    engine: Engine

    @cached_property
    def sizes(self) -> Sizes:
        """How many cases follow each variant and how many events it has."""
        return self.engine.sizes()

    @property
    def counts(self) -> Integers:
        """How many cases follow each variant."""
        return self.sizes.cases

    @property
    def lengths(self) -> Integers:
        """How many events each variant has."""
        return self.sizes.length

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
        return len(self.counts)

    def take(self, indices: Ints, counts: Ints | None = None) -> Variants:
        """The chosen variants in the order given, with new counts if any are given."""
        found = self.engine.picked(np.asarray(indices, np.int64))
        return found if counts is None else replace(found, counts=np.asarray(counts, np.int64))
