"""Which values of an attribute are named, and the warning for its holder."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.cases import AMOUNT, KEY, Cases, Sums, amounts
from discreet.mechanisms.blocks.contributions import grid_of
from discreet.mechanisms.whole.attributes import MOST_VOTES, Observed
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.declaring import Attribute
from discreet.mechanisms.whole.spending import NAMES
from discreet.mechanisms.whole.tables import added_by
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step
from discreet.privacy.transcript import note, unheard

OTHER = "(other)"
"""Stands for all values that are not named."""

MUCH_LOST = 0.2
"""The holder is warned if values that are too rare to be named have such a share of the events."""


@dataclass(frozen=True, eq=False)
class Names:
    """The values that are named, in order, and noisy counts if any."""

    named: pl.Series
    counts: Floats | None
    deviation: float

    def __len__(self) -> int:
        return len(self.named)

    def numbers(self, values: pl.Series) -> Integers:
        """Of each value: its place among the named ones, or else how many there are."""
        if not len(self):
            return np.zeros(len(values), dtype=np.int64)
        place = self.named.search_sorted(values).to_numpy().astype(np.int64)
        held = self.named.gather(np.minimum(place, len(self) - 1)) == values
        return np.where(held.to_numpy(), place, len(self))

    @classmethod
    def find(cls, source: Source, attribute: Attribute, spending: Step, rng: Randomness) -> Names:
        """Those that are public, or else those whose noisy count reaches a threshold.

        A case gives 1/√k to each of k of its values: one if it is the case's, else up to
        `MOST_VOTES`, so a vector of length 1 at most. A value is named if its sum with noise N
        reaches T: of t values that only one case has some is named with probability at most
        t·P[N ≥ T − 1/√t] ≤ t·e^{−(T − 1/√t)²/2σ²} ≤ δ′, since the discrete Gaussian is subgaussian
        (Canonne, Kane, Steinke 2020). Counts of values that are not named are dropped.
        """
        if attribute.known:
            return cls(pl.Series(attribute.known, dtype=pl.String), None, 0.0)
        step = spending.find(f"{NAMES}{attribute.column}", Gaussian)
        noise = step.noise(1)
        grid = grid_of(noise)
        key = 0 if attribute.of_case else rng.bits(63)
        votes = source.total(votes_for(attribute, key, grid))
        with unheard():
            noisy = noise.finer(grid).added(votes[AMOUNT].to_numpy(), rng) / grid
        least = naming_threshold(step, 1 if attribute.of_case else MOST_VOTES)
        shown = np.flatnonzero(noisy >= least)
        note(step.name, noisy[shown])
        return cls(votes[KEY].gather(shown), noisy[shown], noise.deviation)


def votes_for(attribute: Attribute, key: int, grid: int) -> Callable[[Courses], pl.DataFrame]:
    """A question: what the cases give to each value, in whole multiples of 1/grid."""

    def question(courses: Courses) -> pl.DataFrame:
        observed = courses.observed(attribute)
        if attribute.of_case:
            one = observed.of_cases(courses.offsets)
            owner, value = np.flatnonzero(one >= 0), one[one >= 0]
        else:
            owner, value = observed.votes(courses.offsets, courses.instants, key)
        many = max(1, len(observed.values))
        by_code = added_by(lambda _: (owner, value), many, 1, grid)(courses)
        return by_code.with_columns(observed.values.gather(by_code[KEY]).alias(KEY))

    return question


def naming_threshold(step: Gaussian, votes: int) -> float:
    """The least noisy sum at which a value is named, where a case has so many votes at most."""
    spread = math.sqrt(step.noise(1).size)
    many = range(1, votes + 1)
    return max(
        1 / math.sqrt(t) + spread * math.sqrt(2 * math.log(t / step.failing)) for t in many
    ) * (1 + 1e-9)


def least_named(attribute: Attribute, spending: Step | None) -> int:
    """In about how many cases a value must be to be named, 0 where names are public."""
    if attribute.known or spending is None:
        return 0
    step = spending.find(f"{NAMES}{attribute.column}", Gaussian)
    return math.ceil(naming_threshold(step, 1 if attribute.of_case else MOST_VOTES))


def rare_values(sums: Sums, attribute: Attribute, spending: Step | None) -> list[str]:
    """For the holder of the log: what becomes `(other)` if that is much. Reads the raw log."""
    least = least_named(attribute, spending)
    if not least or attribute.numeric:
        return []
    events, cases = (sums.total(partial(_holders, attribute, one)) for one in (False, True))
    held = events[AMOUNT].to_numpy()
    rare = cases[AMOUNT].to_numpy() < least
    lost = float(held[rare].sum() / max(1, held.sum()))
    if lost < MUCH_LOST:
        return []
    return [
        f"{int(rare.sum()):,} of {len(rare):,} values of {attribute.column} are in fewer than "
        f"{least:,} cases; they have {lost:.0%} of its events and will mostly become {OTHER}. "
        f"Leave the column out, release a coarser one, name its values if they are public "
        f"({attribute.column}=A|B|C), or raise epsilon"
    ]


def _holders(attribute: Attribute, by_case: bool, cases: Cases) -> pl.DataFrame:
    """How many events, or cases, have each value."""
    observed = Observed.of(cases.column(attribute.column), attribute)
    held = np.flatnonzero(observed.present)
    wide = max(1, len(observed.values))
    keys = observed.codes[held]
    if by_case:
        case = np.searchsorted(cases.offsets, held, side="right") - 1
        keys = np.unique(case * wide + keys) % wide
    value, many = np.unique(keys, return_counts=True)
    return amounts(observed.values.gather(value), many)
