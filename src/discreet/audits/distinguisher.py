"""A trained distinguisher: logistic regression on the features of an artefact.

As in DP-Sniper (Bichsel et al., S&P 2021) the classifier is only a way to find an event: it is
trained on runs of its own, a threshold on its score is chosen on others, and the event is
measured on yet others, so a bad classifier costs teeth but never truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats

MOST_ROWS = 20_000


@dataclass(frozen=True)
class Distinguisher:
    """A score that is higher where the second log is the likelier origin."""

    middle: Floats
    mean: Floats
    spread: Floats
    weights: Floats

    def score(self, features: Floats) -> Floats:
        """One number per artefact, rounded so that equal artefacts have equal scores."""
        return np.round(_widened(features, self.middle, self.mean, self.spread) @ self.weights, 9)


def train(left: Floats, right: Floats) -> Distinguisher:
    """Fit to artefacts of either log."""
    from scipy.optimize import minimize

    left, right = left[:MOST_ROWS], right[:MOST_ROWS]
    middle = (left.mean(axis=0) + right.mean(axis=0)) / 2
    both = np.vstack([left, right])
    mean, spread = both.mean(axis=0), both.std(axis=0)
    inputs = _widened(both, middle, mean, spread)
    origin = np.repeat([-1.0, 1.0], [len(left), len(right)])
    ridge = 1.0 / len(both)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = origin * (inputs @ weights)
        slope = -origin / (1 + np.exp(np.clip(margin, -500, 500)))
        value = np.logaddexp(0, -margin).mean() + ridge * (weights @ weights)
        return float(value), inputs.T @ slope / len(both) + 2 * ridge * weights

    start = np.zeros(inputs.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return Distinguisher(middle, mean, spread, np.asarray(found.x))


def _widened(features: Floats, middle: Floats, mean: Floats, spread: Floats) -> Floats:
    """Standardised values, and on which side of the middle between the two logs they lie.

    The side is the likelihood ratio of Laplace noise up to a factor.
    """
    scale = np.where(spread > 0, spread, 1.0)
    plain = np.clip((features - mean) / scale, -10, 10)
    side = np.where(spread > 0, (features > middle) - 0.5, 0.0)
    return np.hstack([plain, side, np.ones((len(features), 1))])
