"""Mechanisms with a planted bug each: what a careless hand might write. All claim what they do not
keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.audits.exact import Figures, LaplaceCount
from discreet.audits.result import GIVEN
from discreet.audits.subjects import AuditSubject, subjects_of
from discreet.log.neighbours import Case, Pair
from discreet.log.variants import Variants
from discreet.mechanisms.base import Mechanism, delta_parameter
from discreet.mechanisms.blocks.contributions import Contributions, Norm, grid_of
from discreet.mechanisms.headtail.loglinear import Examples
from discreet.mechanisms.trained.dictionary import OverDictionary
from discreet.mechanisms.travas import VARIANTS, TraVaS
from discreet.parameters import parameter
from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.partition import TruncatedSelection
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Proved, Sampled, Selecting, Statement, Step

if TYPE_CHECKING:
    from discreet.log.events import EventLog


@dataclass(frozen=True, kw_only=True)
class HalfScale(LaplaceCount):
    """Noise of scale 1/(2ε)."""

    name: ClassVar[str] = "half scale"

    def _noise(self, size: int, rng: Randomness) -> Integers:
        return discrete_laplace(1 / Fraction(2 * self.epsilon), size, rng)


@dataclass(frozen=True, kw_only=True)
class Truncating(LaplaceCount):
    """`int()` of a continuous Laplace variable: 0 gets the mass of (−1, 1)."""

    name: ClassVar[str] = "int()"

    def _noise(self, size: int, rng: Randomness) -> Integers:
        floats = np.random.default_rng().laplace(scale=1 / self.epsilon, size=size)
        return floats.astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Redrawing(LaplaceCount):
    """The noise is drawn again until the count is positive."""

    name: ClassVar[str] = "redrawn"

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Figures]:
        noisy = log.cases + self._noise(runs, rng)
        while (again := np.flatnonzero(noisy <= 0)).size:
            noisy[again] = log.cases + self._noise(again.size, rng)
        return (Figures({"cases": value}) for value in noisy.tolist())


@dataclass(frozen=True, kw_only=True)
class EpsilonPerLevel(Mechanism):
    """A prefix tree of which every level is noised with the whole ε."""

    name: ClassVar[str] = "epsilon per level"
    summary: ClassVar[str] = "planted bug"
    paper: ClassVar[str] = ""
    returns: ClassVar[str] = "figures"

    def _spending(self, budget: Budget) -> Step:
        return Proved("levels", budget.epsilon, 0.0, "(it does not)")

    def _statement(self, asked: Budget) -> Statement:
        return Statement("(it does not)")

    def _draw(self, log: EventLog, rng: Randomness) -> Figures:
        return next(self._draw_many(log, 1, rng))

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Figures]:
        paths = ("a", "ab", "abc")
        counts = [
            sum(n for trace, n in log.variants if "".join(trace).startswith(path)) for path in paths
        ]
        noise = discrete_laplace(1 / Fraction(self.epsilon), runs * len(paths), rng)
        noisy = counts + noise.reshape(runs, len(paths))
        return (Figures(dict(zip(paths, row, strict=True))) for row in noisy.tolist())


@dataclass(frozen=True, kw_only=True)
class RawSupport(TraVaS):
    """Every variant of the log is shown, with a noisy count of at least one."""

    name: ClassVar[str] = "raw support"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        counts = log.variants.counts + self.selection.noise(len(log.variants), rng)
        return log.variants.take(np.arange(len(counts)), np.maximum(counts, 1))


@dataclass(frozen=True)
class ThresholdOffByOne(TruncatedSelection):
    """Shown at ≥ k where the proof says > k: the same as a threshold of k − 1."""

    def noise(self, size: int, rng: Randomness) -> Integers:
        return super().noise(size, rng) + 1


@dataclass(frozen=True)
class TenTimesLooser(TruncatedSelection):
    """A threshold and noise for ten times the δ that it states."""

    @property
    def threshold(self) -> int:
        return TruncatedSelection(self.epsilon, 10 * self.delta).threshold


@dataclass(frozen=True, kw_only=True)
class OffByOne(TraVaS):
    """TraVaS with ≥ for >."""

    name: ClassVar[str] = "off by one"

    def _spending(self, budget: Budget) -> Step:
        return Selecting(VARIANTS, ThresholdOffByOne(budget.epsilon, budget.delta))


@dataclass(frozen=True, kw_only=True)
class TenfoldDelta(TraVaS):
    """The selection gets ten times the δ that the certificate states."""

    name: ClassVar[str] = "tenfold delta"

    def _spending(self, budget: Budget) -> Step:
        return Selecting(VARIANTS, TenTimesLooser(budget.epsilon, budget.delta))


@dataclass(frozen=True, kw_only=True)
class ConstantSeed(TraVaS):
    """The noise comes from a seed, while the certificate says operating system."""

    name: ClassVar[str] = "constant seed"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        return super()._draw(log, Randomness.seeded(7))


@dataclass(frozen=True, kw_only=True)
class ForgottenTerm(LaplaceCount):
    """Two counts at ε each; the certificate adds up only one."""

    name: ClassVar[str] = "forgotten term"

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Figures]:
        noisy = log.cases + self._noise(2 * runs, rng).reshape(runs, 2)
        return (Figures({"cases": one, "starts": other}) for one, other in noisy.tolist())


@dataclass(frozen=True, kw_only=True)
class RefusingEmpty(TraVaS):
    """Raises an error where the raw log has a variant of one case: the error tells it."""

    name: ClassVar[str] = "refusing"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        if (log.variants.counts == 1).any():
            raise ValueError("this log has unique cases; choose another mechanism")
        return super()._draw(log, rng)


@dataclass(frozen=True, kw_only=True)
class Autoencoder(Mechanism):
    """A linear autoencoder on bags of activities; the decoder's weights are released.

    The decoder is trained by full-batch noisy gradient steps: each case's gradient is clipped to
    norm 1, so that a case moves their sum by 1, if the codes do not depend on the other cases.
    With `encoder` = "fitted" they do: the encoder is the main direction of the raw data, trained
    without noise. With "fixed" it is public.
    """

    name: ClassVar[str] = "autoencoder"
    summary: ClassVar[str] = "planted bug"
    paper: ClassVar[str] = ""
    returns: ClassVar[str] = "figures"
    STEPS: ClassVar[int] = 3

    delta: float = delta_parameter()
    encoder: Literal["fitted", "fixed"] = parameter("fixed", "where the encoder comes from")

    def _spending(self, budget: Budget) -> Step:
        return Proved("training", budget.epsilon, budget.delta, "(if the encoder is fixed)")

    def _statement(self, asked: Budget) -> Statement:
        return Statement("(if the encoder is fixed)")

    def _draw(self, log: EventLog, rng: Randomness) -> Figures:
        labels = ("a", "b", "c")
        counts = [[float(trace.count(label)) for label in labels] for trace, _ in log.variants]
        bags = np.repeat(counts, log.variants.counts, axis=0)
        direction = np.array([0.6, 0.6, np.sqrt(0.28)])
        if self.encoder == "fitted":
            direction = np.abs(np.linalg.svd(bags, full_matrices=False)[2][0])
        codes = bags @ direction
        spread = np.sqrt(self.STEPS / (2 * zcdp_rho(self.epsilon, self.delta)))
        random = np.random.default_rng()
        decoder = np.zeros(len(labels))
        for _ in range(self.STEPS):
            gradients = (codes[:, None] * decoder - bags) * codes[:, None]
            norms = np.maximum(np.linalg.norm(gradients, axis=1), 1.0)
            noisy = (gradients / norms[:, None]).sum(axis=0) + random.normal(0, spread, 3)
            decoder -= 0.05 * noisy
        return Figures(dict(zip(labels, decoder.tolist(), strict=True)))


OUTLIER = Pair(
    "outlier",
    "one case turns the main direction of the data",
    {("a", "c"): 40},
    Case(("b",) * 30),
)


class EveryCase(Sampled):
    """A sample that leaves nothing out, paid for as if it did."""

    def draw(self, counts: Ints, rng: Randomness) -> tuple[Integers, Integers]:
        """All of them."""
        present = np.flatnonzero(counts)
        return present, np.asarray(counts, dtype=np.int64)[present]


def reading_every_case(step: Step) -> Step | None:
    """That sample in place of a sound one."""
    if not isinstance(step, Sampled):
        return None
    return EveryCase(step.name, step.below, step.share)


def lone_bounds(
    self: Contributions,
    runs: int,
    counts: Ints,
    bound: int,
    norm: Norm,
    noise: CountNoise,
    rng: Randomness,
) -> Floats:
    """`Contributions.noisy_runs`, which bounds what a case adds if no other is like it."""
    grid = grid_of(noise)
    alone = counts[self.owner] == 1
    steps = np.where(alone, self.bounded(bound, norm, len(counts), grid), self.times * grid)
    total = np.zeros(self.size, dtype=np.int64)
    np.add.at(total, self.key, steps * counts[self.owner])
    return noise.finer(grid).added(np.tile(total, (runs, 1)), rng) / grid


SOUND_SUM = Examples.clipped_sum


def clipping_few(self: Examples, weights: Integers) -> Integers:
    """`Examples.clipped_sum`, which clips variants of fewer than three cases only."""
    of_pair = self.summed.sum(axis=0)
    many = replace(self, summed=self.summed * (of_pair > 2), owner=np.arange(len(of_pair)))
    few = replace(self, summed=self.summed * (of_pair <= 2))
    rows = many.gradients(weights).astype(np.float64)
    unclipped: Integers = (many.summed @ rows).astype(np.int64)
    return unclipped + SOUND_SUM(few, weights)


SOUND_BEGINNING = OverDictionary._begin


def raw_number_of_cases(
    self: OverDictionary, variants: Variants, rng: Randomness
) -> dict[str, Any]:
    """`OverDictionary._begin`, which draws a noisy number of cases and goes on with the raw one."""
    facts = SOUND_BEGINNING(self, variants, rng) | {"trained_on": max(1, variants.cases)}
    return facts | ({"cases": variants.cases} if self.cases is None else {})


SHARED_BUGS: dict[str, tuple[str, dict[str, Any], type, str, Any]] = {
    "bounds for lone cases": (
        "df-laplace",
        {"bound": 3, "delta": 0.0},
        Contributions,
        "noisy_runs",
        lone_bounds,
    ),
    "clips for few cases": (
        "headtail",
        {"delta": 1e-6, GIVEN: {"coverage probe": (0, 800)}},
        Examples,
        "clipped_sum",
        clipping_few,
    ),
    "ddpm's number of cases": ("ddpm", {"steps": 2}, OverDictionary, "_begin", raw_number_of_cases),
    "travag's number of cases": (
        "travag",
        {"steps": 2},
        OverDictionary,
        "_begin",
        raw_number_of_cases,
    ),
}
"""Bugs that only a case shows whose variant many have: mechanism, parameters that lead there, and
what is written in place of what."""


def led_there(name: str, wanted: dict[str, Any]) -> AuditSubject:
    """The mechanism with the declared parameters that lead to a bug."""
    return next(
        one
        for one in subjects_of(name)
        if wanted.items() <= one.parameters.items() and one.parameters.get("cases", 1)
    )
