"""Guessing advantage: how much better someone guesses a fact after a release than before it."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Floats, Integers


def worst_prior(guessing_advantage: float) -> float:
    """The prior for which a given advantage takes the smallest epsilon (the paper's Eq. 3)."""
    return (1 - guessing_advantage) / 2


def published_epsilon(
    prior: Floats | float, guessing_advantage: float, known: Integers | int = 1
) -> Floats:
    """The paper's epsilon for a prior probability of guessing right, values within [0, 1] (Eq. 1).

    Where prior + advantage ≥ 1 no guess can gain more than allowed and Eq. 1 has no value: by the
    paper no noise were needed, and the true time would be shown. But the prior is estimated from
    the very values that are to be hidden (a lone case always has prior 1), and `known` values
    tell it no finer than 1/(known + 1). So there it is taken that much below 1 − advantage, or
    as the worst prior if that is more. A lone case gets the least epsilon that Eq. 1 ever gives.
    """
    given = np.asarray(prior, dtype=np.float64)
    below = 1 - guessing_advantage - 1 / (np.asarray(known, dtype=np.float64) + 1)
    certain = np.maximum(worst_prior(guessing_advantage), below)
    usable = np.where(given + guessing_advantage < 1, given, certain)
    odds = usable / (1 - usable) * (1 / (guessing_advantage + usable) - 1)
    return np.asarray(-np.log(odds), dtype=np.float64)


def advantage_bound(epsilon: float, delta: float = 0.0) -> float:
    """The guessing advantage that (epsilon, delta) allows, add-remove, for any fact about one unit.

    Let the secret x have any prior, G(o) be the set guessed after outcome o, P the largest prior
    of a set that may be guessed, M₀ the release without the unit. As M_x(S) ≤ e^ε·M₀(S) + δ, the
    guess is right with probability Σ prior(x)·M_x(x ∈ G) ≤ e^ε·P + δ; and as
    M_x(S) ≥ e^{−ε}(M₀(S) − δ), it is wrong with probability at least e^{−ε}(1 − P − δ). Hence

        advantage ≤ min(e^ε·P + δ, 1 − e^{−ε}(1 − P − δ)) − P ≤ (e^ε − 1 + 2δ)/(e^ε + 1),

    attained at P = (1 − δ)/(e^ε + 1). The mean is over outcomes; for δ = 0 it holds for each.
    """
    return min(1.0, math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2)))
