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
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.variants import Variants
from discreet.mechanisms.headtail.candidates import PHASES, Walker, phases
from discreet.mechanisms.headtail.examples import (
    CLIP,
    FINE,
    HALF,
    LARGEST_WEIGHT,
    ONCE,
    Examples,
)
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian

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
