"""The rejection sampler of the DPIM paper: draw trees until one is fit enough, or give up.

`Sampler` is Algorithms 1 and 2, `TreeBuilder` Algorithms 3 to 5: a tree from the selected pairs
with their noisy counts. Where the paper's text and listings differ or are misprinted, this is done:
- an activity's count sums all its pairs, also the one with END (otherwise whatever ends a case
  would always be optional, and Table I would not give Fig. 1);
- where there is no cut, line 21 hands every activity to AppendTree as a part of its own: the
  leaves of the flower are looped and optional as all leaves are;
- AppendTree continues with the next part after a recursion (line 17 returns too early);
- after a sequence or a choice, the starts (ends) of a part are those of the whole that lie in
  it, and what is entered (left) from outside of it;
- the redo part of a loop, which no projected case starts with, is entered from the body's ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.mechanisms.dpim.case_statistics import GRID, CaseStatistics
from discreet.models.cuts import exclusive_cut, loop_cut, parallel_cut, sequence_cut
from discreet.models.tree import TAU, Operator, Tree, activity, exclusive, loop, optional
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Laplace, Sequential
from discreet.privacy.transcript import forget

Ends = Callable[[set[int], float], "tuple[Booleans, Booleans] | None"]
"""Reads start and end activities of a part of the log privately; None where no budget is left.

Takes the activities and the share of the budget that the halving of Algorithm 4 leaves.
"""

PAIRS, COUNTS = "a round: choice of the pairs", "a round: counts of these pairs"
ENDS, FITNESS = "a round: starts and ends within cuts", "a round: fitness"

SIGNIFICANT = math.sqrt(8)
"""Scales of Laplace noise above which a count is considerable: twice its standard deviation."""


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

    def draw(self, cases: CaseStatistics, rng: Randomness) -> tuple[Tree | None, float]:
        """An accepted tree and its noisy fitness, or None in its place; spends each `round`."""
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

    def tree(self, cases: CaseStatistics, counts: Integers, rng: Randomness) -> Tree:
        """The tree of one round; spends on the pairs, their counts, and starts and ends."""
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
        return TreeBuilder(cases.labels, member, noisy.reshape(counts.shape), margin, reader).tree()

    def fitness(self, cases: CaseStatistics, tree: Tree, rng: Randomness) -> float:
        """The noisy fitness of a tree, which the round spends its last part on."""
        value = cases.fitness_of(tree, pooled=self.published)
        noise = self.round.find(FITNESS, Laplace).noise(GRID)
        return int(noise.added(np.array(value), rng)) / (GRID * max(cases.number, 1))


@dataclass
class EndReader:
    """DetectS_E for parallel and loop cuts: noisy first and last activities of a part."""

    sampler: Sampler
    cases: CaseStatistics
    rng: Randomness
    used: int = 0

    def __call__(self, members: set[int], share: float) -> tuple[Booleans, Booleans] | None:
        """The noisy ends of a part, which it spends a reading on, or None if none is left."""
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


@dataclass(frozen=True)
class TreeBuilder:
    """Builds a tree from the chosen pairs: what stays the same through the recursion."""

    labels: tuple[str, ...]
    chosen: Booleans
    """Which pairs were selected: START is the last row, END the last column."""
    counts: Floats
    margin: float
    """Considerable difference of counts: √8 times the scale of the noise."""
    ends: Ends

    def tree(self) -> Tree:
        """The tree of all activities that some selected pair names (BuildT)."""
        inner = self.chosen[:-1, :-1]
        named = inner.any(axis=0) | inner.any(axis=1)
        named |= self.chosen[-1, :-1] | self.chosen[:-1, -1]
        members = np.flatnonzero(named).tolist()
        if not members:
            return Tree()
        start, end = self.chosen[-1, :-1].copy(), self.chosen[:-1, -1].copy()
        if len(members) == 1:
            return self._leaf(members[0]).folded()
        return self._build(members, inner, start, end, 1.0).folded()

    @property
    def size(self) -> float:
        """DP-ESize: the noisy number of cases."""
        return float(self.counts[-1][self.chosen[-1]].sum())

    def _activity_count(self, members: list[int]) -> float:
        return float(np.where(self.chosen, self.counts, 0)[members].sum())

    def _build(
        self, members: list[int], edges: Booleans, start: Booleans, end: Booleans, share: float
    ) -> Tree:
        """The tree of some activities (Algorithm 3)."""
        inside = np.array(members)
        local = edges[np.ix_(inside, inside)].copy()
        np.fill_diagonal(local, False)
        parts = sequence_cut(local)
        if parts is not None:
            return self._append("sequence", _global(parts, inside), edges, start, end, share)
        parts = exclusive_cut(local)
        if parts is not None:
            return self._append("exclusive", _global(parts, inside), edges, start, end, share)
        without_loops = self._without_loops(edges)
        local_without = without_loops[np.ix_(inside, inside)].copy()
        np.fill_diagonal(local_without, False)
        parts = parallel_cut(local_without, start[inside], end[inside])
        if parts is not None:
            return self._append(
                "parallel", _global(parts, inside), without_loops, start, end, share
            )
        parts = loop_cut(local, start[inside], end[inside])
        if parts is not None:
            return self._append("loop", _global(parts, inside), edges, start, end, share)
        everything = loop(TAU, exclusive(*(self._leaf(i) for i in members)))
        return self._perhaps(everything, members)

    def _without_loops(self, edges: Booleans) -> Booleans:
        """The edges without pairs that occur both ways considerably more often than cases."""
        counts = self.counts[:-1, :-1]
        looping = edges & edges.T & (counts + counts.T >= self.size + self.margin)
        np.fill_diagonal(looping, False)
        return edges & ~looping

    def _append(
        self,
        operator: Operator,
        parts: list[list[int]],
        edges: Booleans,
        start: Booleans,
        end: Booleans,
        share: float,
    ) -> Tree:
        """A cut, with a leaf or a subtree for each part (Algorithm 4)."""
        children = []
        fresh = None
        if operator in ("parallel", "loop"):
            share /= 2
            fresh = self.ends({i for part in parts for i in part}, share)
        for number, part in enumerate(parts):
            if len(part) == 1:
                children.append(self._leaf(part[0]))
                continue
            begins, finishes = self._entered(part, edges, start, end)
            if fresh is not None and not (operator == "loop" and number == 1):
                begins, finishes = fresh
            elif operator == "parallel":
                begins, finishes = start, end
            if operator == "loop":
                kept = edges.copy()
                kept[np.ix_(np.flatnonzero(end), np.flatnonzero(start))] = False
            else:
                kept = edges
            children.append(self._build(part, kept, begins, finishes, share))
        made = Tree(operator=operator, children=tuple(children))
        if operator == "loop":
            made = optional(made)
        return self._perhaps(made, [i for part in parts for i in part])

    def _perhaps(self, made: Tree, members: list[int]) -> Tree:
        """The tree, optional if its activities together are considerably rarer than cases."""
        rare = self._activity_count(members) <= self.size - self.margin
        return optional(made) if rare else made

    def _entered(
        self, part: list[int], edges: Booleans, start: Booleans, end: Booleans
    ) -> tuple[Booleans, Booleans]:
        outside = np.ones(len(edges), dtype=bool)
        outside[part] = False
        return start | edges[outside].any(axis=0), end | edges[:, outside].any(axis=1)

    def _leaf(self, number: int) -> Tree:
        leaf = activity(self.labels[number])
        if self.chosen[number, number]:
            return loop(leaf)
        if self._activity_count([number]) <= self.size - self.margin:
            return optional(leaf)
        return leaf


def _global(parts: list[list[int]], inside: Integers) -> list[list[int]]:
    return [[int(i) for i in inside[part]] for part in parts]
