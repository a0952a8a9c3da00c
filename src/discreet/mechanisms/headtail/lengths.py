"""Lengths: noisy numbers of hidden cases by length, and what follows from them.

A case is in one bucket, so it changes one count by one. Candidates are weighted and cut by these
lengths, and contributions to n-grams are bounded by their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.variants import Variants
from discreet.mechanisms.headtail.votes import Estimate
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness

BUCKETS = 9
"""Number of buckets of lengths: 1, 2, 3–4, 5–8, …, 129 and more."""

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
LEAST_LIMIT = 8
"""Lowest limit on the events of a candidate."""

REACHED = 0.97
"""Part of the cases that a limit on the events of a candidate lets through at least."""


@dataclass(frozen=True)
class Lengths:
    """Noisy numbers of cases by length, in buckets that double."""

    noisy: Integers
    deviation: float

    @classmethod
    def of(cls, cases: Variants, noise: CountNoise, rng: Randomness) -> Lengths:
        """The noisy numbers; spends the noise's step, of sensitivity 1: a case is in one bucket."""
        counts = np.zeros(BUCKETS, dtype=np.int64)
        np.add.at(counts, _bucket(cases.lengths), cases.counts)
        return cls(noise.added(counts, rng), noise.deviation)

    @property
    def total(self) -> Estimate:
        """The number of cases, with its error."""
        return Estimate(float(self.noisy.sum()), self.deviation * BUCKETS**0.5)

    @property
    def likely(self) -> Floats:
        """The share of each bucket; one below the noise has none."""
        clear = np.where(self.noisy > self.deviation, self.noisy, 0).astype(np.float64)
        if not clear.any():
            clear[3] = 1.0
        shares: Floats = clear / clear.sum()
        return shares

    @property
    def mean(self) -> float:
        """The approximate mean length, in events."""
        return float(self.likely @ np.concatenate([[1.0], 0.75 * 2.0 ** np.arange(1, BUCKETS)]))

    @property
    def longest(self) -> int:
        """A length that few cases exceed, in events; never so short that it may be noise."""
        return max(LEAST_LIMIT, int(2 ** np.flatnonzero(np.cumsum(self.likely) > REACHED)[0]))

    def matched(self, sampled: Variants) -> Variants:
        """The samples, with weights halfway between theirs and what these lengths want."""
        bucket = _bucket(sampled.lengths)
        have = np.bincount(bucket, weights=sampled.counts, minlength=BUCKETS)
        wanted = np.sqrt(self.likely * sampled.cases / np.maximum(have, 1))[bucket]
        counts = np.maximum(np.rint(100 * sampled.counts * wanted), 1)
        return replace(sampled, counts=counts.astype(np.int64))


def _bucket(lengths: Ints) -> Integers:
    doubled = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    return np.minimum(doubled, BUCKETS - 1)
