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
            first, last = next(fresh), next(fresh)
            add(None, {begin}, {first})
            block(node.children[0], first, last)
            block(node.children[1], last, first)
            add(None, {last}, {end})

    # A tree that begins or ends with a choice or a loop keeps source and sink to itself.
    begin, end = next(fresh), next(fresh)
    add(None, {SOURCE}, {begin})
    block(tree, begin, end)
    add(None, {end}, {SINK})
    return Net(tuple(Transition(t, frozenset(i), frozenset(o)) for t, i, o in _reduced(transitions)))


def _reduced(
    transitions: list[tuple[str | None, set[int], set[int]]],
) -> list[tuple[str | None, set[int], set[int]]]:
    """Fuse silent transitions with their only neighbours (Murata); the language stays.

    A silent transition whose only input is a place that feeds nothing else is done by those
    that fill the place; the mirror image at its only output likewise.
    """
    left = list(transitions)
    changed = True
    while changed:
        changed = False
        for index, (label, inputs, outputs) in enumerate(left):
            if label is not None or inputs & outputs:
                continue
            others = left[:index] + left[index + 1 :]
            if len(inputs) == 1 and SOURCE not in inputs:
                (place,) = inputs
                feeders = [t for t in others if place in t[2]]
                if not any(place in t[1] for t in others) and not any(
                    t[2] & outputs for t in feeders
                ):
                    for feeder in feeders:
                        feeder[2].discard(place)
                        feeder[2].update(outputs)
                    left, changed = others, True
                    break
            if len(outputs) == 1 and SINK not in outputs:
                (place,) = outputs
                takers = [t for t in others if place in t[1]]
                if not any(place in t[2] for t in others) and not any(
                    t[1] & inputs for t in takers
                ):
                    for taker in takers:
                        taker[1].discard(place)
                        taker[1].update(inputs)
                    left, changed = others, True
                    break
    return left
