"""Mechanisms that are broken on purpose: what an audit must be able to tell from the sound ones.

A mutant is the mechanism itself with another tree of steps: the same costs, the same promise, but
leaves that are silent. Or it is the mechanism on logs of an engine that keeps variants in an order
which tells of their counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.audits.reference import ExactGaussian
from discreet.log.engines.counting import InEngine
from discreet.log.engines.lazy import staying
from discreet.log.engines.memory import MemoryEngine
from discreet.log.engines.protocol import Sizes
from discreet.log.variants import Variants
from discreet.mechanisms.base import Mechanism, with_leaves
from discreet.mechanisms.choice import Choice
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import Rational
from discreet.privacy.partition import Selection
from discreet.privacy.randomness import Randomness
from discreet.privacy.selection import Score
from discreet.privacy.steps import (
    Choosing,
    Gaussian,
    Laplace,
    SampledGaussian,
    Selecting,
    Step,
)
from discreet.privacy.transcript import note
from discreet.releases import Artefact

if TYPE_CHECKING:
    from discreet.log.events import EventLog

Mutated = TypeVar("Mutated", bound=Mechanism)


@dataclass(frozen=True)
class NoNoise(CountNoise):
    """Zeros in place of noise."""

    def draw(self, size: int, rng: Randomness) -> Integers:
        """Zeros."""
        return np.zeros(size, dtype=np.int64)


def _none(noise: CountNoise) -> NoNoise:
    return NoNoise(noise.kind, noise.size, noise.name)


class SilentLaplace(Laplace):
    """Counts as they are."""

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """None."""
        return _none(super().noise(sensitivity))


class SilentGaussian(Gaussian):
    """Counts as they are."""

    def noise(self, sensitivity_squared: Rational = 1) -> CountNoise:
        """None."""
        return _none(super().noise(sensitivity_squared))


class SilentSampledGaussian(SampledGaussian):
    """Sums over samples as they are."""

    def noise(self, sensitivity_squared: Rational = 1) -> CountNoise:
        """None."""
        return _none(super().noise(sensitivity_squared))


class SilentExactGaussian(ExactGaussian):
    """Counts as they are."""

    def noise(self) -> CountNoise:
        """None."""
        return _none(super().noise())


class SilentChoosing(Choosing):
    """The best, or the best few, without any chance."""

    def choose(
        self, scores: Iterable[Score], sensitivity: Rational, *, monotone: bool, rng: Randomness
    ) -> int:
        """The first of the highest scores."""
        chosen = _ranked(scores)[0]
        note(self.name, [chosen])
        return chosen

    def choose_several(
        self, scores: Iterable[Score], k: int, sensitivity: Rational, *, rng: Randomness
    ) -> list[int]:
        """The k highest, earlier ones first among equals."""
        chosen = _ranked(scores)[:k]
        note(self.name, chosen)
        return chosen


def _ranked(scores: Iterable[Score]) -> list[int]:
    exact = [Fraction(int(score.numerator), int(score.denominator)) for score in scores]
    return sorted(range(len(exact)), key=lambda place: -exact[place])


SILENT: dict[type[Step], type[Step]] = {
    Choosing: SilentChoosing,
    ExactGaussian: SilentExactGaussian,
    Gaussian: SilentGaussian,
    Laplace: SilentLaplace,
    SampledGaussian: SilentSampledGaussian,
    Selecting: Selecting,
}


def noisy_leaves(mechanism: Mechanism) -> list[str]:
    """The steps of a mechanism that draw noise, by name; none where no promise is made.

    A whole release by another mechanism is none of them: that mechanism has mutants of its own.
    """
    if mechanism.spending is None:
        return []
    return [step.name for step in mechanism.spending.walk() if type(step) in SILENT]


def without_noise(mechanism: Mutated, leaf: str) -> Mutated:
    """The mechanism, whose step of that name draws no noise."""
    return _silenced(mechanism, {leaf})


def alone(mechanism: Mutated, leaf: str, log: EventLog) -> Mutated:
    """The mechanism, of whose steps only this one draws noise.

    The candidates of a choice are fixed: what they would release of `log` without noise.
    """
    mutant = _silenced(mechanism, set(noisy_leaves(mechanism)) - {leaf})
    if isinstance(mechanism, Choice):
        built = mechanism.built_at(mechanism.case_budget)
        quiet = [_silenced(one, set(noisy_leaves(one))) for one in built]
        fixed = [Fixed(one._draw(log, Randomness.system())) for one in quiet]
        mutant.__dict__["built_at"] = partial(_same, fixed)
    return mutant


@dataclass(frozen=True)
class Fixed:
    """A candidate that reads nothing."""

    artefact: Artefact

    def _draw(self, log: EventLog, rng: Randomness) -> Artefact:
        return self.artefact

    def check(self, log: EventLog) -> None:
        """Nothing is refused."""


class Unsorted(Variants):
    """Variants that are released in the order in which they were taken."""

    def trimmed(self) -> Unsorted:
        """As they are."""
        return self


class ByCounts(MemoryEngine):
    """An engine that numbers its variants by how many cases follow them."""

    def sizes(self) -> Sizes:
        """How many cases follow each variant and how many events it has, in that order."""
        cases, length = super().sizes()
        order = self._order
        return Sizes(cases[order], length[order])

    def picked(self, places: Integers) -> Variants:
        """The variants at these places of that order, in which they stay."""
        found = super().picked(self._order[places])
        return Unsorted(found.activities, found.codes, found.offsets, found.counts)

    @cached_property
    def _order(self) -> Integers:
        return np.lexsort(super().sizes()[::-1])


def numbered_by_counts(mechanism: Mutated) -> Mutated:
    """The mechanism, to which an engine that numbers variants by their counts shows the log.

    Its ties are broken, and what comes out is ordered, by what noise should have hidden.
    """
    mutant = copy(mechanism)

    def draw(log: EventLog, rng: Randomness) -> Artefact:
        shown = staying(log)
        shown.__dict__["counted"] = InEngine(ByCounts(log))
        drawn: Artefact = mechanism._draw(shown, rng)
        return drawn

    mutant.__dict__["_draw"] = draw
    return mutant


def _silenced(mechanism: Mutated, names: set[str]) -> Mutated:
    return with_leaves(mechanism, partial(_silent, names=names))


def _quiet_selection(selection: Selection) -> Selection:
    """The selection that shows every key whose true count passes the threshold, with that count."""
    quiet = copy(selection)
    quiet.__dict__["noisy"] = _as_counted
    return quiet


def _as_counted(counts: Ints, rng: Randomness) -> Ints:
    return counts


def _same(value: Any, budget: Budget) -> Any:
    return value


def _silent(leaf: Step, names: set[str]) -> Step | None:
    """A silent leaf in place of one of these names."""
    if leaf.name not in names or type(leaf) not in SILENT:
        return None
    values = {entry.name: getattr(leaf, entry.name) for entry in fields(leaf)}
    if isinstance(leaf, Selecting):
        values["selection"] = _quiet_selection(leaf.selection)
    return SILENT[type(leaf)](**values)
