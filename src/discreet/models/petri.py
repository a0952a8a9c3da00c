"""The workflow net of a process tree, with markings as bit masks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from discreet.models.tree import Tree

SOURCE, SINK = 0, 1


@dataclass(frozen=True)
class Transition:
    """What it takes, what it gives, and the activity it stands for (None: silent)."""

    label: str | None
    inputs: frozenset[int]
    outputs: frozenset[int]


@dataclass(frozen=True)
class Net:
    """A safe workflow net from place 0 (source) to place 1 (sink)."""

    transitions: tuple[Transition, ...]

    @property
    def places(self) -> frozenset[int]:
        """All places."""
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
    """Translate block by block, then take out silent transitions that decide nothing."""
    fresh = count(2)
    transitions: list[tuple[str | None, set[int], set[int]]] = []

    def add(label: str | None, inputs: set[int], outputs: set[int]) -> None:
        transitions.append((label, inputs, outputs))

    def block(node: Tree, begin: int, end: int) -> None:
        if node.operator is None:
            add(node.label, {begin}, {end})
        elif node.operator == "sequence":
            for child in node.children[:-1]:
                middle = next(fresh)
                block(child, begin, middle)
                begin = middle
            block(node.children[-1], begin, end)
        elif node.operator == "exclusive":
            for child in node.children:
                block(child, begin, end)
        elif node.operator == "parallel":
            ends = [(next(fresh), next(fresh)) for _ in node.children]
            add(None, {begin}, {first for first, _ in ends})
            for child, (first, last) in zip(node.children, ends, strict=True):
                block(child, first, last)
            add(None, {last for _, last in ends}, {end})
        else:
            first, last, again = next(fresh), next(fresh), next(fresh)
            add(None, {begin}, {first})
            block(node.children[0], first, last)
            block(node.children[1], last, again)
            add(None, {again}, {first})
            add(None, {last}, {end})

    begin, end = SOURCE, SINK
    if _guarded(tree, 0):
        begin = next(fresh)
        add(None, {SOURCE}, {begin})
    if _guarded(tree, -1):
        end = next(fresh)
        add(None, {end}, {SINK})
    block(tree, begin, end)
    return Net(tuple(Transition(t, frozenset(i), frozenset(o)) for t, i, o in _fused(transitions)))


def _guarded(tree: Tree, side: int) -> bool:
    """Whether a silent step of its own begins (side 0) or ends (side −1) the net.

    The net would be sound without; it is there where PM4Py puts it, so that measures that look
    at the net's shape come out the same.
    """
    if tree.operator in ("exclusive", "parallel", "loop"):
        return True
    if side == 0 and tree.children and _reaches_loop(tree.children[0], -1):
        return True
    return _reaches_loop(tree, side)


def _reaches_loop(tree: Tree, side: int) -> bool:
    while tree.children:
        tree = tree.children[side]
        if tree.operator == "loop":
            return True
    return False


def _fused(
    transitions: list[tuple[str | None, set[int], set[int]]],
) -> list[tuple[str | None, set[int], set[int]]]:
    """Fuse transitions in series (Murata): a place with one feeder and one taker goes, if one of
    the two is silent and touches no other place on that side. The language stays."""
    left = list(transitions)
    feeders: dict[int, list[int]] = {}
    takers: dict[int, list[int]] = {}
    for number, (_, inputs, outputs) in enumerate(left):
        for place in outputs:
            feeders.setdefault(place, []).append(number)
        for place in inputs:
            takers.setdefault(place, []).append(number)
    gone: set[int] = set()
    changed = True
    while changed:
        changed = False
        for place in sorted(set(feeders) & set(takers)):
            if len(feeders[place]) != 1 or len(takers[place]) != 1:
                continue
            (before,), (after,) = feeders[place], takers[place]
            first, second = left[before], left[after]
            if before == after:
                continue
            if second[0] is None and second[1] == {place} and not first[2] & second[2]:
                kept, lost, moved, index = before, after, second[2], feeders
                first[2].discard(place)
                first[2].update(moved)
            elif first[0] is None and first[2] == {place} and not first[1] & second[1]:
                kept, lost, moved, index = after, before, first[1], takers
                second[1].discard(place)
                second[1].update(moved)
            else:
                continue
            for other in moved:
                index[other] = [kept if t == lost else t for t in index[other]]
            del feeders[place], takers[place]
            gone.add(lost)
            changed = True
    return [t for number, t in enumerate(left) if number not in gone]
