"""Algorithms 1 and 2 of the paper: draw trees until one is fit enough, or give up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.mechanisms.dpim.building import Build
from discreet.mechanisms.dpim.cases import GRID, Cases
from discreet.models.tree import Tree
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Laplace, Sequential
from discreet.privacy.transcript import forget

PAIRS, COUNTS = "a round: choice of the pairs", "a round: counts of these pairs"
ENDS, FITNESS = "a round: starts and ends within cuts", "a round: fitness"

SIGNIFICANT = math.sqrt(8)
"""Twice the standard deviation of Laplace noise of scale 1."""


def round_steps(epsilon: float, shares: tuple[float, float, float]) -> Sequential:
    """What one round spends: r1 for the pairs and their counts, r2 for ends, r3 for fitness."""
    pairs, ends, fitness = (Budget(epsilon).share(share).epsilon for share in shares)
    half = Budget(pairs).share(0.5).epsilon
    return Sequential(
        "a round",
        (
            Choosing(PAIRS, half, "permute and flip"),
            Laplace(COUNTS, half),
            Laplace(ENDS, ends),
            Laplace(FITNESS, fitness),
        ),
    )


@dataclass(frozen=True)
class Sampler:
    """The rejection sampler; `published` spends as the paper prints, else as it should.

    Repaired: top-n by noise that is right under swap, at most `max_cuts` readings of starts and
    ends with equal shares, fitness as a mean over cases, and no limit on the rounds but the coin,
    so that twice the cost of a round holds exactly. As published: noise of half that scale for
    the selection, budget halved downwards only, pooled fitness, at most T rounds.
    """

    round: Sequential
    pairs: tuple[int, int]
    stop: float
    min_fitness: float
    max_cuts: int
    published: bool
    rounds: int | None

    def draw(self, cases: Cases, rng: Randomness) -> tuple[Tree | None, float]:
        """An accepted tree and its noisy fitness, or None."""
        counts = cases.pair_counts()
        coin = Fraction(self.stop)
        done = 0
        while self.rounds is None or done < self.rounds:
            tree = self.tree(cases, counts, rng)
            fitness = self.fitness(cases, tree, rng)
            if fitness >= self.min_fitness:
                return tree, fitness
            forget(step.name for step in self.round.walk())
            if rng.below(coin.denominator) < coin.numerator:
                return None, fitness
            done += 1
        return None, fitness

    def tree(self, cases: Cases, counts: Integers, rng: Randomness) -> Tree:
        """One round up to the tree: n, the pairs, their counts, and the building."""
        lowest, highest = self.pairs
        n = lowest + rng.below(highest - lowest + 1)
        noise = self.round.find(COUNTS, Laplace).noise(n)
        flat = counts.ravel()
        if self.published:
            chosen = noisy_max_repeatedly(flat, n, noise, rng)
        else:
            choosing = self.round.find(PAIRS, Choosing)
            chosen = np.array(choosing.choose_several(flat, n, sensitivity=1, rng=rng))
        noisy = np.zeros(flat.size)
        noisy[chosen] = noise.added(flat[chosen], rng)
        member = np.zeros(counts.shape, dtype=bool)
        member.flat[chosen] = True
        margin = SIGNIFICANT * float(noise.size)
        if not self.published:
            member &= noisy.reshape(counts.shape) > 0
        member[-1, -1] = False
        reader = EndReader(self, cases, rng)
        return Build(cases.labels, member, noisy.reshape(counts.shape), margin, reader).tree()

    def fitness(self, cases: Cases, tree: Tree, rng: Randomness) -> float:
        """The noisy fitness of a tree."""
        value = cases.fitness_of(tree, pooled=self.published)
        noise = self.round.find(FITNESS, Laplace).noise(GRID)
        return int(noise.added(np.array(value), rng)) / (GRID * max(cases.number, 1))


@dataclass
class EndReader:
    """DetectS_E for parallel and loop cuts: noisy first and last activities of a part."""

    sampler: Sampler
    cases: Cases
    rng: Randomness
    used: int = 0

    def __call__(self, members: set[int], share: float) -> tuple[Booleans, Booleans] | None:
        """The noisy ends of a part, or None once the cuts that were paid for are used up."""
        readings: Fraction | int = self.sampler.max_cuts
        if self.sampler.published:
            readings = 1 / Fraction(share)
        elif self.used >= self.sampler.max_cuts:
            return None
        self.used += 1
        noise = self.sampler.round.find(ENDS, Laplace).noise(4 * readings)
        result = []
        ordered = sorted(members)
        for counts in self.cases.first_and_last(members):
            flags = np.zeros(len(counts), dtype=bool)
            noisy = noise.added(counts[ordered], self.rng)
            flags[ordered] = noisy >= max(SIGNIFICANT * float(noise.size), 1)
            result.append(flags)
        return result[0], result[1]


def noisy_max_repeatedly(counts: Integers, n: int, noise: CountNoise, rng: Randomness) -> Integers:
    """Report Noisy Max n times without replacement, fresh Laplace noise each time, as printed."""
    drawn = noise.draw(n * counts.size, rng).reshape(n, counts.size)
    left = np.ones(counts.size, dtype=bool)
    chosen = np.empty(n, dtype=np.int64)
    for i in range(n):
        noisy = np.where(left, counts + drawn[i], np.iinfo(np.int64).min)
        best = np.flatnonzero(noisy == noisy.max())
        chosen[i] = best[rng.below(len(best))]
        left[chosen[i]] = False
    return chosen
