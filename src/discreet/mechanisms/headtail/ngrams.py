"""Noisy n-grams of the cases, and the Markov chain that they make.

What each step costs is given by the caller; the proof is in `mechanism.py`.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.contributions import Contributions
from discreet.mechanisms.headtail.candidates import (
    PHASES,
    Chain,
    context,
    located,
)
from discreet.mechanisms.headtail.tables import Tables
from discreet.privacy.randomness import Randomness

LEVELS = ((1.0,), (0.45, 0.55), (0.28, 0.44, 0.28))
"""Of the budget for contexts: the levels of context, as many as the noise allows."""

REACH = (8.0, 40.0)
"""Deviations of the noise by which an activity must stand out for each further level."""

OPEN = 5.0
"""A context is opened if its noisy count exceeds so many deviations of the noise."""

ZERO, FAINT_ZERO = 2.0, 0.8
"""Counts below so many deviations are taken as noise; the second where nearly all would be."""

FAINT = 2.0
"""Nearly all would be where pairs are all there is and the average one is fewer deviations."""

SMOOTH = (0.3, 10.0)
"""Weight of the shorter context, in deviations: for pairs, and for longer ones."""

SHARPEN = 1.35
"""Exponent of the probabilities: likely sequences make better candidates than typical ones."""


def reach(tables: Tables, labels: int, cases: float, length: float) -> float:
    """By how many deviations of the noise the average activity stands out."""
    return max(cases, 0.0) * length * tables.standing_out(length) / (labels + 1)


def learned(
    cases: Variants,
    overall: Floats,
    tables: Tables,
    reached: float,
    rng: Randomness,
) -> Chain:
    """A chain of noisy counts of what follows which context, each smoothed by the less precise.

    `overall` is how likely each activity, and the end, is anywhere, and `reached` by how much
    activities stand out: the more they do, the more precise the contexts.
    """
    mark = len(cases.activities)
    base = mark + 1
    last, following, owner = pairs(cases)
    steps = np.arange(len(owner)) - np.searchsorted(owner, owner)
    shares = LEVELS[sum(reached > least for least in REACH)]
    depth = len(shares)
    zero = FAINT_ZERO if depth == 1 and reached < FAINT * base else ZERO
    past = [np.where(steps >= back, np.roll(last, back), mark) for back in range(max(depth - 1, 1))]
    contexts = np.arange(base)
    shorter: Floats = np.repeat((overall / overall.sum())[None], base, axis=0)
    levels: list[tuple[Integers, Floats]] = []
    for level in range(depth):
        noise = tables.part(shares[level])
        deviation = noise.deviation
        place, known = located(contexts, context(level, base, steps, past))
        table = Contributions.of(
            owner[known], place[known] * base + following[known], len(contexts) * base
        )
        counts = table.noisy_counts(cases.counts, tables.bound, tables.norm, noise, rng).reshape(
            -1, base
        )
        weights = np.where(counts > zero * deviation, counts, 0)
        weights += SMOOTH[min(level, 1)] * deviation * shorter
        weights = (weights / weights.sum(axis=1, keepdims=True)) ** SHARPEN
        levels.append((contexts, weights / weights.sum(axis=1, keepdims=True)))
        contexts = _refined(level, contexts, counts, deviation, base)
        if not len(contexts):
            break
        shorter = _less_precise(levels, contexts, base)
    return Chain(cases.activities, levels)


def _refined(
    level: int, contexts: Integers, counts: Floats, deviation: float, base: int
) -> Integers:
    """The contexts of the next level that are frequent enough to be worth a row."""
    if level == 0:
        often = np.flatnonzero(counts.sum(axis=0)[:-1] > OPEN * deviation)
        later = (np.arange(1, PHASES)[:, None] * base + often).ravel()
        return np.append(base - 1, later)
    row, column = np.nonzero(counts[:, :-1] > OPEN * deviation)
    phase, symbols = np.divmod(contexts[row], base**level)
    grown = symbols * base + column
    # A step later the phase is the next one or, if it lasts longer than a step, the same.
    following = np.minimum(phase + 1, PHASES - 1)
    lasting = np.where(phase > 2, phase, following)
    return np.unique(np.concatenate([following, lasting]) * base ** (level + 1) + np.tile(grown, 2))


def _less_precise(levels: list[tuple[Integers, Floats]], contexts: Integers, base: int) -> Floats:
    """For each context of the next level the weights of the most precise one it refines."""
    found = levels[0][1][contexts % base]
    phase = contexts // base ** len(levels)
    for level, (listed, weights) in enumerate(levels[1:], start=1):
        place, known = located(listed, phase * base**level + contexts % base**level)
        found[known] = weights[place[known]]
    return found
