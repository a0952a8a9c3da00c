"""Replaying all variants of a log on a tree or a net at once.

The net becomes a finite automaton whose states are markings; it is compiled as far
as the log needs it. The log becomes a tree of the prefixes of its variants, so a beginning that
many variants share is replayed once. What remains per replay is one table lookup per level of that
tree.

Semantics: token replay. An event fires its transition; silent transitions are fired first where
they enable it; if it cannot be enabled, the missing tokens are put in. In the end silent
transitions lead to the sink where they can. The fitness of a case is
(1 − missing/consumed)/2 + (1 − remaining/produced)/2. Activities that the model does not know are
passed over. A place of a tree's net never needs two tokens: a second one is counted as remaining
at once. PM4Py's replay differs in how it looks for silent transitions and in keeping surplus
tokens; `docs/models.md` states how closely the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.log.variants import Variants
from discreet.models.automaton import Automaton
from discreet.models.petri import Net, net_of
from discreet.models.tree import Tree


@dataclass(frozen=True)
class PrefixLevel:
    """The nodes of one depth of a prefix tree: their parents (one level above) and activities."""

    parent: Integers
    symbol: Integers
    cases: Integers
    """The number of cases with each prefix."""


class PrefixTree:
    """The distinct prefixes of a log's variants, level by level."""

    def __init__(self, variants: Variants) -> None:
        self.activities = variants.activities
        self.counts = np.asarray(variants.counts, dtype=np.int64)
        lengths, begin = np.asarray(variants.lengths), np.asarray(variants.offsets[:-1])
        width = max(len(variants.activities), 1)
        self.levels: list[PrefixLevel] = []
        self.ends: list[tuple[Integers, Integers]] = []
        """For each level, the variants that end there and their nodes."""
        alive = np.arange(len(lengths))
        node = np.zeros(len(lengths), dtype=np.int64)
        depth = 0
        while True:
            over = lengths[alive] == depth
            self.ends.append((alive[over], node[over]))
            alive, node = alive[~over], node[~over]
            if not alive.size:
                break
            keys = node * width + variants.codes[begin[alive] + depth]
            distinct, node = np.unique(keys, return_inverse=True)
            cases = np.bincount(node, weights=self.counts[alive]).astype(np.int64)
            self.levels.append(PrefixLevel(distinct // width, distinct % width, cases))
            depth += 1


@dataclass(frozen=True)
class Replay:
    """How the variants of a log replay on a model."""

    prefixes: PrefixTree
    automaton: Automaton
    states: tuple[Integers, ...]
    """The state after each prefix, level by level; level 0 is the empty prefix."""
    steps: tuple[Integers, ...]
    """The step into each prefix, level by level, from level 1."""
    final: Integers
    """The last step of each variant."""
    totals: Integers
    """Missing, consumed, produced and remaining tokens of each variant."""
    fitting: tuple[Booleans, ...]
    """Whether each prefix replays without a missing token, level by level."""

    @cached_property
    def variant_fitness(self) -> Floats:
        """Fitness of each variant, between 0 and 1."""
        missing, consumed, produced, remaining = self.totals.T
        value: Floats = (1 - missing / consumed) / 2 + (1 - remaining / produced) / 2
        return value

    @property
    def fitness(self) -> float:
        """Mean fitness over the cases; 1 for no case."""
        counts = self.prefixes.counts
        if not counts.sum():
            return 1.0
        return float(self.variant_fitness @ counts / counts.sum())

    @property
    def pooled_fitness(self) -> float:
        """Fitness from the tokens of all cases together (PM4Py's log fitness); not per case."""
        missing, consumed, produced, remaining = self.prefixes.counts @ self.totals
        return float((1 - missing / consumed) / 2 + (1 - remaining / produced) / 2)

    @cached_property
    def _allowed(self) -> Booleans:
        return self.automaton.enabled()

    @property
    def precision(self) -> float:
        """Share of what the model allows after a prefix that the log does (ETC precision)."""
        return self._precision(self._allowed)

    def precision_by(self, enabled: Callable[[frozenset[int]], Iterable[str]]) -> float:
        """Precision by another view of what a marking enables, asked once per marking."""
        code = {label: i for i, label in enumerate(self.automaton.activities)}
        levels = zip(self.states, self.fitting, self.prefixes.levels, strict=False)
        left = [states[step.parent[fits[step.parent]]] for states, fits, step in levels]
        allowed = np.zeros_like(self._allowed)
        for state in np.unique(np.concatenate([*left, self.states[0]])).tolist():
            for label in enabled(self.automaton.marked(state)):
                allowed[state, code[label]] = True
        return self._precision(allowed)

    def _precision(self, allowed: Booleans) -> float:
        allowed_sum = seen_sum = 0.0
        width = allowed.sum(axis=1)
        for states, fits, level in zip(
            self.states, self.fitting, self.prefixes.levels, strict=False
        ):
            going_on = np.bincount(level.parent, weights=level.cases, minlength=len(states))
            going_on = going_on * fits
            allowed_sum += float(going_on @ width[states])
            seen = allowed[states[level.parent], level.symbol]
            seen_sum += float(going_on[level.parent] @ seen)
        return seen_sum / allowed_sum if allowed_sum else 1.0

    @property
    def simplicity(self) -> float:
        """Simplicity of the net."""
        return self.automaton.net.simplicity

    @property
    def generalisation(self) -> float:
        """1 − mean over the transitions of 1/√(times fired), as PM4Py measures it."""
        uses = np.zeros(len(self.automaton.steps), dtype=np.int64)
        for numbers, level in zip(self.steps, self.prefixes.levels, strict=True):
            np.add.at(uses, numbers, level.cases)
        np.add.at(uses, self.final, self.prefixes.counts)
        fired = np.zeros(len(self.automaton.net.transitions), dtype=np.int64)
        for number in np.flatnonzero(uses):
            for t in self.automaton.steps[number].fired:
                fired[t] += uses[number]
        return float(1 - (1 / np.sqrt(np.maximum(fired, 1))).mean())

    @cached_property
    def variant_choices(self) -> Floats:
        """For each variant the mean number of activities the model allows along the way."""
        width = self._allowed.sum(axis=1).astype(np.float64)
        sums = [np.zeros(1)]
        result = np.ones(len(self.prefixes.counts))
        for depth, (variants, nodes) in enumerate(self.prefixes.ends):
            if depth:
                level = self.prefixes.levels[depth - 1]
                sums.append((sums[-1] + width[self.states[depth - 1]])[level.parent])
                result[variants] = sums[depth][nodes] / depth
        return result


def replay(model: Tree | Net, log: PrefixTree | Variants) -> Replay:
    """Replay every variant of the log on the model."""
    prefixes = log if isinstance(log, PrefixTree) else PrefixTree(log)
    net = net_of(model) if isinstance(model, Tree) else model
    further = tuple(sorted(set(net.labels) - set(prefixes.activities)))
    automaton = Automaton(net, prefixes.activities + further)
    states: list[Integers] = [np.zeros(1, dtype=np.int64)]
    numbers: list[Integers] = []
    for level in prefixes.levels:
        found, after = automaton.lookup(states[-1][level.parent], level.symbol)
        numbers.append(found)
        states.append(after)
    end = len(prefixes.activities) + len(further)
    last = np.zeros(len(prefixes.counts), dtype=np.int64)
    for depth, (variants, nodes) in enumerate(prefixes.ends):
        last[variants] = states[depth][nodes]
    final, _ = automaton.lookup(last, np.full(len(last), end))
    table = np.array(
        [(s.missing, s.consumed, s.produced, s.surplus) for s in automaton.steps], dtype=np.int64
    ).reshape(-1, 4)
    sums = [np.zeros((1, 4), dtype=np.int64)]
    totals = np.zeros((len(final), 4), dtype=np.int64)
    fitting = [np.ones(1, dtype=bool)]
    for depth, (variants, nodes) in enumerate(prefixes.ends):
        if depth:
            level = prefixes.levels[depth - 1]
            sums.append(sums[-1][level.parent] + table[numbers[depth - 1]])
            fitting.append(sums[-1][:, 0] == 0)
        totals[variants] = sums[depth][nodes]
    totals += table[final]
    return Replay(prefixes, automaton, tuple(states), tuple(numbers), final, totals, tuple(fitting))
