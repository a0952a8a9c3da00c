"""A log-linear model of what comes next in a case, learned by noisy gradient steps.

Its logits add up weights of the last activity, the one before, every activity that the case has
had, and the phase. So what happens once, or only after something else, is learned from few cases.

Proof of ρ-zCDP. A step adds up one vector per case, the gradient of its log-likelihood at the
current weights, which are released numbers. All of it is computed in whole numbers (`Examples`):
features and weights are integers, probabilities come from one fixed table of e^(−x) and are rounded
down. So a case's vector depends on the case and on the weights only, to the last bit. It is scaled
to an L2 norm of at most CLIP and rounded towards zero, entry by entry. The sum changes by a vector
of norm CLIP at most if a case comes or goes; discrete Gaussian noise of variance CLIP²·STEPS/(2ρ)
makes each step ρ/STEPS-zCDP, and STEPS of them, each chosen by the ones before, ρ-zCDP (Canonne,
Kane, Steinke 2020). The size of a step, momentum and averages are post-processing.
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

Singles = npt.NDArray[np.float32]

# Proof
STEPS = 20
"""Gradient steps on the hidden cases; each costs a part of ρ."""

GRID = 1024
"""Probabilities are multiples of 1/GRID."""

FINE = 256
"""Weights are multiples of 1/FINE."""

ONCE, HALF = 2, 1
"""Values of features, in halves: 1 for the last two activities and the phase, 1/2 for the bias, and
either for each earlier activity."""

CLIP = 2 * ONCE * GRID
"""Largest norm of a case's gradient: 2, in steps of the grids."""

LARGEST_WEIGHT = 16.0
"""Largest weight, and its negative the smallest, so that logits are exact in single precision."""

LONGEST = 1024
"""Number of events of a case that are learned from, the first ones, so that no sum overflows."""

RANGE = 16 * ONCE * FINE
"""Distance from the largest logit at which an activity has no chance, in steps of a logit."""

CHANCES = np.rint(np.exp(-np.arange(RANGE + 1) / (ONCE * FINE)) * 2**20).astype(np.float32)
"""The table of e^(−x), in whole numbers: one entry for each step of a logit below the largest."""

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
MOMENTUM = 0.9

NOISE, LARGEST_RATE = 1.2, 6.0
"""Spread of a weight by the noise of all steps that decides how large they are, and their largest
size: cases that stand out from the noise tell more by larger steps."""

SPREAD = math.hypot(*((1 - MOMENTUM**turn) / (1 - MOMENTUM) for turn in range(1, STEPS + 1)))
"""Spread of a weight by the noise of all steps, over that by the noise of one."""

FEW_EARLIER = 20
"""Activities of a case up to which each earlier one counts as much as the last one; of more, half
as much, since together they would drown it."""

SHARPEN = 1.4
"""Exponent of the probabilities: likely sequences make better candidates than typical ones."""

LEAST_CLEAR = 1.0
"""Deviations by which the cases stand out from the noise of the weights where they are learned."""

# Tuned for speed on two cores
MOST_WEIGHTS, MOST_WORK = 100_000, 10_000_000
"""Most weights, and most events times activities, that are learned in time."""

BLOCK = 5_000
"""Events of variants that are processed together, so that they fit into the processor's cache."""


def weights_of(labels: int) -> int:
    """The number of weights for this many activities."""
    return (3 * labels + 3 + PHASES) * (labels + 1)


def standing_out(labels: int, cases: float, rho: float) -> float:
    """Deviations by which this many cases stand out from the noise of the weights."""
    return max(cases, 0.0) * math.sqrt(2 * rho / weights_of(labels))


def learnable(labels: int, cases: float, length: float, rho: float) -> bool:
    """Whether this many cases tell enough about the weights at this cost, and in time."""
    clear = standing_out(labels, cases, rho) > LEAST_CLEAR
    return clear and weights_of(labels) <= MOST_WEIGHTS and cases * length * labels <= MOST_WORK


@dataclass(frozen=True)
class LogLinear(Walker):
    """A model with a weight of each feature (rows) for each activity and the end (columns)."""

    weights: Floats

    def chances(self, history: Integers) -> Floats:
        """The weight of each activity, and of the end; see `Walker`."""
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
    """A model of these cases; spends `step`. Their number and mean length are released ones."""
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
        """The examples of all cases, in blocks that fit into the processor's cache; see `of`."""
        block = cases.offsets[1:] // BLOCK
        parts = np.split(np.arange(len(cases)), np.flatnonzero(np.diff(block)) + 1)
        return [cls.of(cases.take(part), earlier) for part in parts]

    @classmethod
    def of(cls, cases: Variants, earlier: int) -> Examples:
        """The first LONGEST steps of each variant; `earlier` is the value of earlier activities."""
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
        """Gradients of the log-likelihood of a case of each variant: a row per pair, in 1/GRID."""
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
    """The number of each step's context, and a step of each context."""
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
    """The four tables of `Examples` about pairs, from the context and owner of each step."""
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
    """The distinct activities before each step, as (step, activity) pairs."""
    ends = np.searchsorted(owner, owner, side="right")
    real = np.flatnonzero(last < mark)
    _, first = np.unique(owner[real] * np.int64(mark) + last[real], return_index=True)
    begin = real[first]
    many = ends[begin] - begin
    step = np.repeat(begin - np.cumsum(many) + many, many) + np.arange(many.sum())
    return step, np.repeat(last[begin], many)
