"""A process tree laid out as a BPMN diagram: start, tasks, gateways, end, and their flows.

Blocks are placed left to right along a middle line; alternatives are stacked around it, and what
leads back in a loop runs mirrored below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from discreet.models.tree import Tree

Kind = Literal["start", "end", "task", "exclusive", "parallel"]
Point = tuple[float, float]

TASK = (130.0, 60.0)
GATEWAY = 36.0
EVENT = 30.0
GAP = 36.0
SPACING = 18.0


@dataclass(eq=False)
class Node:
    """A shape by its centre."""

    kind: Kind
    label: str = ""
    x: float = 0.0
    y: float = 0.0

    @property
    def size(self) -> Point:
        """Width and height."""
        if self.kind == "task":
            return TASK
        side = EVENT if self.kind in ("start", "end") else GATEWAY
        return side, side


@dataclass(eq=False)
class Flow:
    """An arrow from one shape to another along some points."""

    source: Node
    target: Node
    points: list[Point]


@dataclass
class Diagram:
    """Shapes and arrows. Until it is finished, (0, 0) is where the middle line begins."""

    nodes: list[Node] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    width: float = 0.0
    above: float = 0.0
    below: float = 0.0

    @property
    def first(self) -> Node:
        """The node by which the block is entered."""
        return self.nodes[0]

    @property
    def last(self) -> Node:
        """The node by which the block is left."""
        return self.nodes[-1]

    def moved(self, dx: float, dy: float) -> Diagram:
        """Shift the diagram in place, and return it."""
        for node in self.nodes:
            node.x, node.y = node.x + dx, node.y + dy
        for flow in self.flows:
            flow.points = [(x + dx, y + dy) for x, y in flow.points]
        return self

    def mirrored(self) -> Diagram:
        """Mirror the diagram in place, from right to left, and return it."""
        for node in self.nodes:
            node.x = self.width - node.x
        for flow in self.flows:
            flow.points = [(self.width - x, y) for x, y in flow.points]
        return self

    def add(self, other: Diagram) -> None:
        """Take over the shapes and arrows of another."""
        self.nodes += other.nodes
        self.flows += other.flows


def diagram_of(tree: Tree) -> Diagram:
    """Lay out a tree; all coordinates of the result are positive."""
    inner = _block(tree.folded())
    blocks = [_shape("start"), inner, _shape("end")] if inner else [_shape("start"), _shape("end")]
    whole = _row(blocks)
    margin = 20.0
    result = whole.moved(margin, margin + whole.above)
    result.width += 2 * margin
    result.above, result.below = 0.0, whole.above + whole.below + 2 * margin
    return result


def _shape(kind: Kind, label: str = "") -> Diagram:
    node = Node(kind, label)
    width, height = node.size
    node.x = width / 2
    return Diagram([node], [], width, height / 2, height / 2)


def _block(tree: Tree) -> Diagram | None:
    """The block of a tree; None for τ."""
    if tree.operator is None:
        return _shape("task", tree.label) if tree.label is not None else None
    if tree.operator == "sequence":
        return _row([block for child in tree.children if (block := _block(child))])
    if tree.operator == "loop":
        return _loop(_block(tree.children[0]), _block(tree.children[1]))
    kind: Kind = "exclusive" if tree.operator == "exclusive" else "parallel"
    return _stack(kind, [_block(child) for child in tree.children])


def _row(blocks: list[Diagram]) -> Diagram:
    result = Diagram()
    previous: Node | None = None
    for block in blocks:
        block.moved(result.width + (GAP if previous else 0), 0)
        if previous is not None:
            _straight(result, previous, block.first)
        result.add(block)
        result.width += block.width + (GAP if previous else 0)
        result.above = max(result.above, block.above)
        result.below = max(result.below, block.below)
        previous = block.last
    return result


def _stack(kind: Kind, blocks: list[Diagram | None]) -> Diagram:
    split, join = Node(kind, x=GATEWAY / 2), Node(kind)
    inner = max(block.width if block else 0.0 for block in blocks)
    width = inner + 2 * (GATEWAY + GAP)
    join.x = width - GATEWAY / 2
    heights = [block.above + block.below if block else 2.0 for block in blocks]
    total = sum(heights) + SPACING * (len(blocks) - 1)
    lines = []
    top = -total / 2
    for block, height in zip(blocks, heights, strict=True):
        lines.append(top + (block.above if block else 1.0))
        top += height + SPACING
    # A branch that almost meets the middle line is put on it.
    nearest = min(lines, key=abs)
    shift = nearest if abs(nearest) < GATEWAY else 0.0
    result = Diagram([split], [], width)
    for block, line in zip(blocks, (line - shift for line in lines), strict=True):
        if block is None:
            result.flows.append(Flow(split, join, _bent(split, join, line)))
        else:
            block.moved((width - block.width) / 2, line)
            result.flows.append(Flow(split, block.first, _out(split, block.first)))
            result.add(block)
            result.flows.append(Flow(block.last, join, _out(join, block.last)[::-1]))
    result.nodes.append(join)
    result.above = max(total / 2 + shift, GATEWAY / 2)
    result.below = max(total / 2 - shift, GATEWAY / 2)
    return result


def _loop(body: Diagram | None, redo: Diagram | None) -> Diagram:
    join, split = Node("exclusive", x=GATEWAY / 2), Node("exclusive")
    inner = max(body.width if body else 0.0, redo.width if redo else 0.0, TASK[0] / 2)
    width = inner + 2 * (GATEWAY + GAP)
    split.x = width - GATEWAY / 2
    result = Diagram([join], [], width, above=GATEWAY / 2, below=GATEWAY / 2)
    if body is None:
        _straight(result, join, split)
    else:
        body.moved((width - body.width) / 2, 0)
        _straight(result, join, body.first)
        result.add(body)
        _straight(result, body.last, split)
        result.above = max(result.above, body.above)
        result.below = max(result.below, body.below)
    line = result.below + SPACING + (redo.above if redo else 0.0)
    if redo is None:
        result.flows.append(Flow(split, join, _bent(split, join, line)))
        result.below = line
    else:
        redo.mirrored().moved((width - redo.width) / 2, line)
        result.flows.append(Flow(split, redo.first, _out(split, redo.first)))
        result.add(redo)
        result.flows.append(Flow(redo.last, join, _out(join, redo.last)[::-1]))
        result.below = line + redo.below
    result.nodes.append(split)
    return result


def _straight(into: Diagram, source: Node, target: Node) -> None:
    begin = (source.x + source.size[0] / 2, source.y)
    into.flows.append(Flow(source, target, [begin, (target.x - target.size[0] / 2, target.y)]))


def _edge(node: Node, towards: float) -> Point:
    """The point of a gateway from which a line leaves up or down."""
    return node.x, node.y + (GATEWAY / 2 if towards > node.y else -GATEWAY / 2)


def _out(gateway: Node, node: Node) -> list[Point]:
    """The points of a line from a gateway to the near side of a shape."""
    side = node.x - node.size[0] / 2 if node.x > gateway.x else node.x + node.size[0] / 2
    if abs(node.y - gateway.y) < 1:
        begin = gateway.x + (GATEWAY / 2 if node.x > gateway.x else -GATEWAY / 2)
        return [(begin, gateway.y), (side, node.y)]
    return [_edge(gateway, node.y), (gateway.x, node.y), (side, node.y)]


def _bent(source: Node, target: Node, line: float) -> list[Point]:
    if abs(line - source.y) < GATEWAY / 2:
        side = GATEWAY / 2 if target.x > source.x else -GATEWAY / 2
        return [(source.x + side, source.y), (target.x - side, target.y)]
    return [_edge(source, line), (source.x, line), (target.x, line), _edge(target, line)]
