"""Easily recognised noise: the share of released cases that look normal (SaCoFa's paper)."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.log.follows import pairs
from discreet.log.variants import Variants

# Tuned
FOREST_TREES = 100
"""Number of trees of the isolation forest."""

MOST_SAMPLED_CASES = 20_000
"""Most cases that the forest is trained on."""


class Normality:
    """An isolation forest trained on the raw log.

    Features as in SaCoFa's paper: which activities and which directly-follows pairs a case has,
    restricted to those of the raw log (others never vary in training, so no tree uses them).
    """

    def __init__(self, variants: Variants) -> None:
        from sklearn.ensemble import IsolationForest

        self.activities = variants.activities
        self.size = len(variants.activities) + 1
        rows = self._features(variants)
        self.columns = np.flatnonzero(rows.any(axis=0))
        cases = np.repeat(np.arange(len(variants)), variants.counts)
        if len(cases) > MOST_SAMPLED_CASES:
            cases = np.random.default_rng(0).choice(cases, MOST_SAMPLED_CASES, replace=False)
        self._forest = IsolationForest(n_estimators=FOREST_TREES, random_state=0)
        self._forest.fit(rows[np.sort(cases)][:, self.columns])

    def share(self, variants: Variants) -> float:
        """The share of cases that the forest classifies as normal; 0 for an empty log."""
        if not variants.cases:
            return 0.0
        normal = self._forest.predict(self._features(variants)[:, self.columns]) == 1
        return float(variants.counts[normal].sum() / variants.cases)

    def _features(self, variants: Variants) -> Booleans:
        """One row per variant: activities, then pairs, both by the raw log's codes."""
        known = self._recode(variants.activities)
        source, target, owner = pairs(variants)
        source, target = known[source], known[target]
        kept = (source >= 0) & (target >= 0)
        rows = np.zeros((len(variants), self.size + self.size**2), dtype=bool)
        rows[owner[source >= 0], source[source >= 0]] = True
        cells = self.size + source[kept] * self.size + target[kept]
        rows[owner[kept], cells] = True
        return rows

    def _recode(self, activities: tuple[str, ...]) -> Integers:
        position = {label: i for i, label in enumerate(self.activities)}
        return np.array([*(position.get(a, -1) for a in activities), self.size - 1])
