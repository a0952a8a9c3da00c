"""Counts to which each case contributes a bounded amount, and a bound that is chosen privately."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness

Norm = Literal["l1", "l2"]

# Proof
GRID = 1024
"""Steps in which one is counted: contributions are whole multiples of 1/GRID."""

_DOWN = 1 - 2.0**-40
"""Factor that rounds a scale down by more than floats err."""

LARGEST_SIZE = 10_000
"""Upper end of the last bin of sizes; larger sizes fall into it."""

# Tuned
COARSE_DEVIATION = 1e5
"""Deviation of the noise from which on contributions are whole: no finer step would show."""

FALLBACK_BOUND = 20
"""The bound where noise leaves no case to be seen."""


@dataclass(frozen=True)
class Contributions:
    """What one case of each variant adds to each of `size` counts: `times[i]` to `key[i]`.

    `owner[i]` is the variant. Each (owner, key) appears once.
    """

    owner: Integers
    key: Integers
    times: Integers
    size: int

    @classmethod
    def of(cls, owner: Ints, key: Ints, size: int) -> Contributions:
        """The contributions of these (owner, key) entries, equal ones added up."""
        flat, times = np.unique(owner * np.int64(size) + key, return_counts=True)
        fresh_owner, fresh_key = np.divmod(flat, size)
        return cls(fresh_owner, fresh_key, times.astype(np.int64), size)

    @classmethod
    def of_follows(cls, variants: Variants) -> Contributions:
        """Directly-follows pairs with ⊤ and ⊥, numbered source · (activities + 1) + target."""
        source, target, owner = pairs(variants)
        width = len(variants.activities) + 1
        return cls.of(owner, source * width + target, width * width)

    @classmethod
    def of_near(cls, variants: Variants, distance: int) -> Contributions:
        """Pairs at most `distance` steps apart, each once per case; numbered as in `of_follows`."""
        source, target, owner = near_pairs(variants, distance)
        width = len(variants.activities) + 1
        found = cls.of(owner, source * width + target, width * width)
        return replace(found, times=np.minimum(found.times, 1))

    def norms(self, norm: Norm, variants: int) -> Floats:
        """The size of each variant's contribution: its sum, or its sum of squares."""
        weight = (self.times if norm == "l1" else self.times**2).astype(np.float64)
        return np.bincount(self.owner, weights=weight, minlength=variants).astype(np.float64)

    def bounded(self, bound: int, norm: Norm, variants: int, grid: int) -> Integers:
        """The entries in steps of 1/grid, each case's vector scaled down to the bound on its own.

        Every entry is rounded towards zero, so the norm of a case's vector stays within the bound.
        """
        norms = self.norms(norm, variants)
        excess = np.maximum(norms / bound, 1.0)
        scale = (1 / excess if norm == "l1" else 1 / np.sqrt(excess)) * _DOWN
        scale[norms <= bound] = 1.0
        return np.floor(self.times * scale[self.owner] * grid).astype(np.int64)

    def noisy_counts(
        self, counts: Ints, bound: int, norm: Norm, noise: CountNoise, rng: Randomness
    ) -> Floats:
        """Noisy counts of bounded contributions; spends the noise's step. See `noisy_runs`."""
        noisy: Floats = self.noisy_runs(1, counts, bound, norm, noise, rng)[0]
        return noisy

    def noisy_runs(
        self, runs: int, counts: Ints, bound: int, norm: Norm, noise: CountNoise, rng: Randomness
    ) -> Floats:
        """Independent noisy counts of bounded contributions, one row each; spends the noise's step.

        `noise` is that of sensitivity `bound` (l1) or squared sensitivity `bound` (l2). Sum and
        noise are whole multiples of 1/grid.
        """
        grid = grid_of(noise)
        steps = self.bounded(bound, norm, len(counts), grid)
        total = np.zeros(self.size, dtype=np.int64)
        np.add.at(total, self.key, steps * counts[self.owner])
        return noise.finer(grid).added(np.tile(total, (runs, 1)), rng) / grid


def grid_of(noise: CountNoise) -> int:
    """Number of steps in which one is counted beside this noise."""
    return GRID if noise.deviation < COARSE_DEVIATION else 1


def near_pairs(variants: Variants, distance: int) -> tuple[Integers, Integers, Integers]:
    """Every pair of events at most `distance` steps apart: source, target, and variant.

    ⊤ and ⊥ are events too, with the code after the last activity; the pair of both is left out.
    """
    mark = len(variants.activities)
    sizes = variants.lengths + 2
    owner = np.repeat(np.arange(len(variants)), sizes)
    marks = np.cumsum(sizes)
    inner = np.ones(len(owner), dtype=np.bool_)
    inner[np.concatenate([marks - sizes, marks - 1])] = False
    symbols = np.full(len(owner), mark, dtype=np.int64)
    symbols[inner] = variants.codes
    found = []
    for step in range(1, distance + 1):
        within = np.flatnonzero(owner[:-step] == owner[step:])
        within = within[inner[within] | inner[within + step]]
        found.append((symbols[within], symbols[within + step], owner[within]))
    source, target, owners = (np.concatenate(part) for part in zip(*found, strict=True))
    return source, target, owners


def private_bound(
    sizes: Ints, cases: Ints, quantile: float, noise: CountNoise, rng: Randomness
) -> int:
    """The least bin edge that about this share of the cases stays within; spends the noise's step.

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


@cache
def edges() -> tuple[int, ...]:
    """Upper ends of the bins: every size up to 8, then four to each doubling."""
    found = list(range(1, 9))
    while found[-1] < LARGEST_SIZE:
        found.append(min(LARGEST_SIZE, found[-4] * 2))
    return tuple(found)
