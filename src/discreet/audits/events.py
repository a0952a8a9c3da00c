"""Events that tell two logs apart: chosen on some runs, to be measured on others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.audits.bounds import promising

Relation = Literal["≥", "≤", "="]
MOST_VALUES = 200
"""So many thresholds are tried per feature."""
LITTLE = 1e-6
"""What decides among events that promise the same: how far apart the two sides are."""


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
