"""Variants of which the counts are known, and sequences only where they are asked for."""

from __future__ import annotations

from typing import Protocol

from discreet.arrays import Ints
from discreet.log.variants import Variants


class Counted(Protocol):
    """A multiset of sequences, of which there may be more than this process can hold.

    `counts` says how many cases follow each sequence; `take` brings the sequences themselves.
    Whatever is decided by the counts alone can be decided for all and fetched for a few. The
    sequences are in canonical order, as `Variants` are: their order tells nothing of the counts.
    """

    @property
    def activities(self) -> tuple[str, ...]:
        """The labels that the sequences are made of."""

    @property
    def counts(self) -> Ints:
        """How many cases follow each sequence."""

    @property
    def lengths(self) -> Ints:
        """Number of events of each sequence."""

    @property
    def cases(self) -> int:
        """Number of cases."""

    def __len__(self) -> int:
        """Number of sequences."""

    def take(self, indices: Ints, counts: Ints | None = None) -> Variants:
        """The chosen sequences in the order given, with new counts if any are given."""
