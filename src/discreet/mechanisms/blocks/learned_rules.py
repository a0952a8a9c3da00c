"""Behavioural rules learned under a budget: noisy counts of who is followed by whom."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Integers
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.rules import Rules, eventually_follows, first_and_last
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Step, least_noise

SURE_FACTOR = 10
"""Rules relate only activities that occur this many times as often as the threshold."""


def learned_rules(variants: Variants, max_distinct: int, counting: Step, rng: Randomness) -> Rules:
    """The rules that noisy counts of a log support; where they say little, few rules.

    Of each case only its first d distinct activities count. Then a case adds at most one to each
    of d counts "contains a", d² counts "a is followed by b" and one count "begins with a": L1
    sensitivity d² + d + 1, L2 its root. Noise on all of them (nothing is left out for being
    zero) makes the vector as private as the step says, and the rules read nothing else.

    With τ from the noise: never if fewer than τ cases show the pair, always if fewer than τ fail
    to, and both only between activities of at least 10τ cases. Cases begin with what at least τ
    cases begin with, if anything stands out with 10τ.
    """
    size = len(variants.activities)
    distinct = min(max_distinct, size)
    present, follows, begins = eventually_follows(first_distinct(variants, distinct))
    sensitivity = distinct**2 + distinct + 1
    flat = np.concatenate([follows.ravel(), present, begins])
    noise = least_noise(counting, sensitivity, sensitivity, len(flat))
    flat = noise.added(flat, rng)
    least = noise.threshold(len(flat))
    follows = flat[: size * size].reshape(size, size)
    present = flat[size * size : size * size + size]
    frequent = present >= SURE_FACTOR * least
    sure = frequent[:, None] & frequent[None, :]
    never = (follows < least) & sure
    begins = flat[-size:]
    return Rules(
        first=(begins >= least) | (begins.max() < SURE_FACTOR * least),
        never_follows=never,
        always_follows=(present[:, None] - follows < least) & sure & ~never,
        never_precedes=never.T,
        always_precedes=((present[None, :] - follows < least) & sure & ~never).T,
    )


def first_distinct(variants: Variants, most: int) -> Variants:
    """Each sequence without the events of all but its first few distinct activities."""
    if most >= len(variants.activities) or not len(variants):
        return variants
    keep = np.zeros(len(variants.codes), dtype=np.bool_)
    chunk = max(1, 4_000_000 // len(variants.activities))
    for start in range(0, len(variants), chunk):
        part: Integers = np.arange(start, min(start + chunk, len(variants)))
        first, _ = first_and_last(variants, part)
        rank = np.argsort(np.argsort(first, axis=1, kind="stable"), axis=1)
        owner = np.repeat(np.arange(len(part)), variants.lengths[part])
        span = slice(variants.offsets[part[0]], variants.offsets[part[-1] + 1])
        keep[span] = rank[owner, variants.codes[span]] < most
    return variants.keeping(keep)
