"""Which values of an attribute are named, and the warning for its holder."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.events import EventLog
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step
from discreet.privacy.transcript import note, unheard
from discreet.wholelogs.attributes import MOST_VOTES, Observed
from discreet.wholelogs.courses import Courses
from discreet.wholelogs.declaring import Attribute
from discreet.wholelogs.spending import NAMES
from discreet.wholelogs.tables import noisy_sum

OTHER = "(other)"
"""Stands for all values that are not named."""

MUCH_LOST = 0.2
"""The holder is warned if values that are too rare to be named have such a share of the events."""


@dataclass(frozen=True, eq=False)
class Names:
    """The values that are named, the number of each observed value, and noisy counts if any."""

    named: pl.Series
    number: Integers
    """Of each observed value: its place among the named ones, or else how many there are."""
    counts: Floats | None
    deviation: float

    def __len__(self) -> int:
        return len(self.named)

    @classmethod
    def find(
        cls, observed: Observed, courses: Courses, attribute: Attribute, spending: Step,
        rng: Randomness,
    ) -> Names:  # fmt: skip
        """Those that are public, or else those whose noisy count reaches a threshold.

        A case gives 1/√k to each of k of its values: one if it is the case's, else up to
        `MOST_VOTES`, so a vector of length 1 at most. A value is named if its sum with noise N
        reaches T: of t values that only one case has some is named with probability at most
        t·P[N ≥ T − 1/√t] ≤ t·e^{−(T − 1/√t)²/2σ²} ≤ δ′, since the discrete Gaussian is subgaussian
        (Canonne, Kane, Steinke 2020). Counts of values that are not named are dropped.
        """
        values = observed.values
        if attribute.known:
            place = {value: i for i, value in enumerate(attribute.known)}
            many = len(place)
            number = np.array([place.get(v, many) for v in values.to_list()], dtype=np.int64)
            return cls(pl.Series(attribute.known, dtype=pl.String), number, None, 0.0)
        step = spending.find(f"{NAMES}{attribute.column}", Gaussian)
        if attribute.of_case:
            one = observed.of_cases(courses.offsets)
            owner, value = np.flatnonzero(one >= 0), one[one >= 0]
        else:
            owner, value = observed.votes(courses.offsets, rng)
        with unheard():
            noisy, deviation = noisy_sum(owner, value, len(values), courses.cases, 1, step, rng)
        least = naming_threshold(step, 1 if attribute.of_case else MOST_VOTES)
        shown = np.flatnonzero(noisy >= least)
        note(step.name, noisy[shown])
        number = np.full(len(values), len(shown))
        number[shown] = np.arange(len(shown))
        return cls(values.gather(shown), number, noisy[shown], deviation)


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


def rare_values(log: EventLog, attribute: Attribute, spending: Step | None) -> list[str]:
    """For the holder of the log: what becomes `(other)` if that is much. Reads the raw log."""
    least = least_named(attribute, spending)
    observed = Observed.of(log, attribute)
    held = np.flatnonzero(observed.present)
    if not least or attribute.numeric or not len(held):
        return []
    case = np.searchsorted(log.offsets, held, side="right") - 1
    wide = max(1, len(observed.values))
    cases = np.bincount(np.unique(case * wide + observed.codes[held]) % wide, minlength=wide)
    rare = cases < least
    lost = float(rare[observed.codes[held]].mean())
    if lost < MUCH_LOST:
        return []
    return [
        f"{int(rare.sum()):,} of {wide:,} values of {attribute.column} are in fewer than {least:,} "
        f"cases; they have {lost:.0%} of its events and will mostly become {OTHER}. Leave the "
        f"column out, release a coarser one, name its values if they are public "
        f"({attribute.column}=A|B|C), or raise epsilon"
    ]
