"""A private choice among releases: the one closest to the log, by the exponential mechanism.

The score of a release is |L|·similarity in thousandths of a case, rounded down. One case more
raises |L|·similarity by 0 to 2, exactly as it is computed (`models.similarity.cases_in_place`,
any number of cases, whatever the solver underneath does). Rounding down to a grid that divides 2
keeps that: the score rises by 0 to 2000 thousandths. It is monotone with sensitivity 2, so weights
e^{ε·score/2} cost ε.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.models.similarity import MOST_CASES, cases_in_place
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing

CHOICE = "choice of the candidate"

# Proof
SCORE_GRID = 1000
"""Scores count thousandths of a case."""

SENSITIVITY = 2 * SCORE_GRID
"""Most that one case adds to a score."""

# Tuned
CHOICE_SHARE = 0.1
"""Share of epsilon for the choice."""


def check_comparable(log: EventLog) -> None:
    """Raise LogError if the log is too large for its cases to be compared."""
    if log.cases > MOST_CASES:
        raise LogError(f"a choice by similarity takes at most {MOST_CASES:,} cases")


def closeness(log: Variants, release: Variants) -> int:
    """The score of a release."""
    return floor(cases_in_place(log, release) * SCORE_GRID)


def choosing(budget: Budget) -> Choosing:
    """The step that pays for the choice, with its share of a budget."""
    return Choosing(CHOICE, budget.share(CHOICE_SHARE, 0).epsilon)


def chosen(scores: Sequence[int], step: Choosing, rng: Randomness) -> int:
    """The index of the chosen score; spends the step."""
    return step.choose(scores, SENSITIVITY, monotone=True, rng=rng)
