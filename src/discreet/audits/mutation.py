"""Mutation tests: remove the noise of one step and check that the audit notices.

A mutant is the mechanism itself with another tree of steps: the same costs, the same promise, but
leaves that are silent. Or it is the mechanism on logs of an engine that keeps variants in an order
which tells of their counts.

Two things may go wrong by chance, and both chances are known. A sound step may be called
violated: an event is counted on runs that did not choose it and must break the budget at a p-value
below 10⁻⁹, divided among the turns, so that happens at most once in 10⁹ audits of a step. A silent
step may be missed: `chance_of_missing` computes how likely that is, exactly, from how often its
event was seen. Mostly it is always seen on one log and never on the other: without noise an answer
follows from the log, the answers before it, and coins that are known (`privacy/randomness.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from discreet.arrays import Integers, Ints
from discreet.audits.exact import ExactGaussian
from discreet.audits.measurement import TURNS, Turn, audit_mutant, breaks, fixed_before
from discreet.audits.result import Evidence, Power
from discreet.audits.subjects import AuditSubject
from discreet.log.engines.memory import MemoryEngine
from discreet.log.engines.protocol import Sizes
from discreet.log.engines.view import EngineVariants, staying
from discreet.log.neighbours import Pair
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
    """Laplace noise that is always 0."""

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """Zeros."""
        return _none(super().noise(sensitivity))


class SilentGaussian(Gaussian):
    """Gaussian noise that is always 0."""

    def noise(self, sensitivity_squared: Rational = 1) -> CountNoise:
        """Zeros."""
        return _none(super().noise(sensitivity_squared))


class SilentSampledGaussian(SampledGaussian):
    """Gaussian noise of sums over samples that is always 0."""

    def noise(self, sensitivity_squared: Rational = 1) -> CountNoise:
        """Zeros."""
        return _none(super().noise(sensitivity_squared))


class SilentExactGaussian(ExactGaussian):
    """Gaussian noise by exact divergence that is always 0."""

    def noise(self) -> CountNoise:
        """Zeros."""
        return _none(super().noise())


class SilentChoosing(Choosing):
    """A choice of the best, or of the best few, without noise."""

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
        """The k highest scores, earlier ones first among equals."""
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
    """The mechanism without the noise of the step of that name."""
    return _silenced(mechanism, {leaf})


def alone(mechanism: Mutated, leaf: str, log: EventLog) -> Mutated:
    """The mechanism with the noise of this step only.

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
    """Variants that stay in the order in which they were taken."""

    def trimmed(self) -> Unsorted:
        """These variants, unsorted."""
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
    """The mechanism on an engine that numbers variants by their counts.

    Its ties are broken, and what comes out is ordered, by what noise should have hidden.
    """
    mutant = copy(mechanism)

    def draw(log: EventLog, rng: Randomness) -> Artefact:
        shown = staying(log)
        shown.__dict__["counted"] = EngineVariants(ByCounts(log))
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


# Tuned, on the mutants of all mechanisms
MOST_PAIRS = 3
"""Pairs tried again, the most promising ones, if no pair showed the mutant at once."""

# Proof: chances are computed to this precision
NEGLIGIBLE = 1e-12
"""Chance below which a sum is not continued."""

Looked = tuple[AuditSubject, Sequence[Pair]]
"""A mechanism with parameters, and the pairs to try it on."""


def mutant_steps(looked: Sequence[Looked]) -> list[str]:
    """The noisy steps that the promises of a mechanism rest on, with any of its parameters."""
    built = [one.build(pair) for one, pairs in looked for pair in pairs if not pair.canaries]
    promising = [one for one in built if one.guarantee().holds is not None]
    return list(dict.fromkeys(leaf for one in promising for leaf in noisy_leaves(one)))


class _Tried(NamedTuple):
    """A mutant on one pair."""

    subject: AuditSubject
    pair: Pair
    against: Budget
    alone: bool
    found: Evidence

    @property
    def promise(self) -> tuple[bool, float, float]:
        """Whether it was caught, what it gave away, and how differently the logs look."""
        likely, other = self.found.shares
        return self.found.contradicts, self.found.epsilon, likely - other


def measure_power(looked: Sequence[Looked], step: str) -> Power:
    """What the mutant without one step's noise gives away, where it is first caught.

    If it never is, where it gives most away.
    """
    begin = process_time()
    rest = [(subject, pair) for subject, pairs in looked for pair in pairs]
    best = None
    for turn in TURNS:
        tried = []
        for subject, pair in rest:
            found = _on_pair(subject, pair, step, turn)
            if found is not None:
                tried.append(found)
            if found is not None and found.found.contradicts:
                break
        tried.sort(key=lambda one: one.promise, reverse=True)
        best = tried[0] if tried else None
        if best is None or best.found.contradicts:
            break
        rest = [(one.subject, one.pair) for one in tried[:MOST_PAIRS]]
    seconds = process_time() - begin
    if best is None:
        return Power(step, {}, "", 0, None, False, 0.0, "", False, 1.0, seconds)
    return Power(
        step=step,
        parameters=best.subject.parameters,
        pair=best.pair.name,
        runs=turn.runs(best.against.epsilon),
        against=best.against,
        alone=best.alone,
        mutant=best.found.epsilon,
        event=best.found.event,
        caught=best.found.contradicts,
        missed=chance_of_missing(best.found.shares, turn.runs(best.against.epsilon), best.against),
        seconds=seconds,
    )


@lru_cache
def chance_of_missing(shares: tuple[float, float], runs: int, against: Budget) -> float:
    """The chance that all turns together miss an event seen in these shares of the runs.

    Its probabilities are taken for those of one more run that shows it and one more that does
    not, so nothing is taken for certain. A turn misses it where it seems too weak in the trials
    or is counted too rarely; turns draw afresh, so their chances multiply.
    """
    likely, other = ((share * runs + 1) / (runs + 2) for share in shares)
    missed = 1.0
    for turn in TURNS:
        counted = turn.runs(against.epsilon)
        shown = chance_to_break(likely, other, counted, counted, against)
        if turn != TURNS[-1]:
            shown *= chance_to_break(likely, other, turn.trials, counted, against)
        missed *= 1 - shown
        if missed < NEGLIGIBLE:
            break
    return missed


def chance_to_break(likely: float, other: float, seen: int, runs: int, against: Budget) -> float:
    """The chance that the shares among the runs that were seen would break a budget in `runs`."""
    from scipy.stats import binom

    numbers = np.arange(seen + 1)
    at_least = binom.sf(numbers - 1, seen, likely)
    chance = 0.0
    enough = 0
    for rare, weight in zip(numbers, binom.pmf(numbers, seen, other), strict=True):
        if weight < NEGLIGIBLE:
            continue
        enough += bisect_left(
            range(enough, seen + 1),
            True,
            key=partial(_enough, int(rare), seen, runs, against),
        )
        if enough <= seen:
            chance += float(weight * at_least[enough])
    return min(1.0, chance)


def _enough(other: int, seen: int, runs: int, against: Budget, hits: int) -> bool:
    return breaks((hits / seen, other / seen), runs, against)


def _on_pair(subject: AuditSubject, pair: Pair, step: str, turn: Turn) -> _Tried | None:
    """A mutant against the whole promise or, if that does not show it, the step's own cost.

    What a choice answers tells little unless one knows between what it chose. The cost of a step
    is promised for whatever was answered before it; so where all before it answer the same on
    both logs, its answers may be held against it.
    """
    mechanism = subject.build(pair)
    whole = mechanism.guarantee().holds
    if pair.canaries or whole is None or step not in noisy_leaves(mechanism):
        return None
    mutant, against, lone = without_noise(mechanism, step), whole, False
    found = audit_mutant(mutant, step, pair, against, turn)
    if found is None:
        return None
    own = _own_cost(mechanism, step)
    if own is not None and not found.contradicts:
        single = alone(mechanism, step, pair.logs[0])
        if fixed_before(without_noise(single, step), step, pair):
            against, lone = own, True
            found = audit_mutant(without_noise(single, step), step, pair, against, turn)
            sound = audit_mutant(single, step, pair, against, turn)
            if sound is not None and sound.contradicts:
                raise AssertionError(f"{mechanism.name}: {step} costs more than {against}")
    return None if found is None else _Tried(subject, pair, against, lone, found)


def _own_cost(mechanism: Mechanism, step: str) -> Budget | None:
    """The cost of a step whatever was answered before; None where it has no cost of its own."""
    leaf = mechanism.step(step, Step)  # type: ignore[type-abstract]
    return leaf.spent if isinstance(leaf, Choosing | Laplace) else None
