"""Drawing a process tree as a BPMN diagram."""

from __future__ import annotations

from textwrap import wrap

from discreet.drawing import svg
from discreet.models.diagram import Flow, Node, diagram_of
from discreet.models.tree import Tree
from discreet.models.writers import TreeDocument

LETTERS, ROWS = 19, 3
"""What a task's box holds of its label."""


def draw_tree(tree: Tree) -> str:
    """The tree as a picture, from left to right."""
    drawn = diagram_of(tree)
    body = [_flow(flow) for flow in drawn.flows] + [_node(node) for node in drawn.nodes]
    return svg.page(drawn.width, drawn.below, [svg.TIP, *body], str(tree))


def draw_document(document: TreeDocument) -> str:
    """The released tree, or the message that there is none."""
    if document.tree is not None:
        return draw_tree(document.tree)
    lines = wrap(document.message, 70)
    body = [svg.text(280, 30 + 16 * i, line, anchor="middle") for i, line in enumerate(lines)]
    return svg.page(560, 40 + 16 * len(lines), body, document.message)


def _flow(flow: Flow) -> str:
    points = " ".join(f"{x:g},{y:g}" for x, y in flow.points)
    return f'<polyline class="flow" points="{points}" marker-end="url(#tip)"/>'


def _node(node: Node) -> str:
    width, height = node.size
    x, y = node.x, node.y
    if node.kind in ("start", "end"):
        return svg.circle(x, y, width / 2, node.kind)
    if node.kind == "task":
        box = svg.rect(x - width / 2, y - height / 2, width, height, "task", rx="8")
        return box + svg.label(x, y, node.label, LETTERS, ROWS)
    half, arm = width / 2, width / 5
    if node.kind == "parallel":
        strokes = f"M{x - arm:g} {y:g}h{2 * arm:g}M{x:g} {y - arm:g}v{2 * arm:g}"
    else:
        arm *= 0.8
        strokes = (
            f"M{x - arm:g} {y - arm:g}l{2 * arm:g} {2 * arm:g}"
            f"M{x - arm:g} {y + arm:g}l{2 * arm:g} {-2 * arm:g}"
        )
    return (
        f'<path class="gateway" d="M{x:g} {y - half:g}l{half:g} {half:g}l{-half:g} {half:g}'
        f'l{-half:g} {-half:g}z"/><path class="mark" d="{strokes}"/>'
    )
