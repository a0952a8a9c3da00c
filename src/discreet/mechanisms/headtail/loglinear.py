"""A log-linear model of what comes next in a case, learned by noisy gradient steps.

Its logits add up weights of the last activity, the one before, every activity that the case has
had, and the phase. So what happens once, or only after something else, is learned from few cases.

Proof of ρ-zCDP. A step adds up one vector per case, the gradient of its log-likelihood at the
current weights, which are released numbers. All of it is computed in whole numbers: features and
weights are integers, probabilities come from one fixed table of e^(−x) by integer division. So a
case's vector depends on the case and on the weights only, to the last bit. It is scaled to an L2
norm of at most CLIP and rounded towards zero, entry by entry. The sum changes by a vector of norm
CLIP at most if a case comes or goes; discrete Gaussian noise of variance CLIP²·STEPS/(2ρ) makes
each step ρ/STEPS-zCDP, and STEPS of them, each chosen by the ones before, ρ-zCDP (Canonne, Kane,
Steinke 2020). The size of a step, momentum and averages are post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.mechanisms.headtail.candidates import PHASES, Walker, phases
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STEPS = 20
"""Gradient steps on hidden cases."""

MOMENTUM = 0.9

NOISE, LARGEST_RATE = 1.2, 6.0
"""Steps are as large as lets the noise of all of them spread a weight by the first number, up to
the second: cases that stand out from the noise tell more by larger steps."""

SPREAD = math.hypot(*((1 - MOMENTUM**turn) / (1 - MOMENTUM) for turn in range(1, STEPS + 1)))
"""How much further than one step's noise that of all steps spreads a weight."""

GRID = 1024
"""Probabilities are multiples of 1/GRID."""

FINE = 256
"""Weights are multiples of 1/FINE."""

ONCE, BEFORE = 2, 1
"""Features are in halves: the last two activities and the phase count 1, the bias and each earlier
activity 1/2."""

CLIP = 2 * ONCE * GRID
"""Norm of a case's gradient at most: 2."""

LONGEST = 1024
"""Events of a case that are learned from, the first ones, so that no sum overflows."""

SHARPEN = 1.4
"""Exponent of the probabilities: likely sequences make better candidates than typical ones."""

MOST_WEIGHTS, MOST_WORK = 100_000, 10_000_000
"""Weights, and events times activities, that are learned in time."""

LEAST_CLEAR = 1.0
"""The model is worth learning if the cases stand out so much from the noise of its weights."""

RANGE = 16 * ONCE * FINE
"""Logits that are so far below the largest one have no chance."""

CHANCES = np.rint(np.exp(-np.arange(RANGE + 1) / (ONCE * FINE)) * 2**20)
"""e^(−x) in whole numbers, for steps of a logit."""


def weights_of(labels: int) -> int:
    """How many weights there are for so many activities."""
    return (3 * labels + 3 + PHASES) * (labels + 1)


def standing_out(labels: int, cases: float, rho: float) -> float:
    """By how many deviations so many cases stand out from the noise of the weights."""
    return max(cases, 0.0) * math.sqrt(2 * rho / weights_of(labels))


def learnable(labels: int, cases: float, length: float, rho: float) -> bool:
    """Whether so many cases tell enough about the weights at this cost, and in time."""
    clear = standing_out(labels, cases, rho) > LEAST_CLEAR
    return clear and weights_of(labels) <= MOST_WEIGHTS and cases * length * labels <= MOST_WORK


@dataclass(frozen=True)
class LogLinear(Walker):
    """Weights of each feature (rows) for each activity and the end (columns)."""

    weights: Floats

    def chances(self, history: Integers) -> Floats:
        """How likely each activity, or the end, is to follow; see `Walker`."""
        mark = len(self.activities)
        rows, steps = np.arange(len(history)), history.shape[1] - 1
        seen = np.zeros((len(history), mark + 1), dtype=bool)
        seen[rows[:, None], history] = True
        logits = self.weights[0] / 2 + seen[:, :mark] @ self.weights[2 * mark + 3 : -PHASES] / 2
        logits += self.weights[1 + history[:, -1]]
        logits += self.weights[mark + 2 + history[:, max(steps - 1, 0)]]
        logits += self.weights[phases(np.array([steps])) - PHASES]
        found: Floats = np.exp(SHARPEN * (logits - logits.max(axis=1, keepdims=True)))
        return found


@dataclass(frozen=True)
class Examples:
    """Every step of every variant, as sparse whole numbers.

    `features` has a row for each step. `gathered` adds up the steps of a variant that share a
    feature: its rows are the pairs (`owner`, feature) that occur; `summed` adds up those of a
    feature. All are floats that hold whole numbers below 2⁵³, so sums are exact in any order.
    """

    features: csr_array
    gathered: csr_array
    summed: csr_array
    owner: Integers
    following: Ints

    @classmethod
    def of(cls, cases: Variants) -> Examples:
        """The first LONGEST steps of each variant."""
        from scipy.sparse import csr_array

        mark = len(cases.activities)
        last, following, owner = pairs(cases)
        steps = np.arange(len(owner)) - np.searchsorted(owner, owner)
        before = np.where(steps > 0, np.roll(last, 1), mark)
        early = steps < LONGEST
        last, following, owner = last[early], following[early], owner[early]
        steps, before = steps[early], before[early]
        row, activity = _seen(last, owner, mark)
        every = np.arange(len(owner))
        size = 3 * mark + 3 + PHASES
        place = np.concatenate([every, every, every, every, row])
        feature = np.concatenate(
            [
                np.zeros_like(every),
                1 + last,
                mark + 2 + before,
                size - PHASES + phases(steps),
                2 * mark + 3 + activity,
            ]
        )
        value = np.full(len(place), float(ONCE))
        value[: len(every)] = value[4 * len(every) :] = BEFORE
        pair, group = np.unique(owner[place] * np.int64(size) + feature, return_inverse=True)
        ones = np.ones(len(pair)), (pair % size, np.arange(len(pair)))
        return cls(
            csr_array((value, (place, feature)), shape=(len(every), size)),
            csr_array((value, (group, place)), shape=(len(pair), len(every))),
            csr_array(ones, shape=(size, len(pair))),
            pair // size,
            following,
        )

    def gradients(self, weights: Integers) -> Floats:
        """Of the log-likelihood of one case of each variant: for each pair a row, in 1/GRID."""
        logits = self.features @ weights.astype(np.float64)
        below = np.minimum(logits.max(axis=1, keepdims=True) - logits, RANGE)
        chances = CHANCES[below.astype(np.int32)]
        missing = -np.floor(GRID * chances / chances.sum(axis=1, keepdims=True))
        missing[np.arange(len(missing)), self.following] += GRID
        found: Floats = self.gathered @ missing
        return found

    def clipped_sum(self, weights: Integers, counts: Ints) -> Integers:
        """The sum over the cases of their gradients, each scaled to the norm CLIP at most."""
        rows = self.gradients(weights)
        squares = np.bincount(self.owner, np.einsum("ij,ij->i", rows, rows), len(counts))
        norms = np.sqrt(np.maximum(squares, CLIP**2))
        scale = np.where(squares > CLIP**2, CLIP / norms * (1 - 2.0**-40), 1.0)
        parts = np.trunc(rows * scale[self.owner][:, None])
        parts *= counts[self.owner][:, None]
        total: Integers = (self.summed @ parts).astype(np.int64)
        return total


def _seen(last: Ints, owner: Ints, mark: int) -> tuple[Integers, Integers]:
    """For each step the distinct activities that came before it: (step, activity) pairs."""
    ends = np.searchsorted(owner, owner, side="right")
    real = np.flatnonzero(last < mark)
    _, first = np.unique(owner[real] * np.int64(mark) + last[real], return_index=True)
    begin = real[first]
    many = ends[begin] - begin
    step = np.repeat(begin - np.cumsum(many) + many, many) + np.arange(many.sum())
    return step, np.repeat(last[begin], many)


def trained(
    cases: Variants,
    cases_about: float,
    step: Gaussian,
    rng: Randomness,
) -> LogLinear:
    """A model of these cases, which costs `step`; `cases_about` is a released number."""
    examples = Examples.of(cases)
    labels = len(cases.activities)
    weights = np.zeros((3 * labels + 3 + PHASES, labels + 1))
    speed, mean = np.zeros_like(weights), np.zeros_like(weights)
    noise = step.noise(CLIP**2 * STEPS)
    size = CLIP * max(cases_about, 1.0)
    rate = min(NOISE * size / (noise.deviation * SPREAD), LARGEST_RATE) / size
    for turn in range(STEPS):
        whole = np.rint(weights * FINE).astype(np.int64)
        total = noise.added(examples.clipped_sum(whole, cases.counts), rng)
        speed = MOMENTUM * speed + rate * total
        weights = np.clip(weights + speed, -RANGE, RANGE)
        if 2 * turn >= STEPS:
            mean += weights / math.ceil(STEPS / 2)
    return LogLinear(cases.activities, mean)
