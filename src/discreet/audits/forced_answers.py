"""Steps whose answers are given, so that what comes after them can be audited on small logs.

The cost of a step is promised whatever was answered before it. So an audit may say what the first
steps of a mechanism answered, however unlikely that is for its small logs, and hold the rest
against the promise for the whole, which costs no less. A way that a release goes only for logs of
many thousand cases can be audited on two logs of a handful.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers
from discreet.mechanisms.base import Mechanism, with_leaves
from discreet.parameters import ParameterError
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.noise import Rational
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Step
from discreet.privacy.transcript import note

Audited = TypeVar("Audited", bound=Mechanism)


@dataclass(frozen=True)
class GivenNoise(CountNoise):
    """Noise that replaces noisy counts by a given answer."""

    answer: tuple[int, ...] = ()

    def added(self, counts: npt.NDArray[np.integer], rng: Randomness) -> Integers:
        """The answer."""
        answer = np.array(self.answer, dtype=np.int64).reshape(counts.shape)
        note(self.name, answer)
        return answer


@dataclass(frozen=True)
class GivenLaplace(Laplace):
    """A step of counts whose answer is given."""

    answer: tuple[int, ...] = ()

    def noise(self, sensitivity: Rational = 1) -> CountNoise:
        """Noise of the usual size, which says how far an answer may be off, but is never drawn."""
        usual = super().noise(sensitivity)
        return GivenNoise(usual.kind, usual.size, usual.name, self.answer)


def with_answers(mechanism: Audited, answers: Mapping[str, tuple[int, ...]]) -> Audited:
    """The mechanism with these answers given for its steps of the same name."""
    if not answers:
        return mechanism
    known = {} if mechanism.spending is None else {s.name: s for s in mechanism.spending.walk()}
    for name in answers:
        if not isinstance(known.get(name), Laplace):
            raise ParameterError(f"{mechanism.name} has no step {name!r} that could be given")

    def given(step: Step) -> Step | None:
        if not isinstance(step, Laplace) or step.name not in answers:
            return None
        return GivenLaplace(step.name, step.epsilon, answers[step.name])

    return with_leaves(mechanism, given)
