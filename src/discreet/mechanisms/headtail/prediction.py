"""Which way will come closer to the log, predicted from two noisy numbers.

The error is the relative edit distance, on average, between a case that is not frequent and what
stands for it. Post-processing only.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats

LIKE, UNLIKE = 0.1, 0.4
"""Recombinations of a head: their error if it covers the whole log, and what is added if it covers
nothing."""

LEARNED, GUESSED = 0.07, 0.27
"""Samples of n-grams: their error without noise, and what noise adds at most."""

HALFWAY = 2.0
"""How often the average pair exceeds the noise where half of that is added."""

WEIGHED = 6.0
"""What the noise of the votes adds without a head, times cases and epsilon."""

GRID = np.linspace(0, 1, 101)
"""Parts of the log that a head may cover."""


def recombination_error(covered: Floats) -> Floats:
    """The error of recombinations of a head that covers this part of the log."""
    return LIKE + UNLIKE * (1 - covered) ** 4


def ngram_error(clear: Floats) -> Floats:
    """The error of samples of n-grams where the average pair is so many deviations of the noise."""
    return LEARNED + GUESSED / (1 + clear / HALFWAY)


def head_is_better(
    frequent: int, rare: int, look: float, epsilon: float, clear_per_case: float
) -> bool:
    """Whether a head with recombinations is expected to come closer than n-grams.

    `frequent` and `rare` are numbers of cases with discrete Laplace noise of scale 1/look,
    `epsilon` is what is left to spend. Both errors are means over all parts that the head may
    cover, each as likely as the noise makes it given the sum; a look that says nothing leaves all
    equally likely. `clear_per_case` is how much each case that is not frequent makes the average
    pair stand out.
    """
    cases = max(frequent + rare, 1)
    off = np.abs(frequent - GRID * cases)
    likely = np.exp(-2 * look * (off - off.min()))
    votes = WEIGHED / (cases * epsilon)
    with_head = recombination_error(GRID)
    without = ngram_error((1 - GRID) * cases * clear_per_case) + votes
    return float((with_head - without) @ likely) <= 0
