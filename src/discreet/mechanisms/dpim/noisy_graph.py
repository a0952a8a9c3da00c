"""The method graph of DPIM: one noisy graph, many trees made of it, one private choice among them.

The proof is that of `mechanism.py`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.log.follows import Follows
from discreet.mechanisms.dpim.case_statistics import GRID, CaseStatistics
from discreet.models.discovery import Miner, without_rare
from discreet.models.tree import Tree, flower, optional
from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import (
    Choosing,
    Composed,
    Concentrated,
    Gaussian,
    Laplace,
    Sequential,
    Step,
    noise_of,
)

PAIRS, CHOICE, FITNESS = "counts of all pairs", "choice of the tree", "fitness"

# Proof
DOWN = 1 - 2**-40
"""Factor that rounds a share down by more than floats err."""

# Tuned on the logs of docs/mechanisms/dpim.md (bench/dpim.py)
THRESHOLD_DEVIATIONS: tuple[float, ...] = (2.0, 3.0, 4.0, 6.0)
"""Deviations of the noise below which a pair is taken to be absent; each makes trees."""

RARE_SHARES: tuple[float, ...] = (0.0, 0.05, 0.15, 0.3)
"""Shares of the most frequent follower below which a pair is left out; each makes trees."""

LEFT_OUT_SHARES: tuple[float, ...] = (0.0, 0.2, 0.5)
"""Shares of the pairs that may be left out besides where there is no cut; each makes trees."""

VISIBLE_WEIGHT = 0.25
"""Least weight of a case in each of its pairs, unless it has very many of them."""

CERTAIN_DEVIATIONS = 16.0
"""Deviations that noise hardly ever reaches, for where such a threshold costs nothing."""

EMPTY_DEVIATIONS = 8
"""Deviations beyond which cases without any activity of the alphabet are taken for real: noise
alone would otherwise make a whole tree optional."""

NODE_PENALTY = Fraction(1, 50)
"""What each node of a tree takes off its score, in units of the cases that the choice cannot tell
apart (1/ε of that step): of equals the smaller wins."""


@lru_cache(maxsize=16)
def graph_steps(budget: Budget, shares: tuple[float, float, float]) -> Composed:
    """The three steps and what each spends: of ρ if δ > 0, else of ε."""
    pairs, structure, fitness = (share * DOWN for share in shares)
    if budget.delta:
        rho = zcdp_rho(budget.epsilon, budget.delta)
        return Concentrated(
            "release",
            (
                Gaussian(PAIRS, pairs * rho),
                Choosing(CHOICE, math.sqrt(8 * structure * rho) * DOWN),
                Gaussian(FITNESS, fitness * rho),
            ),
            budget.delta,
        )
    epsilon = budget.epsilon
    return Sequential(
        "release",
        (
            Laplace(PAIRS, pairs * epsilon),
            Choosing(CHOICE, structure * epsilon),
            Laplace(FITNESS, fitness * epsilon),
        ),
    )


def pair_noise(steps: Step, max_pairs: int) -> CountNoise:
    """The noise on each pair, in steps of 1/GRID: a swap moves them by 2·max_pairs, squared."""
    return noise_of(steps.named(PAIRS), 2 * max_pairs).finer(GRID)


def candidates(labels: tuple[str, ...], noisy: Floats, deviation: float) -> list[Tree]:
    """Trees made of one noisy graph, in a fixed order, and the one that allows everything.

    What is left out is left out because noise may have made it. Where noise is so small that the
    pairs of a single case stand out, nothing is, and there are two trees, which differ in what
    may be missing beside other things: nearly that of the Inductive Miner.
    """
    found: dict[Tree, None] = {flower(labels): None}
    done: set[bytes] = set()
    empty = noisy[-1, -1] > EMPTY_DEVIATIONS * deviation
    thresholds, shares = THRESHOLD_DEVIATIONS, RARE_SHARES
    miners = [Miner(most=most) for most in LEFT_OUT_SHARES]
    if THRESHOLD_DEVIATIONS[-1] * deviation <= VISIBLE_WEIGHT:
        thresholds, shares = (min(CERTAIN_DEVIATIONS, VISIBLE_WEIGHT / deviation),), (0.0,)
        miners = [Miner(most=0.0, sure=sure) for sure in (True, False)]
    for threshold in thresholds:
        seen = np.where(noisy > threshold * deviation, noisy, 0)
        seen[-1, -1] = 0
        graph = Follows(labels, seen)
        for share in shares:
            cleaned = without_rare(graph, share)
            content = cleaned.counts.tobytes()
            if content in done and share == 0:
                break  # a higher threshold left out no more
            if content in done:
                continue
            done.add(content)
            for miner in map(replace, miners):
                tree = miner.mine(cleaned)
                if tree.labels:
                    found[optional(tree).folded() if empty else tree] = None
                if not miner.stuck:
                    break
    return list(found)


def choose(
    cases: CaseStatistics,
    steps: Step,
    max_pairs: int,
    fitness_weight: float,
    min_fitness: float,
    rng: Randomness,
) -> tuple[Tree | None, float]:
    """The chosen tree, or None if its noisy fitness is too low, and that noisy excess; spends all.

    The second value is the noisy sum over the cases of (fitness − min_fitness).
    """
    noise = pair_noise(steps, max_pairs)
    counts = cases.bounded_pair_counts(max_pairs, 1 if noise.kind == "laplace" else 2)
    trees = candidates(cases.labels, noise.added(counts, rng) / GRID, noise.deviation / GRID)
    choosing = steps.find(CHOICE, Choosing)
    node = int(GRID * NODE_PENALTY / Fraction(choosing.epsilon))
    chosen = choosing.choose(
        [
            cases.quality_of(tree, fitness_weight) - node * sum(1 for _ in tree.nodes)
            for tree in trees
        ],
        sensitivity=GRID,
        monotone=False,
        rng=rng,
    )
    demanded = math.ceil(min_fitness * GRID)
    excess = cases.fitness_of(trees[chosen]) - cases.number * demanded
    fitness = noise_of(steps.named(FITNESS), 1).finer(GRID)
    noisy = int(fitness.added(np.array(excess), rng))
    return (trees[chosen] if noisy >= 0 else None), noisy / GRID
