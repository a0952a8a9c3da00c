"""A private bound: how large a size most cases stay within, from a noisy histogram."""

from __future__ import annotations

from functools import cache

import numpy as np

from discreet.arrays import Ints
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness

LARGEST_SIZE = 10_000
FALLBACK_BOUND = 20
"""The bound where the noise leaves no case to be seen."""


@cache
def edges() -> tuple[int, ...]:
    """Upper ends of the bins: every size up to 8, then four to each doubling."""
    found = list(range(1, 9))
    while found[-1] < LARGEST_SIZE:
        found.append(min(LARGEST_SIZE, found[-4] * 2))
    return tuple(found)


def private_bound(
    sizes: Ints, cases: Ints, quantile: float, noise: CountNoise, rng: Randomness
) -> int:
    """The least bin edge that about this share of the cases does not exceed.

    Each case has one size and falls into one bin of a public list: the histogram has sensitivity
    1 (add-remove), which `noise` is for; the rest reads the noisy bins.
    """
    ends = np.array(edges())
    counts = np.zeros(len(ends), dtype=np.int64)
    np.add.at(counts, np.searchsorted(ends, np.minimum(sizes, LARGEST_SIZE)), cases)
    noisy = noise.added(counts, rng)
    below = np.cumsum(noisy)
    if below[-1] <= 0:
        return FALLBACK_BOUND
    return int(ends[np.argmax(below >= quantile * below[-1])])
