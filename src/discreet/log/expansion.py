"""Expansions: variants written out as a log of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress

import numpy as np
import polars as pl

from discreet.arrays import Integers, Ints
from discreet.log.columns import laid_out
from discreet.log.events import CASE, Classifier, EventLog, assemble
from discreet.log.instants import SECOND
from discreet.log.variants import Variants, spans


@dataclass(frozen=True)
class Expansion:
    """Variants as a log: one case per count, in the given order and under the given names.

    Times are plainly artificial: every case begins on 1970-01-01 and takes a second per event. So
    cases of one variant differ in their names only, and what is written of them is made once.
    """

    variants: Variants
    order: Ints
    names: Sequence[str]
    columns: Mapping[str, str] = field(default_factory=dict)
    classifier: Classifier = "activity"

    @cached_property
    def _chosen(self) -> tuple[list[str], Integers]:
        chosen = np.repeat(np.arange(len(self.variants)), self.variants.counts)[self.order]
        written = self.variants.lengths[chosen] > 0  # a case without events leaves no trace
        return list(compress(self.names, written)), chosen[written]

    @property
    def case_ids(self) -> list[str]:
        """The names of the cases that have events."""
        return self._chosen[0]

    @property
    def variant_of_case(self) -> Integers:
        """The place of each case in `patterns`."""
        return self._chosen[1]

    @cached_property
    def patterns(self) -> EventLog:
        """A log with one case of each variant: all that can be said of a case but its name."""
        count = len(self.variants)
        return self._assembled(list(map(str, range(count))), np.arange(count))

    def table_of(self, patterns: pl.DataFrame) -> pl.DataFrame:
        """The events of all cases, from those of `patterns` in whatever form a file needs."""
        names, chosen = self._chosen
        rows, offsets = spans(self.patterns.offsets, chosen)
        case = np.repeat(np.arange(len(names)), np.diff(offsets))
        return patterns[rows].with_columns(pl.Series(CASE, names, pl.String).gather(case))

    def log(self) -> EventLog:
        """The log itself."""
        return self._assembled(*self._chosen)

    def _assembled(self, names: list[str], chosen: Integers) -> EventLog:
        variants = self.variants
        positions, offsets = spans(variants.offsets, chosen)
        seconds = np.arange(len(positions)) - np.repeat(offsets[:-1], np.diff(offsets))
        codes = variants.codes[positions].astype(np.int64)
        log = assemble(names, variants.activities, codes, offsets, seconds * SECOND)
        return laid_out(log, self.columns, self.classifier)


def expand(variants: Variants, order: Ints, names: Sequence[str]) -> EventLog:
    """One case per count, in the given order and under the given names; see `Expansion`."""
    return Expansion(variants, order, names).log()


def numbered(variants: Variants) -> Expansion:
    """The cases in the order of their variants, with numbers as names."""
    names = list(map(str, range(1, variants.cases + 1)))
    return Expansion(variants, np.arange(variants.cases), names)


def one_by_one(variants: Variants) -> EventLog:
    """The numbered cases as a log."""
    return numbered(variants).log()
