"""What makes a log hard to protect: people with many cases, and variants that are rare."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from discreet.log.cautions import BOUNDS, kept_by
from discreet.log.events import EventLog
from discreet.mechanisms.base import Mechanism
from discreet.privacy.steps import Selecting
from discreet.releasing.request import variants_of

# Tuned
COUNTS = (1, 2, 5, 10, 20, 50, 100)
"""Sizes, in cases, up to which a variant may be called rare."""


@dataclass(frozen=True)
class Bound:
    """What is kept under a bound on the cases of each person."""

    cases_per_individual: int
    cases_kept: float
    """Share of all cases."""
    people_whole: float
    """Share of the people who lose nothing."""


@dataclass(frozen=True)
class People:
    """How many cases each person has."""

    people: int
    cases: int
    most: int
    bounds: tuple[Bound, ...]


@dataclass(frozen=True)
class Rarity:
    """How many cases follow a variant that at most `count` cases follow."""

    count: int
    variants: int
    cases: float
    """Share of all cases."""


@dataclass(frozen=True)
class Visible:
    """Which variants a budget can show as they are; the threshold follows from the budget alone."""

    epsilon: float
    count: int
    """Smallest number of cases with which a variant is shown more often than not."""
    variants: int
    cases: float
    """Share of all cases that follow such a variant."""


def people_of(log: EventLog) -> People | None:
    """Cases per person and what each bound keeps, up to the first that keeps everything; None
    if the log names nobody."""
    if log.individual is None:
        return None
    owned = log.cases_of_individuals()
    bounds = []
    for bound in BOUNDS:
        kept = kept_by(owned, bound)
        bounds.append(Bound(bound, kept, float((owned <= bound).mean())))
        if kept == 1.0:
            break
    return People(len(owned), log.cases, int(owned.max()), tuple(bounds))


def rarity_of(log: EventLog) -> tuple[Rarity, ...]:
    """How rare the variants are, by size, up to the first size that covers all of them."""
    counts = log.variants.counts
    found = []
    for size in COUNTS:
        rare = counts <= size
        found.append(Rarity(size, int(rare.sum()), float(counts[rare].sum() / counts.sum())))
        if rare.all():
            break
    return tuple(found)


def visible_by(log: EventLog, mechanism: Mechanism) -> Visible | None:
    """The variants that a release by this mechanism shows more often than not.

    None where it shows no variant as it is, whatever the number of its cases.
    """
    tree = variants_of(mechanism).spending
    found = [step.selection for step in tree.walk() if isinstance(step, Selecting)] if tree else []
    least = [_shown_from(one) for one in found if isinstance(one, Gradual)]
    if not least:
        return None
    counts = log.variants.counts
    shown = counts >= min(least)
    share = float(counts[shown].sum() / counts.sum())
    return Visible(mechanism.epsilon, min(least), int(shown.sum()), share)


@runtime_checkable
class Gradual(Protocol):
    """A selection that knows the probability of showing a variant."""

    def probability(self, count: int) -> Fraction | float:
        """The probability that a variant with `count` cases is shown."""


def _shown_from(selection: Gradual) -> int:
    """Smallest number of cases with which a variant is shown at least half of the time."""
    low, high = 0, 1
    while 2 * selection.probability(high) < 1:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if 2 * selection.probability(middle) >= 1 else (middle, high)
    return high
