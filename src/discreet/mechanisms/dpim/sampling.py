"""Algorithms 1 and 2 of the paper: draw trees until one is fit enough, or give up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans
from discreet.mechanisms.dpim.building import Build
from discreet.mechanisms.dpim.cases import GRID, Cases
from discreet.models.tree import Tree
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.randomness import Randomness
from discreet.privacy.selection import noisy_top_k

SIGNIFICANT = math.sqrt(8)
"""Twice the standard deviation of Laplace noise of scale 1."""


@dataclass(frozen=True)
class Sampler:
    """The rejection sampler; `published` spends as the paper prints, else as it should.

    Each round costs `round_epsilon`. Repaired: top-n by noise that is right under swap, at most
    `max_cuts` readings of starts and ends with equal shares, fitness as a mean over cases, and no
    limit on the rounds but the coin, so that 2·round_epsilon holds exactly. As published: noise
    of half that scale for the selection, budget halved downwards only, pooled fitness, at most T
    rounds.
    """

    round_epsilon: float
    shares: tuple[float, float, float]
    pairs: tuple[int, int]
    stop: float
    min_fitness: float
    max_cuts: int
    published: bool
    rounds: int | None

    def draw(self, cases: Cases, source: Randomness) -> tuple[Tree | None, float]:
        """An accepted tree and its noisy fitness, or None."""
        counts = cases.pair_counts()
        coin = Fraction(self.stop)
        done = 0
        while self.rounds is None or done < self.rounds:
            tree = self.tree(cases, counts, source)
            fitness = self.fitness(cases, tree, source)
            if fitness >= self.min_fitness:
                return tree, fitness
            if source.below(coin.denominator) < coin.numerator:
                return None, fitness
            done += 1
        return None, fitness

    def tree(self, cases: Cases, counts: npt.NDArray[np.int64], source: Randomness) -> Tree:
        """One round up to the tree: n, the pairs, their counts, and the building."""
        lowest, highest = self.pairs
        n = lowest + source.below(highest - lowest + 1)
        budget = Fraction(self.round_epsilon) * Fraction(self.shares[0]) / 2
        scale = n / budget
        flat = counts.ravel()
        if self.published:
            chosen = _noisy_max_repeatedly(flat, n, scale, source)
        else:
            chosen = np.array(
                noisy_top_k(flat, n, budget, sensitivity=1, monotone=False, source=source)
            )
        noisy = np.zeros(flat.size)
        noisy[chosen] = flat[chosen] + discrete_laplace(scale, n, source)
        member = np.zeros(counts.shape, dtype=bool)
        member.flat[chosen] = True
        margin = SIGNIFICANT * float(scale)
        if not self.published:
            member &= noisy.reshape(counts.shape) > 0
        member[-1, -1] = False
        reader = _EndReader(self, cases, source)
        return Build(cases.labels, member, noisy.reshape(counts.shape), margin, reader).tree()

    def fitness(self, cases: Cases, tree: Tree, source: Randomness) -> float:
        """The noisy fitness of a tree."""
        value = cases.fitness_of(tree, pooled=self.published)
        scale = GRID / (Fraction(self.round_epsilon) * Fraction(self.shares[2]))
        noise = int(discrete_laplace(scale, 1, source)[0])
        return (value + noise) / (GRID * max(cases.number, 1))


@dataclass
class _EndReader:
    """DetectS_E for parallel and loop cuts: noisy first and last activities of a part."""

    sampler: Sampler
    cases: Cases
    source: Randomness
    used: int = 0

    def __call__(self, members: set[int], share: float) -> tuple[Booleans, Booleans] | None:
        budget = Fraction(self.sampler.round_epsilon) * Fraction(self.sampler.shares[1])
        if self.sampler.published:
            budget *= Fraction(share)
        else:
            if self.used >= self.sampler.max_cuts:
                return None
            self.used += 1
            budget /= self.sampler.max_cuts
        scale = 4 / budget
        result = []
        ordered = sorted(members)
        for counts in self.cases.first_and_last(members):
            flags = np.zeros(len(counts), dtype=bool)
            noisy = counts[ordered] + discrete_laplace(scale, len(ordered), self.source)
            flags[ordered] = noisy >= max(SIGNIFICANT * float(scale), 1)
            result.append(flags)
        return result[0], result[1]


def _noisy_max_repeatedly(
    counts: npt.NDArray[np.int64], n: int, scale: Fraction, source: Randomness
) -> npt.NDArray[np.int64]:
    """Report Noisy Max n times without replacement, fresh Laplace noise each time, as printed."""
    noise = discrete_laplace(scale, n * counts.size, source).reshape(n, counts.size)
    left = np.ones(counts.size, dtype=bool)
    chosen = np.empty(n, dtype=np.int64)
    for i in range(n):
        noisy = np.where(left, counts + noise[i], np.iinfo(np.int64).min)
        best = np.flatnonzero(noisy == noisy.max())
        chosen[i] = best[source.below(len(best))]
        left[chosen[i]] = False
    return chosen
