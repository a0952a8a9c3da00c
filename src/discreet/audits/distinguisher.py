"""Events that tell two logs apart, one of them the score of a trained distinguisher.

An event is chosen on some runs and counted on others. The distinguisher is a logistic regression
on the features of a release. As in DP-Sniper (Bichsel et al., S&P 2021) it is only a way to find
an event: it is trained on runs of its own, a threshold on its score is chosen on others, and the
event is measured on yet others, so a bad classifier costs power but never truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.audits.bounds import promising

# Tuned
MOST_ROWS = 20_000
"""Most releases of a log that it is trained on."""
MOST_VALUES = 200
"""Most thresholds tried per feature."""
LITTLE = 1e-6
"""Weight of the gap between the two sides, which decides among events of equal promise."""


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


Relation = Literal["≥", "≤", "="]


@dataclass(frozen=True)
class Event:
    """A feature on one side of a value, and the log that makes it likelier."""

    column: int
    relation: Relation
    value: float
    likelier: Literal[0, 1]

    def hits(self, features: Floats) -> int:
        """How many runs it happened in."""
        column = features[:, self.column]
        if self.relation == "≥":
            return int((column >= self.value).sum())
        if self.relation == "≤":
            return int((column <= self.value).sum())
        return int((column == self.value).sum())

    def describe(self, names: list[str]) -> str:
        """In words."""
        return f"{names[self.column]} {self.relation} {self.value:.6g}"


def choose_event(
    left: Floats, right: Floats, delta: float, columns: range | None = None
) -> tuple[float, Event]:
    """The event that promises the largest bound on ε, with that promise."""
    runs = len(left)
    best = (-np.inf, Event(0, "≥", 0.0, 1))
    for column in columns if columns is not None else range(left.shape[1]):
        a, b = np.sort(left[:, column]), np.sort(right[:, column])
        values = np.unique(np.concatenate([a, b]))
        if len(values) < 2:
            continue
        if len(values) > MOST_VALUES:
            values = np.unique(
                np.quantile(values, np.linspace(0, 1, MOST_VALUES), method="nearest")
            )
        before = [np.searchsorted(side, values, side="left") for side in (a, b)]
        through = [np.searchsorted(side, values, side="right") for side in (a, b)]
        counts: dict[Relation, list[npt.NDArray[np.int64]]] = {
            "≥": [runs - below for below in before],
            "≤": through,
            "=": [upto - below for upto, below in zip(through, before, strict=True)],
        }
        gaps = np.diff(values) / (values[-1] - values[0])
        wide = {"≥": np.append(0, gaps), "≤": np.append(gaps, 0), "=": np.zeros(len(values))}
        for relation, (on_left, on_right) in counts.items():
            for likelier, (hits, other) in enumerate(((on_left, on_right), (on_right, on_left))):
                scores = promising(hits.astype(float), other.astype(float), runs, delta)
                scores += LITTLE * wide[relation]
                place = int(np.argmax(scores))
                if scores[place] > best[0]:
                    value = _between(values, place, relation)
                    event = Event(column, relation, value, 1 if likelier else 0)
                    best = (float(scores[place]), event)
    return best


def _between(values: Floats, place: int, relation: Relation) -> float:
    """A threshold in the middle of the gap beside a value: chance fills it from both sides.

    Whole where the values beside it are.
    """
    value = float(values[place])
    other = place + {"≥": -1, "≤": 1, "=": 0}[relation]
    if not 0 <= other < len(values):
        return value
    middle = (value + float(values[other])) / 2
    if not (value.is_integer() and float(values[other]).is_integer()):
        return middle
    return float(math.ceil(middle) if relation == "≥" else math.floor(middle))
