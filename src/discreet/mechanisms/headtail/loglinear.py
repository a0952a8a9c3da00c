"""A log-linear model of what comes next in a case, learned by noisy gradient steps.

Its logits add up weights of the last activity, the one before, every activity that the case has
had, and the phase. So what happens once, or only after something else, is learned from few cases.

Proof of ρ-zCDP. A step adds up one vector per case, the gradient of its log-likelihood at the
current weights, which are released numbers. All of it is computed in whole numbers: features and
weights are integers, probabilities come from one fixed table of e^(−x) and are rounded down. So a
case's vector depends on the case and on the weights only, to the last bit. It is scaled to an L2
norm of at most CLIP and rounded towards zero, entry by entry. The sum changes by a vector of norm
CLIP at most if a case comes or goes; discrete Gaussian noise of variance CLIP²·STEPS/(2ρ) makes
each step ρ/STEPS-zCDP, and STEPS of them, each chosen by the ones before, ρ-zCDP (Canonne, Kane,
Steinke 2020). The size of a step, momentum and averages are post-processing.

Examples: what comes next in a case, and the gradient of its log-likelihood, in whole numbers.

The proof that needs the whole numbers is in `loglinear.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Floats, Integers, Ints
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

FEW_EARLIER = 20
"""Activities of a case up to which each earlier one counts as much as the last one; of more, half
as much, since together they would drown it."""

SHARPEN = 1.4
"""Exponent of the probabilities: likely sequences make better candidates than typical ones."""

MOST_WEIGHTS, MOST_WORK = 100_000, 10_000_000
"""Weights, and events times activities, that are learned in time."""

LEAST_CLEAR = 1.0
"""The model is worth learning if the cases stand out so much from the noise of its weights."""


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
        logits = self.weights[0] / 2 + seen[:, :mark] @ self.weights[2 * mark + 3 : -PHASES]
        logits += self.weights[1 + history[:, -1]]
        logits += self.weights[mark + 2 + history[:, max(steps - 1, 0)]]
        logits += self.weights[phases(np.array([steps])) - PHASES]
        found: Floats = np.exp(SHARPEN * (logits - logits.max(axis=1, keepdims=True)))
        return found


def trained(
    cases: Variants,
    cases_about: float,
    length: float,
    step: Gaussian,
    rng: Randomness,
) -> LogLinear:
    """A model of these cases, which costs `step`; their number and length are released ones."""
    labels = len(cases.activities)
    earlier = ONCE if min(length, labels) <= FEW_EARLIER else HALF
    blocks = Examples.blocks(cases, earlier)
    weights = np.zeros((3 * labels + 3 + PHASES, labels + 1))
    speed, mean = np.zeros_like(weights), np.zeros_like(weights)
    noise = step.noise(CLIP**2 * STEPS)
    size = CLIP * max(cases_about, 1.0)
    rate = min(NOISE * size / (noise.deviation * SPREAD), LARGEST_RATE) / size
    drawn = noise.draw(STEPS * weights.size, rng).reshape(STEPS, *weights.shape)
    for turn in range(STEPS):
        whole = np.rint(weights * FINE).astype(np.int64)
        clipped = sum((block.clipped_sum(whole) for block in blocks), np.zeros_like(whole))
        noisy = noise.joined(clipped, drawn[turn])
        speed = MOMENTUM * speed + rate * noisy
        weights = np.clip(weights + speed, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        if 2 * turn >= STEPS:
            mean += weights / math.ceil(STEPS / 2)
    mean[2 * labels + 3 : -PHASES] *= earlier / ONCE
    return LogLinear(cases.activities, mean)


Singles = npt.NDArray[np.float32]

GRID = 1024
"""Probabilities are multiples of 1/GRID."""

FINE = 256
"""Weights are multiples of 1/FINE."""

ONCE, HALF = 2, 1
"""Features are in halves: the last two activities and the phase count 1, the bias 1/2, and each
earlier activity the one or the other."""

CLIP = 2 * ONCE * GRID
"""Norm of a case's gradient at most: 2."""

LARGEST_WEIGHT = 16.0
"""Weights are between this and its negative, so that logits are exact in single precision."""

BLOCK = 5_000
"""Events of variants that are looked at together."""

LONGEST = 1024
"""Events of a case that are learned from, the first ones, so that no sum overflows."""

RANGE = 16 * ONCE * FINE
"""Logits that are so far below the largest one have no chance."""

CHANCES = np.rint(np.exp(-np.arange(RANGE + 1) / (ONCE * FINE)) * 2**20).astype(np.float32)
"""e^(−x) in whole numbers, for steps of a logit."""


@dataclass(frozen=True)
class Examples:
    """Every step of every variant, as sparse whole numbers.

    Steps that share their features are one context, a row of `features`. `gathered` adds up the
    contexts of a variant that share a feature: its rows are the pairs (feature, `owner`) that
    occur, and `observed` says what came next in them. `summed` adds up the pairs of a feature,
    for all cases of each variant. All are floats that hold whole numbers, in single precision
    below 2²⁴ and else below 2⁵³, so sums are exact in any order.
    """

    features: csr_array
    gathered: csr_array
    observed: Singles
    summed: csr_array
    owner: Integers

    @classmethod
    def blocks(cls, cases: Variants, earlier: int) -> list[Examples]:
        """Of all cases, in blocks that a processor holds near; see `of`."""
        block = cases.offsets[1:] // BLOCK
        parts = np.split(np.arange(len(cases)), np.flatnonzero(np.diff(block)) + 1)
        return [cls.of(cases.take(part), earlier) for part in parts]

    @classmethod
    def of(cls, cases: Variants, earlier: int) -> Examples:
        """The first LONGEST steps of each variant; `earlier` says how much earlier ones count."""
        mark = len(cases.activities)
        last, following, owner = pairs(cases)
        steps = np.arange(len(owner)) - np.searchsorted(owner, owner)
        before = np.where(steps > 0, np.roll(last, 1), mark)
        early = steps < LONGEST
        last, following, owner = last[early], following[early], owner[early]
        steps, before = steps[early], before[early]
        row, activity = _seen(last, owner, mark)
        seen = np.zeros((len(owner), mark), dtype=bool)
        seen[row, activity] = True
        context, first = _distinct(last, before, phases(steps), seen)
        size = 3 * mark + 3 + PHASES
        listed = [
            np.zeros_like(first),
            1 + last[first],
            mark + 2 + before[first],
            size - PHASES + phases(steps[first]),
        ]
        place, activity = np.nonzero(seen[first])
        features = _sparse(
            np.repeat([HALF, ONCE, earlier], [len(first), 3 * len(first), len(place)]),
            np.concatenate([np.tile(np.arange(len(first)), 4), place]),
            np.concatenate([*listed, 2 * mark + 3 + activity]),
            (len(first), size),
        )
        return cls(features, *_gathered(features, context, following, owner, cases.counts))

    def gradients(self, weights: Integers) -> Singles:
        """Of the log-likelihood of one case of each variant: for each pair a row, in 1/GRID."""
        below: Singles = self.features @ weights.astype(np.float32)
        np.subtract(below.max(axis=1, keepdims=True), below, out=below)
        chances = CHANCES[np.minimum(below, RANGE).astype(np.int32)]
        chances *= GRID / chances.sum(axis=1, keepdims=True, dtype=np.float64)
        found: Singles = self.observed - self.gathered @ np.floor(chances)
        return found

    def clipped_sum(self, weights: Integers) -> Integers:
        """The sum over the cases of their gradients, each scaled to the norm CLIP at most."""
        rows = self.gradients(weights).astype(np.float64)
        squares = np.bincount(self.owner, np.einsum("ij,ij->i", rows, rows))
        norms = np.sqrt(np.maximum(squares, CLIP**2))
        scale = np.where(squares > CLIP**2, CLIP / norms * (1 - 2.0**-40), 1.0)
        rows *= scale[self.owner][:, None]
        np.trunc(rows, out=rows)
        total: Integers = (self.summed @ rows).astype(np.int64)
        return total


def _distinct(last: Ints, before: Ints, phase: Ints, seen: Booleans) -> tuple[Integers, Integers]:
    """Which context each step has, numbered, and a step of each context."""
    bits = np.packbits(seen, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8))).view(np.uint64)
    base = seen.shape[1] + 1
    keys = [(last.astype(np.int64) * base + before) * PHASES + phase, *bits.T]
    order = np.lexsort(keys)
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[order[1:]] != key[order[:-1]]
    context = np.empty(len(order), dtype=np.int64)
    context[order] = np.cumsum(new) - 1
    return context, order[new]


def _gathered(
    features: csr_array, context: Integers, following: Ints, owner: Ints, counts: Ints
) -> tuple[csr_array, Singles, csr_array, Integers]:
    """What `Examples` knows of the pairs, by the context and the owner of each step."""
    many = np.diff(features.indptr)[context]
    step = np.repeat(np.arange(len(context)), many)
    entry = np.arange(len(step)) + (features.indptr[context] - np.cumsum(many) + many)[step]
    size, value = features.shape[1], features.data[entry]
    key = features.indices[entry].astype(np.int64) * len(counts) + owner[step]
    present = np.zeros(size * len(counts), dtype=bool)
    present[key] = True
    pair, place = np.flatnonzero(present), (np.cumsum(present) - 1)[key]
    feature, fresh = pair // max(len(counts), 1), pair % max(len(counts), 1)
    labels = (size - PHASES) // 3
    came = np.bincount(place * labels + following[step], GRID * value, len(pair) * labels)
    return (
        _sparse(value, place, context[step], (len(pair), features.shape[0])),
        came.reshape(-1, labels).astype(np.float32),
        _sparse(counts[fresh], feature, np.arange(len(pair)), (size, len(pair)), np.float64),
        fresh,
    )


def _sparse(
    value: npt.NDArray[np.generic],
    row: Integers,
    column: Integers,
    shape: tuple[int, int],
    kind: type[np.floating] = np.float32,
) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((value.astype(kind), (row, column)), shape=shape)


def _seen(last: Ints, owner: Ints, mark: int) -> tuple[Integers, Integers]:
    """For each step the distinct activities that came before it: (step, activity) pairs."""
    ends = np.searchsorted(owner, owner, side="right")
    real = np.flatnonzero(last < mark)
    _, first = np.unique(owner[real] * np.int64(mark) + last[real], return_index=True)
    begin = real[first]
    many = ends[begin] - begin
    step = np.repeat(begin - np.cumsum(many) + many, many) + np.arange(many.sum())
    return step, np.repeat(last[begin], many)
