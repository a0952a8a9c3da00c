"""Events that tell two logs apart: chosen on some runs, to be measured on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.audits.bounds import promising

Relation = Literal["≥", "≤", "="]
MOST_VALUES = 200
"""So many thresholds are tried per feature."""


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
        for relation, (on_left, on_right) in counts.items():
            for likelier, (hits, other) in enumerate(((on_left, on_right), (on_right, on_left))):
                scores = promising(hits.astype(float), other.astype(float), runs, delta)
                place = int(np.argmax(scores))
                if scores[place] > best[0]:
                    event = Event(column, relation, float(values[place]), 1 if likelier else 0)
                    best = (float(scores[place]), event)
    return best
