"""The cells in which the values of an attribute are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.attributes import Observed
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.declaring import Attribute
from discreet.mechanisms.whole.naming import OTHER, Names
from discreet.mechanisms.whole.numbers import Numbers
from discreet.mechanisms.whole.tables import Known
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Step


@dataclass(frozen=True, eq=False)
class Cells:
    """How values are counted: named ones one by one, others together or in parts, missing ones."""

    attribute: Attribute
    names: Names
    numbers: Numbers | None

    @classmethod
    def learn(
        cls, source: Source, held: Callable[[Courses], tuple[Integers, Integers]],
        expected: float, bound: int, attribute: Attribute, spending: Step, rng: Randomness,
    ) -> Cells:  # fmt: skip
        """Names, and for numbers that are not named the parts into which they fall.

        `held` has cases and codes of their values (−1 is none). To magnitudes and grains a case
        adds one for each of these, as a whole bounded by `bound`. About `expected` are there in
        all.
        """
        names = Names.find(source, attribute, spending, rng)
        if not attribute.numeric:
            return cls(attribute, names, None)

        def unnamed(courses: Courses) -> tuple[Integers, Floats]:
            observed, (case, code) = courses.observed(attribute), held(courses)
            rest = np.append(names.numbers(observed.values) == len(names), False)[code]
            return case[rest], observed.numbers()[code[rest]]

        seen = names.counts.sum() if attribute.of_case and names.counts is not None else 0.0
        numbers = Numbers.learn(
            source, unnamed, expected - float(seen), bound, attribute, spending, rng
        )
        return cls(attribute, names, numbers)

    @property
    def size(self) -> int:
        """Number of cells; the last is for missing values."""
        return len(self.names) + (1 if self.numbers is None else len(self.numbers.starts)) + 1

    def of(self, observed: Observed) -> Integers:
        """The cell of each observed value, and behind them that of a missing one."""
        found = self.names.numbers(observed.values)
        if self.numbers is not None:
            part = len(self.names) + self.numbers.parts(observed.numbers())
            found = np.where(found < len(self.names), found, part)
        return np.append(found, self.size - 1)

    def seen(self) -> tuple[Floats, Floats]:
        """Of an attribute of cases: what is known of each cell, and the precision of that."""
        counts, precision = np.zeros(self.size), np.zeros(self.size)
        many = len(self.names)
        if self.names.counts is not None:
            counts[:many], precision[:many] = self.names.counts, self.names.deviation**-2.0
        if self.numbers is not None:
            counts[many:-1], precision[many:-1] = self.numbers.mass, self.numbers.deviation**-2.0
        return counts, precision

    def known(self) -> Known | None:
        """Of an attribute of events: how numbers that are not named divide into parts."""
        if self.numbers is None:
            return None
        return Known(len(self.names), self.numbers.mass, self.numbers.deviation)

    def shown(self, cell: Integers, rng: Randomness) -> pl.Series:
        """Values of cells, under the column's name and in its declared type."""
        many, name, kind = len(self.names), self.attribute.column, self.attribute.kind
        if self.numbers is not None:
            listed = self.names.named.to_numpy().astype(np.float64)
            found = np.append(listed, np.full(self.size - many, np.nan))[cell]
            rest = np.flatnonzero((cell >= many) & (cell < self.size - 1))
            found[rest] = self.numbers.draw(cell[rest] - many, listed, rng)
            shown = pl.Series(name, found).fill_nan(None)
            return shown.round().cast(pl.Int64) if kind == "integer" else shown
        further = pl.Series([OTHER, None], dtype=pl.String)
        texts = pl.concat([self.names.named, further]).gather(cell).alias(name)
        return texts if kind == "text" else texts == "true"
