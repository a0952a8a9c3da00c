"""Coverage: which way a release goes, by how much of the log a head is expected to show.

It reads the two noisy numbers of the coverage probe: post-processing.
"""

from __future__ import annotations

import numpy as np

from discreet.mechanisms.headtail.loglinear import standing_out
from discreet.mechanisms.headtail.spending import FEW_HIDDEN, MANY_HIDDEN, NO_HEAD
from discreet.privacy.count_noise import CountNoise

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
LEAST_COVERED = 0.4
"""Part of the cases that a head must be expected to cover where a model could be learned well."""

WELL_LEARNED = 4.0
"""Deviations by which the cases stand out from the noise of a model that is learned well; if they
stand out less, a head is looked for even if it covers less, in proportion."""

PUBLIC_NAMES = 0.3
"""How well a model is learned, out of 1, if the activities are public, however few the cases."""

WORTH_LEARNING, MUCH_TO_LEARN = 4.1, 5.0
"""Deviations by which hidden cases stand out where a model of them is learned beside a head that
covers all; beside one that covers less, in proportion. The second number is for guessing so
beforehand, by what a model without a head may cost."""

TYPICAL_LABELS = 20
"""Number of activities that a log is expected to have, public or not."""

GRID = np.linspace(0, 1, 101)
"""Parts of the log that a head may cover."""


def expected_coverage(frequent: int, rare: int, noise: CountNoise) -> float:
    """The expected part of frequent cases, given both noisy numbers.

    All parts are weighted by how likely the noise makes them given the sum; numbers that say
    nothing leave them equally likely.
    """
    cases = max(frequent + rare, 1)
    off = np.abs(frequent - GRID * cases)
    likely = np.exp(-2 * (off - off.min()) / float(noise.size))
    return float(GRID @ likely / likely.sum())


def chosen_way(frequent: int, rare: int, noise: CountNoise, rho: float, public: bool) -> str:
    """The way that a release goes after the probe, if a model may cost ρ.

    No head where it would cover little and a model says more; else a head, with a larger reserve
    where a model of what it hides will be worth learning. `public` says whether the activities
    are: then even a poor model has names for what happens, which else only a head would give.
    """
    covered = expected_coverage(frequent, rare, noise)
    cases = frequent + rare
    clear = standing_out(TYPICAL_LABELS, cases, rho)
    learned = max(clear / WELL_LEARNED, PUBLIC_NAMES if public else 0.0)
    if covered < LEAST_COVERED * min(1.0, learned):
        return NO_HEAD
    hidden = standing_out(TYPICAL_LABELS, (1 - covered) * cases, rho)
    return MANY_HIDDEN if hidden > MUCH_TO_LEARN * covered else FEW_HIDDEN


def worth_learning(clear: float, covered: float) -> bool:
    """Whether hidden cases that stand out by `clear` say more than recombinations of the head."""
    return clear > WORTH_LEARNING * covered
