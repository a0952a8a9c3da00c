"""A net as a finite automaton whose states are markings, compiled on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.models.petri import SINK, SOURCE, Net


@dataclass(frozen=True)
class Firing:
    """The effect of one event, or of the end of a case: next state, tokens, fired transitions."""

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
        self.activities = activities
        self._places = sorted(net.places)
        numbers = {place: i for i, place in enumerate(self._places)}
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
        self.steps: list[Firing] = []
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

    def marked(self, state: int) -> frozenset[int]:
        """The places that hold a token in a state."""
        return frozenset(p for i, p in enumerate(self._places) if self._markings[state] >> i & 1)

    def lookup(self, states: Integers, symbols: Integers) -> tuple[Integers, Integers]:
        """The numbers of the firings of these symbols in these states, and the next states.

        Those that are new are compiled.
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

    def enabled(self) -> Booleans:
        """For each state and activity, whether it can come next, silent steps allowed."""
        result = np.zeros((len(self._markings), len(self._of_symbol)), dtype=bool)
        for state, marking in enumerate(self._markings):
            reached, _ = self._closure(marking)
            for symbol in np.flatnonzero(self.known):
                result[state, symbol] = any(
                    self._inputs[t] & ~reached == 0 for t in self._of_symbol[symbol]
                )
        return result

    def _step(self, marking: int, symbol: int) -> Firing:
        """The firing of an event; the last symbol is the end of the case."""
        if symbol == len(self._of_symbol):
            return self._finish(marking)
        candidates = self._of_symbol[symbol]
        if not candidates:
            return Firing(self.state(marking), 0, 0, 0, 0, ())
        plan: list[int] = []
        ready = [t for t in candidates if self._inputs[t] & ~marking == 0]
        if ready:
            chosen = ready[0]
        else:
            reached, _ = self._closure(marking)
            chosen = min(candidates, key=lambda t: (self._inputs[t] & ~reached).bit_count())
            plan = self._plan(marking, self._inputs[chosen])
        marking, consumed, produced, surplus = self._fired(marking, plan)
        lacking = self._inputs[chosen] & ~marking
        marking, extra = self._fire(marking | lacking, chosen)
        return Firing(
            self.state(marking),
            lacking.bit_count(),
            consumed + self._inputs[chosen].bit_count(),
            produced + self._outputs[chosen].bit_count(),
            surplus + extra,
            (*plan, chosen),
        )

    def _finish(self, marking: int) -> Firing:
        plan = self._plan(marking, self._sink)
        marking, consumed, produced, surplus = self._fired(marking, plan)
        missing = 0 if marking & self._sink else 1
        left = (marking & ~self._sink).bit_count()
        # The token in the source was produced, the one in the sink is consumed.
        return Firing(0, missing, consumed + 1, produced + 1, surplus + left, tuple(plan))

    def _fired(self, marking: int, plan: list[int]) -> tuple[int, int, int, int]:
        """The marking after these transitions; tokens consumed, produced and left over."""
        consumed = produced = surplus = 0
        for t in plan:
            marking, extra = self._fire(marking, t)
            consumed += self._inputs[t].bit_count()
            produced += self._outputs[t].bit_count()
            surplus += extra
        return marking, consumed, produced, surplus

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
