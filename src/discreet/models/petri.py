"""Workflow nets, and the net of a process tree."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import count, pairwise

from discreet.models.tree import Tree

SOURCE, SINK = 0, 1


@dataclass(frozen=True)
class Transition:
    """The places it takes tokens from and gives them to, and its activity (None: silent)."""

    label: str | None
    inputs: frozenset[int]
    outputs: frozenset[int]


@dataclass(frozen=True)
class Net:
    """A safe workflow net from place 0 (source) to place 1 (sink)."""

    transitions: tuple[Transition, ...]

    @property
    def labels(self) -> frozenset[str]:
        """The activities of the transitions."""
        return frozenset(t.label for t in self.transitions if t.label is not None)

    @property
    def places(self) -> frozenset[int]:
        """All places, the source and the sink included."""
        used = {SOURCE, SINK}
        for transition in self.transitions:
            used |= transition.inputs | transition.outputs
        return frozenset(used)

    @property
    def simplicity(self) -> float:
        """1 / (1 + max(mean arc degree − 2, 0)), as PM4Py measures it."""
        arcs = sum(len(t.inputs) + len(t.outputs) for t in self.transitions)
        nodes = len(self.transitions) + len(self.places)
        return 1 / (1 + max(2 * arcs / nodes - 2, 0.0))


def net_of(tree: Tree) -> Net:
    """Translate block by block, then fuse silent transitions that decide nothing."""
    fresh = count(2)
    net = _Draft()

    def block(node: Tree, begin: int, end: int) -> None:
        children = node.children
        if node.operator is None:
            net.add(node.label, {begin}, {end})
        elif node.operator == "sequence":
            places = [begin, *(next(fresh) for _ in children[1:]), end]
            for child, (before, after) in zip(children, pairwise(places), strict=True):
                block(child, before, after)
        elif node.operator == "exclusive":
            for child in children:
                block(child, begin, end)
        elif node.operator == "parallel":
            first, last = ([next(fresh) for _ in children] for _ in range(2))
            net.add(None, {begin}, set(first))
            net.add(None, set(last), {end})
            for child, before, after in zip(children, first, last, strict=True):
                block(child, before, after)
        else:
            before, after, again = next(fresh), next(fresh), next(fresh)
            net.add(None, {begin}, {before})
            net.add(None, {again}, {before})
            net.add(None, {after}, {end})
            block(children[0], before, after)
            block(children[1], after, again)

    begin, end = SOURCE, SINK
    if _shared(tree, 0):
        net.add(None, {SOURCE}, {begin := next(fresh)})
    if _shared(tree, -1):
        net.add(None, {end := next(fresh)}, {SINK})
    block(tree, begin, end)
    return net.fused()


def _shared(tree: Tree, side: int) -> bool:
    """Whether the source (side 0) or the sink (side −1) gets a silent step of its own.

    So it does in PM4Py's nets where the whole is a choice or a loop stands at that side; the
    measures that read a net's shape must agree.
    """
    return tree.operator == "exclusive" or _loop_at(tree, side)


def _loop_at(tree: Tree, side: int) -> bool:
    if tree.operator == "sequence":
        return _loop_at(tree.children[side], side)
    if tree.operator == "exclusive":
        return any(_loop_at(child, side) for child in tree.children)
    return tree.operator == "loop"


class _Draft:
    """A net that is still being changed: transitions by number, and who touches each place."""

    def __init__(self) -> None:
        self.label: dict[int, str | None] = {}
        self.takes: dict[int, set[int]] = {}
        self.gives: dict[int, set[int]] = {}
        self.takers: defaultdict[int, set[int]] = defaultdict(set)
        self.givers: defaultdict[int, set[int]] = defaultdict(set)

    def add(self, label: str | None, takes: set[int], gives: set[int]) -> None:
        number = len(self.label)
        self.label[number], self.takes[number], self.gives[number] = label, takes, gives
        for place in takes:
            self.takers[place].add(number)
        for place in gives:
            self.givers[place].add(number)

    def fused(self) -> Net:
        """The net after fusion of series transitions (Murata 1989); the language stays.

        A place with one giver and one taker goes if one of the two is silent and has no other
        place on that side.
        """
        pending = [place for place in self.givers if place in self.takers]
        while pending:
            place = pending.pop()
            if len(self.givers[place]) != 1 or len(self.takers[place]) != 1:
                continue
            (giver,), (taker,) = self.givers[place], self.takers[place]
            if giver == taker:
                continue
            if self.label[taker] is None and self.takes[taker] == {place}:
                self._move(taker, giver, self.gives, self.givers)
                self.gives[giver].discard(place)
            elif self.label[giver] is None and self.gives[giver] == {place}:
                self._move(giver, taker, self.takes, self.takers)
                self.takes[taker].discard(place)
            else:
                continue
            del self.givers[place], self.takers[place]
        return Net(
            tuple(
                Transition(label, frozenset(self.takes[number]), frozenset(self.gives[number]))
                for number, label in self.label.items()
            )
        )

    def _move(
        self, lost: int, kept: int, arcs: dict[int, set[int]], touching: defaultdict[int, set[int]]
    ) -> None:
        """Give the arcs on one side of a transition to another one, and drop it."""
        for place in arcs[lost]:
            touching[place].discard(lost)
            touching[place].add(kept)
        arcs[kept] |= arcs[lost]
        del self.label[lost], self.takes[lost], self.gives[lost]
