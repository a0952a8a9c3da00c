"""Whether a head is worth looking for, by two noisy numbers. Post-processing only."""

from __future__ import annotations

import numpy as np

from discreet.mechanisms.headtail.loglinear import standing_out
from discreet.privacy.count_noise import CountNoise

LEAST_COVERED = 0.4
"""Part of the cases that a head must be expected to cover where a model could be learned well."""

WELL = 4.0
"""A model is learned well if the cases stand out so much from the noise of its weights; if they
stand out less, a head is looked for even if it covers less, in proportion."""

TYPICAL_LABELS = 20
"""Activities that a log is expected to have, public or not."""

GRID = np.linspace(0, 1, 101)
"""Parts of the log that a head may cover."""


def expected_coverage(frequent: int, rare: int, noise: CountNoise) -> float:
    """The part of the cases that are frequent, on average given both noisy numbers.

    All parts are weighted by how likely the noise makes them given the sum; numbers that say
    nothing leave them equally likely.
    """
    cases = max(frequent + rare, 1)
    off = np.abs(frequent - GRID * cases)
    likely = np.exp(-2 * (off - off.min()) / float(noise.size))
    return float(GRID @ likely / likely.sum())


def head_is_better(frequent: int, rare: int, noise: CountNoise, rho: float) -> bool:
    """Whether to look for a head, or to learn a model of all cases that costs ρ."""
    clear = standing_out(TYPICAL_LABELS, frequent + rare, rho)
    least = LEAST_COVERED * min(1.0, clear / WELL)
    return expected_coverage(frequent, rare, noise) >= least
