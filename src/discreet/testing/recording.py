"""Recordings of what the steps of a release read, replayed with one case more or less.

The release of a log is recorded: what each noisy step read, exactly, and what it answered. Then a
neighbouring log is released, and every step repeats its recorded answer. What a step reads may
now differ by no more than is paid for. What comes out may not differ at all: it may depend on
the log through noisy answers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import Booleans, Integers, Ints
from discreet.log.events import EventLog
from discreet.mechanisms.base import Mechanism, with_leaves
from discreet.mechanisms.choice import Choice
from discreet.mechanisms.whole.mechanism import WholeLog
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import Rational
from discreet.privacy.randomness import Randomness, known_coins
from discreet.privacy.selection import Score
from discreet.privacy.steps import (
    Choosing,
    Delegated,
    Gaussian,
    Laplace,
    RandomStopping,
    Sampled,
    SampledGaussian,
    Selecting,
    Step,
)
from discreet.testing.conformance import demand

Exact = npt.NDArray[Any]
Recorded = TypeVar("Recorded", bound=Mechanism)

COINS, NOISE = 7, 11
"""Seeds: `COINS` for everything random but the answers, `NOISE` for the answers."""

# Tuned
SLACK = 1 + Fraction(1, 10**9)
"""Factor that allows for the rounding of costs computed with floats."""


@dataclass(frozen=True)
class Reading:
    """One reading of the log by a step: the exact values, and the cost of a change of them."""

    leaf: Step
    exact: Exact
    loss: Callable[[Exact, Exact], Fraction]


class Recording:
    """What the steps of one release read and answered; `before` holds the answers to repeat."""

    def __init__(self, before: Recording | None = None) -> None:
        self.readings: list[Reading] = []
        self.answers: list[Any] = []
        self.samples: list[tuple[Integers, Integers]] = []
        self.before = before
        self._given = Randomness.seeded(COINS)
        self._noise = Randomness.seeded(NOISE)

    def release(self, mechanism: Mechanism, log: EventLog) -> object:
        """Draw the artefact with these answers."""
        with known_coins():
            return self._held(mechanism)._draw(log, self._given)

    def source(self, rng: Randomness) -> Randomness:
        """The source of noise, which replaces the one given for the whole release."""
        demand(rng is self._given, "noise is drawn from another source than the one that is given")
        return self._noise

    def answer(self, reading: Reading, drawn: Any) -> Any:
        """Record a reading; return the earlier answer if there is one, otherwise what was drawn."""
        place = len(self.readings)
        self.readings.append(reading)
        if self.before is not None:
            held = self.before.readings[place : place + 1]
            demand(
                held and (held[0].leaf.name, held[0].exact.shape) == _kind(reading),
                f"{reading.leaf.name} is asked something else of a neighbouring log, though "
                "everything was answered alike",
            )
            drawn = self.before.answers[place]
        self.answers.append(drawn)
        return drawn

    def sampled(
        self, counts: Ints, draw: Callable[[Randomness], tuple[Integers, Integers]], rng: Randomness
    ) -> tuple[Integers, Integers]:
        """Record a random sample: the earlier one, if any, with this log's additional cases."""
        place, whole = len(self.samples), np.zeros(len(counts), dtype=np.int64)
        if self.before is None:
            present, kept = draw(self.source(rng))
            whole[present] = kept
        else:
            counted, sample = self.before.samples[place]
            whole = sample + counts - counted
        self.samples.append((np.array(counts, dtype=np.int64), whole))
        present = np.flatnonzero(whole)
        return present, whole[present]

    def _held(self, mechanism: Recorded) -> Recorded:
        """The mechanism with recorded steps, also those of other mechanisms that it releases by."""
        held = with_leaves(mechanism, self._leaf)
        if isinstance(mechanism, WholeLog):
            held.__dict__["inner"] = self._held(mechanism.inner)
        if isinstance(mechanism, Choice):
            built = [self._held(one) for one in mechanism.built_at(mechanism.case_budget)]
            held.__dict__["built_at"] = partial(_same, built)
        return held

    def _leaf(self, step: Step) -> Step | None:
        if type(step) not in HELD:
            return None
        values = {entry.name: getattr(step, entry.name) for entry in fields(step)}
        if isinstance(step, Sampled):
            values["below"] = step.below.mapped(self._leaf)
        return HELD[type(step)](**values, recording=self)


def _kind(reading: Reading) -> tuple[str, tuple[int, ...]]:
    return reading.leaf.name, reading.exact.shape


def _same(value: Any, budget: Budget) -> Any:
    return value


@dataclass(frozen=True)
class HeldNoise(CountNoise):
    """Noise that records the sums it is added to."""

    leaf: Step | None = field(default=None, compare=False)
    recording: Recording = field(default_factory=Recording, compare=False)

    @classmethod
    def of(cls, usual: CountNoise, leaf: Step, recording: Recording) -> HeldNoise:
        """The noise of a step, recorded."""
        return cls(usual.kind, usual.size, usual.name, leaf, recording)

    def draw(self, size: int, rng: Randomness) -> Integers:
        """Draw noise that does not depend on what else is drawn."""
        return super().draw(size, self.recording.source(rng))

    def joined(self, counts: Exact, drawn: Integers) -> Exact:
        """The sums with noise, recorded."""
        assert self.leaf is not None
        reading = Reading(self.leaf, np.array(counts), partial(_of_sums, self.kind, self.size))
        answer: Exact = self.recording.answer(reading, super().joined(counts, drawn)).copy()
        return answer

    def positive(self, counts: Ints, rng: Randomness) -> Booleans:
        """The decisions whether a noisy count is positive, recorded."""
        assert self.leaf is not None
        found = super().positive(counts, rng)
        loss = partial(_of_decisions, float(self.size), found)
        reading = Reading(self.leaf, np.array(counts), loss)
        answer: Booleans = self.recording.answer(reading, found).copy()
        return answer


@dataclass(frozen=True)
class HeldLaplace(Laplace):
    """A Laplace step that records its readings and answers."""

    recording: Recording = field(kw_only=True, compare=False)

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The step's noise, recorded."""
        return HeldNoise.of(super().noise(sensitivity), self, self.recording)


@dataclass(frozen=True)
class HeldGaussian(Gaussian):
    """A Gaussian step that records its readings and answers."""

    recording: Recording = field(kw_only=True, compare=False)

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The step's noise, recorded."""
        return HeldNoise.of(super().noise(sensitivity), self, self.recording)


@dataclass(frozen=True)
class HeldSampledGaussian(SampledGaussian):
    """A Gaussian step on sampled cases that records its readings and answers."""

    recording: Recording = field(kw_only=True, compare=False)

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """The step's noise, recorded."""
        return HeldNoise.of(super().noise(sensitivity), self, self.recording)


@dataclass(frozen=True)
class HeldSelecting(Selecting):
    """A selecting step that records its readings and answers."""

    recording: Recording = field(kw_only=True, compare=False)

    def select(self, counts: Ints, rng: Randomness) -> tuple[Integers, Integers]:
        """Indices of the keys shown and their noisy counts, recorded."""
        drawn = super().select(counts, self.recording.source(rng))
        shown, noisy = self.recording.answer(self._reading(counts), drawn)
        return shown.copy(), noisy.copy()

    def noisy(self, counts: Ints, rng: Randomness) -> Integers:
        """The noisy counts of all keys, recorded."""
        drawn = super().noisy(counts, self.recording.source(rng))
        answer: Integers = self.recording.answer(self._reading(counts), drawn).copy()
        return answer

    def _reading(self, counts: Ints) -> Reading:
        scale = 1 / Fraction(self.selection.epsilon)
        return Reading(self, np.array(counts), partial(_of_sums, "laplace", scale))


@dataclass(frozen=True)
class HeldChoosing(Choosing):
    """A choosing step that records its readings and answers."""

    recording: Recording = field(kw_only=True, compare=False)

    def choose(
        self, scores: Iterable[Score], sensitivity: Rational, *, monotone: bool, rng: Randomness
    ) -> int:
        """The choice, recorded."""
        listed, source = list(scores), self.recording.source(rng)
        drawn = super().choose(listed, sensitivity, monotone=monotone, rng=source)
        chosen: int = self.recording.answer(self._reading(listed, sensitivity, monotone), drawn)
        return chosen

    def choose_several(
        self, scores: Iterable[Score], k: int, sensitivity: Rational, *, rng: Randomness
    ) -> list[int]:
        """The choices, recorded."""
        listed, source = list(scores), self.recording.source(rng)
        drawn = super().choose_several(listed, k, sensitivity, rng=source)
        chosen: list[int] = self.recording.answer(self._reading(listed, sensitivity, False), drawn)
        return list(chosen)

    def _reading(self, scores: list[Score], sensitivity: Rational, monotone: bool) -> Reading:
        exact = [Fraction(int(one.numerator), int(one.denominator)) for one in scores]
        scale = Fraction(sensitivity) / Fraction(self.epsilon)
        return Reading(self, np.array(exact, dtype=object), partial(_of_scores, scale, monotone))


@dataclass(frozen=True)
class HeldSampled(Sampled):
    """A sampling step whose sample agrees with the one recorded before."""

    recording: Recording = field(kw_only=True, compare=False)

    def draw(self, counts: Ints, rng: Randomness) -> tuple[Integers, Integers]:
        """The sample, recorded."""
        return self.recording.sampled(counts, partial(super().draw, counts), rng)


HELD: dict[type[Step], Callable[..., Step]] = {
    Choosing: HeldChoosing,
    Gaussian: HeldGaussian,
    Laplace: HeldLaplace,
    Sampled: HeldSampled,
    SampledGaussian: HeldSampledGaussian,
    Selecting: HeldSelecting,
}


def _of_sums(kind: str, size: Fraction, one: Exact, other: Exact) -> Fraction:
    """The cost of a change of sums, by the norm that the noise is made for: ε, or ρ."""
    moved = [int(a) - int(b) for a, b in zip(one.ravel(), other.ravel(), strict=True)]
    if kind == "laplace":
        return sum(map(abs, moved)) / size
    return sum(change**2 for change in moved) / (2 * size)


def _of_scores(scale: Fraction, monotone: bool, one: Exact, other: Exact) -> Fraction:
    """The cost of a change of scores, double unless all move one way (`privacy/selection.py`)."""
    moved = [Fraction(0), *(other - one)]
    furthest = max(moved) - min(moved) if monotone else max(map(abs, moved))
    return Fraction(furthest) / scale


def _of_decisions(scale: float, decided: Booleans, one: Exact, other: Exact) -> Fraction:
    """The loss by these decisions (noisy counts, positive or not): the sum of |log ratios|."""
    losses = [
        abs(math.log(_chance(a, scale, positive) / _chance(b, scale, positive)))
        for a, b, positive in zip(one.tolist(), other.tolist(), decided.tolist(), strict=True)
    ]
    return Fraction(sum(losses))


def _chance(count: int, scale: float, positive: bool) -> float:
    """The probability that a count with discrete Laplace noise is positive, or is not."""
    ratio = math.exp(-1 / scale)
    tail = ratio ** (count if count > 0 else 1 - count) / (1 + ratio)
    return tail if positive == (count <= 0) else 1 - tail


def paid(leaf: Step, cases: int = 1) -> Fraction:
    """What all readings of a step may cost `cases` cases: ε, or ρ if its noise is Gaussian."""
    match leaf:
        case Laplace() | Choosing():
            return cases * Fraction(leaf.epsilon)
        case Gaussian():
            return cases**2 * leaf.rho
        case SampledGaussian(plan=plan):
            return cases**2 * Fraction(plan.steps) / (2 * Fraction(plan.noise_multiplier) ** 2)
        case Selecting(selection=selection):
            return cases * Fraction(selection.epsilon)
    raise TypeError(f"{leaf.name} reads no log")


def lost(one: Recording, other: Recording, cases: int = 1) -> dict[str, tuple[Fraction, Fraction]]:
    """The cost of the difference of two logs by step, and what was paid for `cases` cases."""
    demand(
        len(one.readings) == len(other.readings),
        "a neighbouring log is asked less often, though everything was answered alike",
    )
    found: dict[str, tuple[Fraction, Fraction]] = {}
    for first, second in zip(one.readings, other.readings, strict=True):
        before = found.get(first.leaf.name, (Fraction(0), Fraction(0)))[0]
        cost = before + first.loss(first.exact, second.exact)
        found[first.leaf.name] = cost, paid(first.leaf, cases)
    return found


def recordable(mechanism: Mechanism) -> bool:
    """Whether two releases can be compared answer by answer.

    They cannot if cases are sampled step by step, since the samples of two logs do not go together;
    if rounds are thrown away, which a release does not pay for one by one; or if a step or another
    mechanism is involved that is not known here.
    """
    if mechanism.spending is None:
        return False
    steps = list(mechanism.spending.walk())
    known: tuple[type[Step], ...] = tuple(HELD)
    if isinstance(mechanism, WholeLog | Choice):
        known += (Delegated,)
    plans = [step.plan for step in steps if isinstance(step, SampledGaussian)]
    return (
        all(isinstance(step, known) for step in steps if not step.steps)
        and not any(isinstance(step, RandomStopping) for step in steps)
        and all(plan.sampling_rate == 1 for plan in plans)
    )


def compare(
    mechanism: Mechanism, log: EventLog, other: EventLog, cases: int = 1
) -> dict[str, Fraction]:
    """Demand that logs `cases` cases apart cost no more than is paid and are released alike.

    Returns the part of its price that each step used.
    """
    first = Recording()
    released = first.release(mechanism, log)
    second = Recording(first)
    again = second.release(mechanism, other)
    costs = lost(first, second, cases)
    for name, (cost, price) in costs.items():
        demand(
            cost <= price * SLACK,
            f"{name}: a case changes what is read by {float(cost):.4g}, where {float(price):.4g} "
            "is paid",
        )
    demand(
        content(released) == content(again),
        "neighbours are released differently, though everything was answered alike: something "
        "besides the noisy steps reads the log",
    )
    return {name: cost / price for name, (cost, price) in costs.items()}


def content(value: Any) -> Any:
    """Everything visible of an artefact in Python: also orders, types, and what is kept."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, pl.DataFrame):
        return value.schema, value.to_dict(as_series=False)
    if isinstance(value, pl.Series):
        return value.dtype, value.to_list()
    if is_dataclass(value):
        return type(value), {name: content(held) for name, held in vars(value).items()}
    if isinstance(value, list | tuple):
        return [content(held) for held in value]
    if isinstance(value, dict):
        return [(key, content(held)) for key, held in value.items()]
    return value
