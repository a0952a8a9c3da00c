"""What reaches the noise of a release: the noise as it is drawn, and the counts it is added to.

Proofs say: fix all answers so far; then the next counts follow from these and the log alone, and
one case more moves them by no more than the noise pays for. So one log is run first, and each of
its neighbours is then answered what the first one was. Nothing of the release is done again here:
what is compared is what the library itself hands to `CountNoise` and to its choices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

from discreet.arrays import Integers, Ints
from discreet.log.cases import KEY
from discreet.mechanisms.whole.timelines import TimelineSums
from discreet.privacy import selection
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Gaussian, Laplace, Step, leaves
from discreet.privacy.transcript import note

T = TypeVar("T")
Given = Callable[[Integers], Any]
"""What is answered in place of counts with noise."""

UNSEEN = -(10**15)
"""Answer for a key that the first log lacks: that it is shown has a probability of its own."""


@dataclass(frozen=True)
class Draw:
    """Noise as it was drawn, and the counts that it was added to.

    `keys` are those of the counts where they come out of the log, as the values of a column do.
    """

    noise: CountNoise
    counts: Integers
    keys: tuple[Any, ...] | None

    @property
    def step(self) -> str:
        """The step that the noise says it belongs to."""
        return self.noise.name

    def apart(self, other: Draw) -> Integers:
        """How far the counts of another log are from these."""
        if self.keys is None or other.keys is None:
            assert self.counts.shape == other.counts.shape, f"{self.step}: asked otherwise"
            return self.counts - other.counts
        here = dict(zip(self.keys, self.counts.ravel().tolist(), strict=True))
        there = dict(zip(other.keys, other.counts.ravel().tolist(), strict=True))
        moved = [here.get(key, 0) - there.get(key, 0) for key in {*here, *there}]
        return np.array(moved, dtype=np.int64)

    def loss(self, other: Draw) -> Fraction:
        """What this noise tells of the two apart: ρ where it is Gaussian, ε where Laplace."""
        assert self.noise == other.noise, f"{self.step}: other noise on the other log"
        moved = [int(value) for value in self.apart(other).ravel()]
        if self.noise.kind == "gaussian":
            return Fraction(sum(value**2 for value in moved)) / (2 * self.noise.size)
        return Fraction(sum(map(abs, moved))) / self.noise.size


@dataclass(frozen=True)
class Choice:
    """What the exponential mechanism chose from: scores, and how steeply chances rise with them."""

    step: str
    scores: tuple[Fraction, ...]
    rate: Fraction

    def loss(self, other: Choice) -> Fraction:
        """ρ: an eighth of the square of the range of its losses (Cesar, Rogers 2021)."""
        moved = [one - two for one, two in zip(self.scores, other.scores, strict=True)]
        least, most = min(moved, default=Fraction(0)), max(moved, default=Fraction(0))
        return (self.rate * (most - least)) ** 2 / 8


class Watch:
    """Runs of one release on a log and then on its neighbours, all answered as the first was.

    `given` has answers for some steps in place of noisy counts, `unnamed` is the step of noise that
    goes without a name, so that a transcript does not hear of it. Noise is drawn from another
    source than the rest of the release, so that the rest is the same in all runs.
    """

    def __init__(self, given: Mapping[str, Given] | None = None, unnamed: str = "") -> None:
        self.given = dict(given or {})
        self.unnamed = unnamed
        self.runs: list[list[Draw | Choice]] = []
        self.loose: list[tuple[CountNoise, Integers]] = []
        """Noise that was drawn by itself, not added to counts at once."""
        self.keys: tuple[Any, ...] | None = None
        """Of the counts that come next, where they are values of the log."""
        self._answers: list[Any] = []
        self._joint: set[tuple[int, int]] = set()
        self._choosing = ""
        self._rng = Randomness.seeded(1)

    def forget(self) -> None:
        """Begin anew."""
        self.runs.clear()
        self._answers.clear()
        self._joint.clear()

    def run(self, release: Callable[[], T]) -> T:
        """Run a release and watch what it draws."""
        self.runs.append([])
        total, draw, choose = TimelineSums.total, CountNoise.draw, Choosing.choose

        def totalled(source: TimelineSums, question: Any) -> Any:
            asked = total(source, question)
            values = not asked[KEY].dtype.is_integer()
            self.keys = tuple(asked[KEY].to_list()) if values else None
            return asked

        def drawn(noise: CountNoise, size: int, rng: Randomness) -> Integers:
            self.loose.append((noise, draw(noise, size, rng)))
            return self.loose[-1][1]

        def added(noise: CountNoise, counts: Ints, rng: Randomness) -> Integers:
            named = noise if noise.name else replace(noise, name=self.unnamed)
            found = self._added(named, np.array(counts, dtype=np.int64), draw)
            note(noise.name, found)
            return found

        def joined(noise: CountNoise, counts: Any, drawn: Integers) -> Any:
            found = self._joined(noise, counts, drawn)
            note(noise.name, found)
            return found

        def chosen(step: Choosing, *scores: Any, **how: Any) -> int:
            self._choosing = step.name
            return choose(step, *scores, **how)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TimelineSums, "total", totalled)
            patch.setattr(CountNoise, "draw", drawn)
            patch.setattr(CountNoise, "added", added)
            patch.setattr(CountNoise, "joined", joined)
            patch.setattr(Choosing, "choose", chosen)
            patch.setattr(leaves, "exponential", self._exponential)
            return release()

    def _added(self, noise: CountNoise, counts: Integers, draw: Any) -> Integers:
        """The counts with noise in the first run, and its answer in the others."""
        one, self.keys = Draw(noise, counts, self.keys), None
        given = self.given.get(noise.name)

        def first() -> Any:
            if given is not None:
                answer = np.array(given(counts), dtype=np.int64)
            else:
                answer = counts + draw(noise, counts.size, self._rng).reshape(counts.shape)
            if one.keys is None:
                return answer
            return dict(zip(one.keys, answer.ravel().tolist(), strict=True))

        answer = self.answer(one, first)
        if one.keys is not None:
            answer = np.array([answer.get(key, UNSEEN) for key in one.keys])
        assert answer.size == counts.size, f"{one.step}: asked otherwise"
        found: Integers = answer.reshape(counts.shape).astype(np.int64)
        return found

    def _joined(self, noise: CountNoise, counts: Any, drawn: Integers) -> Any:
        """The same for noise that was drawn before: by this law, and for these counts alone."""
        made, whole = self.loose[-1]
        assert made == noise, f"{noise.name}: other noise was drawn"
        assert np.shares_memory(drawn, whole), f"{noise.name}: noise that was not drawn last"
        place = drawn.__array_interface__["data"][0]
        assert (len(self.runs), place) not in self._joint, f"{noise.name}: noise used twice"
        self._joint.add((len(self.runs), place))
        one = Draw(noise, np.array(counts, dtype=np.int64), None)
        answer = self.answer(one, lambda: counts + drawn.reshape(counts.shape))
        return answer.astype(counts.dtype)

    def _exponential(
        self, scores: Any, epsilon: Any, sensitivity: Any, monotone: bool, rng: Randomness
    ) -> int:
        listed = tuple(Fraction(int(s.numerator), int(s.denominator)) for s in scores)
        rate = Fraction(epsilon) / Fraction(sensitivity) / (1 if monotone else 2)
        one = Choice(self._choosing, listed, rate)

        def first() -> int:
            return selection.exponential(listed, epsilon, sensitivity, monotone, self._rng)

        return int(self.answer(one, first))

    def answer(self, one: Draw | Choice, first: Callable[[], Any]) -> Any:
        """Write down what is asked; what was answered to it in the first run."""
        run = self.runs[-1]
        place = len(run)
        run.append(one)
        if len(self.runs) == 1:
            self._answers.append(first())
        assert place < len(self._answers), f"{one.step}: asked on this log only"
        assert self.runs[0][place].step == one.step, f"{one.step}: asked out of turn"
        return self._answers[place]

    def used(
        self, steps: Sequence[Step], cases: int = 1, runs: Iterable[int] | None = None
    ) -> dict[str, float]:
        """The largest part of its cost that each step takes of a neighbour, `cases` cases apart.

        Wants of each run the same questions as of the first, and of each step no more than all.
        """
        most = {step.name: 0.0 for step in steps}
        costs = {step.name: _cost(step, cases) for step in steps if step.name in self._drawn}
        assert costs.keys() == self._drawn, "a step without a cost"
        for number in range(1, len(self.runs)) if runs is None else runs:
            lost: dict[str, Fraction] = defaultdict(Fraction)
            for one, other in zip(self.runs[0], self.runs[number], strict=True):
                lost[one.step] += one.loss(other)  # type: ignore[arg-type]
            for name, loss in lost.items():
                part = loss / costs[name]
                assert part <= 1, f"{name}: {float(part):.3g} times what it pays for"
                most[name] = max(most[name], float(part))
        return most

    @property
    def _drawn(self) -> set[str]:
        return {one.step for one in self.runs[0]}


def _cost(step: Step, cases: int) -> Fraction:
    """What so many cases may cost of a step: ε of Laplace noise, else ρ."""
    if isinstance(step, Laplace):
        return cases * Fraction(step.epsilon)
    assert isinstance(step, Gaussian | Choosing)
    return cases**2 * step.rho
