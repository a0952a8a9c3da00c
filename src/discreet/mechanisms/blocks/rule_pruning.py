"""Pruning a prefix tree by rules: the exponential mechanism over candidates that break them.

Harm is a public property of a prefix once the rules are public or paid for, so the draw costs
nothing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.arrays import Integers
from discreet.mechanisms.blocks.prefix_tree import (
    DROPPED,
    HARMFUL,
    HARMLESS,
    NoisyPrefixTree,
    Semantics,
)
from discreet.mechanisms.blocks.rules import Rules, Violations
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.noise import geometric
from discreet.privacy.randomness import Randomness

Pruning = Literal["both", "harmful", "none"]


class RulePruning(Semantics):
    """Verdicts by rules: harmless candidates stay, and a few of the harmful ones.

    How many harmful ones stay is drawn by the exponential mechanism with the amount of harm as
    (negative) score, which ones uniformly. Both read the rules and the tree so far only.
    """

    def __init__(
        self,
        rules: Rules,
        epsilon: float,
        most_harm: int,
        pruning: Pruning,
        min_count: int | None,
        min_count_harmful: int | None,
    ) -> None:
        super().__init__(min_count)
        self._violations = Violations(rules)
        self._rate = Fraction(epsilon) / (2 * most_harm)
        self._most_harm = most_harm
        self._least = {
            HARMLESS: 1 if pruning != "both" else min_count,
            HARMFUL: 1 if pruning == "none" else min_count_harmful or min_count,
        }

    def verdicts(self, tree: NoisyPrefixTree, rng: Randomness) -> Integers:
        """Whether each candidate is harmless, harmful but let in, or dropped."""
        broken = self._violations.of_candidates()
        found = np.where(broken > 0, DROPPED, HARMLESS)
        harmful = np.flatnonzero(broken > 0)
        harm = np.minimum(broken[harmful], self._most_harm)
        found[harmful[let_in(harm, self._rate, rng)]] = HARMFUL
        return found

    def follow(self, parent: Integers, symbol: Integers) -> None:
        """Note which open prefixes were kept."""
        self._violations.grow(parent, symbol)

    def threshold(self, noise: CountNoise, verdict: int, candidates: int) -> int:
        """The least noisy count of a candidate that is kept.

        What was set by hand, or else what lets about one invented harmless prefix pass a level, and
        a harmful one on every tenth.
        """
        least = self._least[verdict]
        if least is not None:
            return least
        return noise.threshold(candidates, 1.0 if verdict == HARMLESS else 0.1)


def let_in(harm: Integers, rate: Fraction, rng: Randomness) -> Integers:
    """Indices of the harmful candidates that are let in.

    The harm n is drawn with probability proportional to e^(−rate·n) up to the number of
    candidates; then candidates in random order until their harm reaches n.
    """
    if len(harm) == 0:
        return np.zeros(0, dtype=np.int64)
    wanted = harm_drawn(rate, len(harm), rng)
    order = rng.permutation(len(harm))
    reached = np.cumsum(harm[order])
    return order[: int(np.searchsorted(reached, wanted)) + 1] if wanted else order[:0]


def harm_drawn(rate: Fraction, most: int, rng: Randomness) -> int:
    """A number from 0 to `most` with probability proportional to e^(−rate·n), by rejection."""
    while True:
        proposed = geometric(rate, 256, rng)
        allowed = proposed[proposed <= most]
        if allowed.size:
            return int(allowed[0])
