"""What reaches the noise of a release: the noise as it is drawn, and the counts it is added to.

Proofs say: fix all answers so far; then the next counts follow from these and the log alone, and
one case more moves them by no more than the noise pays for. So one log is run first, and each of
its neighbours is then answered what the first one was. Nothing of the release is done again here:
what is compared is what the library itself hands to `CountNoise` and to its choices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

from discreet.arrays import Integers, Ints
from discreet.log.cases import AMOUNT, KEY
from discreet.privacy import selection
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Gaussian, Laplace, Step, leaves
from discreet.privacy.transcript import note
from discreet.wholelogs.courses import Source

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
        here = dict(zip(self.keys, self.counts.tolist(), strict=True))
        there = dict(zip(other.keys, other.counts.tolist(), strict=True))
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

    `given` has answers for some steps in place of noisy counts. Noise is drawn from another source
    than the rest of the release, so that the rest is the same in all runs.
    """

    def __init__(self, given: Mapping[str, Given] | None = None) -> None:
        self.given = dict(given or {})
        self.runs: list[list[Draw | Choice]] = []
        self.loose: set[str] = set()
        """Steps whose noise was drawn by itself, not added to counts at once."""
        self._answers: list[Any] = []
        self._asked: Any = None
        self._choosing = ""
        self._rng = Randomness.seeded(1)

    def forget(self) -> None:
        """Begin anew."""
        self.runs.clear()
        self._answers.clear()

    def run(self, release: Callable[[], T]) -> T:
        """Run a release and watch what it draws."""
        self.runs.append([])
        total, draw, choose = Source.total, CountNoise.draw, Choosing.choose

        def totalled(source: Source, question: Any) -> Any:
            self._asked = total(source, question)
            return self._asked

        def drawn(noise: CountNoise, size: int, rng: Randomness) -> Integers:
            self.loose.add(noise.name)
            return draw(noise, size, rng)

        def added(noise: CountNoise, counts: Ints, rng: Randomness) -> Integers:
            return self._added(noise, np.array(counts, dtype=np.int64), draw)

        def chosen(step: Choosing, *scores: Any, **how: Any) -> int:
            self._choosing = step.name
            return choose(step, *scores, **how)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Source, "total", totalled)
            patch.setattr(CountNoise, "draw", drawn)
            patch.setattr(CountNoise, "added", added)
            patch.setattr(Choosing, "choose", chosen)
            patch.setattr(leaves, "exponential", self._exponential)
            return release()

    def _added(self, noise: CountNoise, counts: Integers, draw: Any) -> Integers:
        """The counts with noise in the first run, and its answer in the others."""
        one = Draw(noise, counts, self._keys(counts))
        given = self.given.get(noise.name)

        def first() -> Any:
            if given is not None:
                answer = np.array(given(counts), dtype=np.int64)
            else:
                answer = counts + draw(noise, counts.size, self._rng).reshape(counts.shape)
            found = answer.tolist()
            return found if one.keys is None else dict(zip(one.keys, found, strict=True))

        answer = self._answer(one, first)
        if one.keys is not None:
            answer = [answer.get(key, UNSEEN) for key in one.keys]
        found = np.array(answer, dtype=np.int64)
        assert found.shape == counts.shape, f"{one.step}: asked otherwise"
        note(noise.name, found)
        return found

    def _exponential(
        self, scores: Any, epsilon: Any, sensitivity: Any, monotone: bool, rng: Randomness
    ) -> int:
        listed = tuple(Fraction(int(s.numerator), int(s.denominator)) for s in scores)
        rate = Fraction(epsilon) / Fraction(sensitivity) / (1 if monotone else 2)
        one = Choice(self._choosing, listed, rate)

        def first() -> int:
            return selection.exponential(listed, epsilon, sensitivity, monotone, self._rng)

        return int(self._answer(one, first))

    def _answer(self, one: Draw | Choice, first: Callable[[], Any]) -> Any:
        run = self.runs[-1]
        place = len(run)
        run.append(one)
        if len(self.runs) == 1:
            self._answers.append(first())
        assert place < len(self._answers), f"{one.step}: asked on this log only"
        assert self.runs[0][place].step == one.step, f"{one.step}: asked out of turn"
        return self._answers[place]

    def _keys(self, counts: Integers) -> tuple[Any, ...] | None:
        """Those of the last answer, if they are values of the log and these are its amounts."""
        asked, self._asked = self._asked, None
        if asked is None or asked[KEY].dtype.is_integer():
            return None
        assert asked[AMOUNT].to_list() == counts.tolist(), "other counts than were asked for"
        return tuple(asked[KEY].to_list())

    def drawn(self, name: str) -> list[Draw | Choice]:
        """What a step drew on the first log."""
        return [one for one in self.runs[0] if one.step == name]

    def used(self, steps: Iterable[Step], cases: int = 1) -> dict[str, float]:
        """The largest part of its cost that each step takes of a neighbour, `cases` cases apart.

        Wants of each run the same questions as of the first, and of each step no more than all.
        """
        most = {step.name: 0.0 for step in steps}
        assert {one.step for one in self.runs[0]} <= most.keys()
        for run in self.runs[1:]:
            lost: dict[str, Fraction] = defaultdict(Fraction)
            for one, other in zip(self.runs[0], run, strict=True):
                lost[one.step] += one.loss(other)  # type: ignore[arg-type]
            for step in steps:
                part = lost[step.name] / _cost(step, cases)
                assert part <= 1, f"{step.name}: {float(part):.3g} times what it pays for"
                most[step.name] = max(most[step.name], float(part))
        return most


def _cost(step: Step, cases: int) -> Fraction:
    """What so many cases may cost of a step: ε of Laplace noise, else ρ."""
    if isinstance(step, Laplace):
        return cases * Fraction(step.epsilon)
    assert isinstance(step, Gaussian | Choosing)
    return cases**2 * step.rho
