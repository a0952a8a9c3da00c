"""Replaying all variants of a log on a tree at once.

The net of the tree becomes a finite automaton whose states are markings; it is compiled as far
as the log needs it. The log becomes a prefix tree, so a beginning that many variants share is
replayed once. What remains per replay is one table lookup per level of the prefix tree.

Semantics: token replay. An event fires its transition; silent transitions are fired first where
they enable it; if it cannot be enabled, the missing tokens are put in. In the end silent
transitions lead to the sink where they can. The fitness of a case is
(1 − missing/consumed)/2 + (1 − remaining/produced)/2. Activities that the tree does not know are
passed over. A place of these nets never needs two tokens: a second one is counted as remaining
at once. PM4Py's replay differs in how it looks for silent transitions and in keeping surplus
tokens; `docs/models.md` states how closely the two agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.log.variants import Variants
from discreet.models.petri import SINK, SOURCE, Net, net_of
from discreet.models.tree import Tree

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """The nodes of one depth of a prefix tree: parent (in the level above) and activity."""

    parent: Integers
    symbol: Integers
    cases: Integers
    """How many cases have this prefix."""


class PrefixTree:
    """The distinct prefixes of a log's variants, level by level."""

    def __init__(self, variants: Variants) -> None:
        self.activities = variants.activities
        self.counts = np.asarray(variants.counts, dtype=np.int64)
        lengths, begin = np.asarray(variants.lengths), np.asarray(variants.offsets[:-1])
        width = max(len(variants.activities), 1)
        self.levels: list[Level] = []
        self.ends: list[tuple[Integers, Integers]] = []
        """For each level, variants that end there and their node."""
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
            self.levels.append(Level(distinct // width, distinct % width, cases))
            depth += 1


@dataclass(frozen=True)
class Step:
    """What one event, or the end of a case, does: next state and tokens."""

    state: int
    missing: int
    consumed: int
    produced: int
    surplus: int
    fired: tuple[int, ...]


class Automaton:
    """The markings of a net that replay visits, compiled on demand."""

    def __init__(self, net: Net, activities: tuple[str, ...]) -> None:
        self.net = net
        numbers = {place: i for i, place in enumerate(sorted(net.places))}
        self._inputs = [_mask(numbers[p] for p in t.inputs) for t in net.transitions]
        self._outputs = [_mask(numbers[p] for p in t.outputs) for t in net.transitions]
        self._silent = [i for i, t in enumerate(net.transitions) if t.label is None]
        self._feeders: dict[int, list[int]] = {}
        for t in self._silent:
            for place in _bits(self._outputs[t]):
                self._feeders.setdefault(place, []).append(t)
        self._source, self._sink = 1 << numbers[SOURCE], 1 << numbers[SINK]
        codes = {label: i for i, label in enumerate(activities)}
        self._of_symbol: list[list[int]] = [[] for _ in activities]
        for i, transition in enumerate(net.transitions):
            if transition.label in codes:
                self._of_symbol[codes[transition.label]].append(i)
        self.known = np.array([bool(found) for found in self._of_symbol], dtype=bool)
        self._markings: list[int] = []
        self._numbers: dict[int, int] = {}
        self._reached: dict[int, tuple[int, list[int]]] = {}
        self.steps: list[Step] = []
        self._table = np.full((64, len(activities) + 1), -1, dtype=np.int64)
        self._next = np.zeros_like(self._table)
        self.state(self._source)

    def state(self, marking: int) -> int:
        """The number of a marking."""
        found = self._numbers.get(marking)
        if found is None:
            found = self._numbers[marking] = len(self._markings)
            self._markings.append(marking)
            if found >= len(self._table):
                self._table = np.concatenate([self._table, np.full_like(self._table, -1)])
                self._next = np.concatenate([self._next, np.zeros_like(self._next)])
        return found

    def lookup(self, states: Integers, symbols: Integers) -> tuple[Integers, Integers]:
        """The steps from these states with these symbols, and where they lead.

        What is new is compiled.
        """
        found = self._table[states, symbols]
        unknown = np.flatnonzero(found < 0)
        if unknown.size:
            width = self._table.shape[1]
            for key in np.unique(states[unknown] * width + symbols[unknown]).tolist():
                state, symbol = divmod(key, width)
                step = self._step(self._markings[state], symbol)
                self._table[state, symbol] = len(self.steps)
                self._next[state, symbol] = step.state
                self.steps.append(step)
            found = self._table[states, symbols]
        return found, self._next[states, symbols]

    def enabled(self) -> npt.NDArray[np.bool_]:
        """For each state and activity, whether it can come next, silent steps allowed."""
        result = np.zeros((len(self._markings), len(self._of_symbol)), dtype=bool)
        for state, marking in enumerate(self._markings):
            reached, _ = self._closure(marking)
            for symbol in np.flatnonzero(self.known):
                result[state, symbol] = any(
                    self._inputs[t] & ~reached == 0 for t in self._of_symbol[symbol]
                )
        return result

    def _step(self, marking: int, symbol: int) -> Step:
        """An event; the last symbol is the end of the case."""
        if symbol == len(self._of_symbol):
            return self._finish(marking)
        candidates = self._of_symbol[symbol]
        if not candidates:
            return Step(self.state(marking), 0, 0, 0, 0, ())
        consumed = produced = surplus = 0
        plan: list[int] = []
        ready = [t for t in candidates if self._inputs[t] & ~marking == 0]
        if ready:
            chosen = ready[0]
        else:
            reached, _ = self._closure(marking)
            chosen = min(candidates, key=lambda t: (self._inputs[t] & ~reached).bit_count())
            plan = self._plan(marking, self._inputs[chosen])
        for t in plan:
            marking, extra = self._fire(marking, t)
            consumed += self._inputs[t].bit_count()
            produced += self._outputs[t].bit_count()
            surplus += extra
        lacking = self._inputs[chosen] & ~marking
        marking, extra = self._fire(marking | lacking, chosen)
        return Step(
            self.state(marking),
            lacking.bit_count(),
            consumed + self._inputs[chosen].bit_count(),
            produced + self._outputs[chosen].bit_count(),
            surplus + extra,
            (*plan, chosen),
        )

    def _finish(self, marking: int) -> Step:
        consumed = produced = surplus = 0
        plan = self._plan(marking, self._sink)
        for t in plan:
            marking, extra = self._fire(marking, t)
            consumed += self._inputs[t].bit_count()
            produced += self._outputs[t].bit_count()
            surplus += extra
        missing = 0 if marking & self._sink else 1
        left = (marking & ~self._sink).bit_count()
        # The token in the source was produced, the one in the sink is consumed.
        return Step(0, missing, consumed + 1, produced + 1, surplus + left, tuple(plan))

    def _fire(self, marking: int, transition: int) -> tuple[int, int]:
        rest = marking & ~self._inputs[transition]
        outputs = self._outputs[transition]
        return rest | outputs, (rest & outputs).bit_count()

    def _closure(self, marking: int) -> tuple[int, list[int]]:
        """All places that silent transitions can mark, and these transitions in firing order.

        Tokens are not used up here. In a block-structured net tokens of one marking never
        compete for the same silent step on the way to one transition, so this is exact for
        markings without surplus; `_plan` checks by firing.
        """
        found = self._reached.get(marking)
        if found is None:
            reached, order, waiting = marking, [], self._silent
            while True:
                ready = [t for t in waiting if self._inputs[t] & ~reached == 0]
                useful = [t for t in ready if self._outputs[t] & ~reached]
                if not useful:
                    break
                for t in useful:
                    reached |= self._outputs[t]
                order += useful
                waiting = [t for t in waiting if self._inputs[t] & ~reached or t not in ready]
            found = self._reached[marking] = reached, order
        return found

    def _plan(self, marking: int, goal: int) -> list[int]:
        """Silent transitions that lead to `goal`, or as near to it as they can, in firing order.

        Backwards from the goal: a place that can be marked asks for the transition that marks
        it first, one that cannot asks for whatever part of its feeders can be marked.
        """
        reached, order = self._closure(marking)
        producer: dict[int, int] = {}
        seen = marking
        for t in order:
            for place in _bits(self._outputs[t] & ~seen):
                producer[place] = t
            seen |= self._outputs[t]
        needed: set[int] = set()
        pending = goal & ~marking
        done = 0
        while pending:
            place = pending & -pending
            done |= place
            asked = [producer[place]] if place & reached else self._feeders.get(place, ())
            for t in asked:
                if place & reached:
                    needed.add(t)
                pending |= self._inputs[t] & ~marking
            pending &= ~done
        plan = []
        for t in order:
            if t in needed and self._inputs[t] & ~marking == 0:
                marking, _ = self._fire(marking, t)
                plan.append(t)
        return plan


def _bits(mask: int) -> Iterator[int]:
    """The single bits of a mask."""
    while mask:
        low = mask & -mask
        yield low
        mask ^= low


def _mask(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)


@dataclass(frozen=True)
class Replay:
    """How the variants of a log replay on a tree."""

    prefixes: PrefixTree
    automaton: Automaton
    states: tuple[Integers, ...]
    """The state after each prefix, level by level; level 0 is the empty prefix."""
    steps: tuple[Integers, ...]
    """The step into each prefix, level by level, from level 1."""
    final: Integers
    """The last step of each variant."""
    totals: npt.NDArray[np.int64]
    """Missing, consumed, produced and remaining tokens of each variant."""
    fitting: tuple[npt.NDArray[np.bool_], ...]
    """Whether each prefix needed no missing token, level by level."""

    @cached_property
    def variant_fitness(self) -> Floats:
        """Fitness of each variant, between 0 and 1."""
        missing, consumed, produced, remaining = self.totals.T
        return (1 - missing / consumed) / 2 + (1 - remaining / produced) / 2

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
    def _allowed(self) -> npt.NDArray[np.bool_]:
        return self.automaton.enabled()

    @property
    def precision(self) -> float:
        """Share of what the tree allows after a prefix that the log does (ETC precision)."""
        allowed_sum = seen_sum = 0
        width = self._allowed.sum(axis=1)
        for states, fits, level in zip(
            self.states, self.fitting, self.prefixes.levels, strict=False
        ):
            going_on = np.bincount(level.parent, weights=level.cases, minlength=len(states))
            going_on = going_on * fits
            allowed_sum += going_on @ width[states]
            seen = self._allowed[states[level.parent], level.symbol]
            seen_sum += going_on[level.parent] @ seen
        return float(seen_sum / allowed_sum) if allowed_sum else 1.0

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
        """For each variant the mean number of activities the tree allows along the way."""
        width = self._allowed.sum(axis=1).astype(np.float64)
        sums = [np.zeros(1)]
        result = np.ones(len(self.prefixes.counts))
        for depth, (variants, nodes) in enumerate(self.prefixes.ends):
            if depth:
                level = self.prefixes.levels[depth - 1]
                sums.append((sums[-1] + width[self.states[depth - 1]])[level.parent])
                result[variants] = sums[depth][nodes] / depth
        return result


def replay(tree: Tree, log: PrefixTree | Variants) -> Replay:
    """Replay every variant of the log on the tree."""
    prefixes = log if isinstance(log, PrefixTree) else PrefixTree(log)
    automaton = Automaton(net_of(tree), prefixes.activities)
    states: list[Integers] = [np.zeros(1, dtype=np.int64)]
    numbers: list[Integers] = []
    for level in prefixes.levels:
        found, after = automaton.lookup(states[-1][level.parent], level.symbol)
        numbers.append(found)
        states.append(after)
    end = len(prefixes.activities)
    final = np.zeros(len(prefixes.counts), dtype=np.int64)
    for depth, (variants, nodes) in enumerate(prefixes.ends):
        at = states[depth][nodes]
        final[variants], _ = automaton.lookup(at, np.full(len(at), end))
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
    return Replay(
        prefixes, automaton, tuple(states), tuple(numbers), final, totals, tuple(fitting)
    )

