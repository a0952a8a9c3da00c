"""Process maps: directly-follows graphs from top (⊤) to bottom (⊥), trees as BPMN diagrams."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap

import graphlay
import numpy as np

from discreet.arrays import Booleans
from discreet.language import translate
from discreet.log.follows import END, START, Follows
from discreet.models.diagram import Flow, Node, diagram_of
from discreet.models.tree import Tree
from discreet.models.writers import TreeDocument
from discreet.report import svg

Point = tuple[float, float]

WIDTH, HEIGHT = 164.0, 38.0
RADIUS = 15.0
MARGIN = 24.0
CORNER = 14.0
LETTERS, ROWS = 23, 2
"""Most letters and lines of a label in the box of an activity."""
TASK_LETTERS, TASK_ROWS = 19, 3
"""Most letters and lines of a label in the box of a task."""

# Tuned: by eye on the graphs of real logs, and on the time of their layout.

ALL, EACH, MOST = 100, 3, 300
"""Number of steps that are drawn: `ALL` of the graph or, if that is more, `EACH` per activity, but
at most `MOST` beyond those that lead to an activity and from it most often."""
QUICK = 200
"""Number of steps from which the layout spends less time on each."""


def draw_follows(
    follows: Follows,
    notes: Mapping[tuple[int, int], str] | None = None,
    *,
    each: int | None = None,
) -> str:
    """The graph; the wider a line, the more often it was taken. Steps back are dashed.

    Each line says how often it was taken, or what `notes` has for it, by source and target.
    Of a large graph only the most frequent steps are drawn, and for each activity the ones that
    lead to it and from it most often; a line at the foot says so. `each` is the number of steps
    per activity: with two, 50 activities are still legible.
    """
    size = len(follows.activities)
    shown = most_frequent(follows, each)
    pairs = [(int(i), int(j)) for i, j in zip(*np.nonzero(shown), strict=True)]
    pairs.sort(key=lambda pair: int(follows.counts[pair]))
    counts = [int(follows.counts[pair]) for pair in pairs]
    strongest = max([1, *counts])
    texts = [
        notes[pair] if notes and pair in notes else f"{count:,}"
        for pair, count in zip(pairs, counts, strict=True)
    ]
    layout = _layout(size, pairs, counts, texts)
    bounds = layout.raw["bounds"]
    dx, dy = MARGIN - bounds["min"]["x"], MARGIN - bounds["min"]["y"]

    def place(point: dict[str, float]) -> Point:
        return point["x"] + dx, point["y"] + dy

    lines, labels, reach = [svg.TIP], [], 0.0
    for count, words, edge in zip(counts, texts, layout.edges, strict=True):
        points = [place(point) for point in edge["points"]]
        lines.append(_line(points, count / strongest, math.log1p(count) / math.log1p(strongest)))
        x, y = place(edge["label_anchor"])
        labels.append(svg.text(x, y + 4, words, "count", anchor="middle"))
        reach = max(reach, x + 3.5 * len(words))
    boxes: list[str] = []
    for name, node in zip((*follows.activities, START, END), layout.nodes, strict=True):
        x, y = place(node["center"])
        boxes.append(_box(x, y, name, len(boxes) - size))
    width = max(bounds["max"]["x"] + dx, reach) + MARGIN
    height = bounds["max"]["y"] + dy + MARGIN
    note = []
    if len(pairs) < len(follows):
        share = sum(counts) / int(follows.counts.sum())
        left = translate(
            "%(drawn)s of %(steps)s steps are drawn, %(share)s%% of all that happened",
            drawn=f"{len(pairs):,}",
            steps=f"{len(follows):,}",
            share=f"{100 * share:.1f}",
        )
        note, height = [svg.text(MARGIN, height + 4, left, "quiet")], height + MARGIN
    return svg.page(width, height, [*lines, *labels, *boxes, *note], repr(follows))


def most_frequent(follows: Follows, each: int | None = None) -> Booleans:
    """The steps that are drawn: each activity's most frequent ways in and out, then the rest."""
    counts, size = follows.counts, len(follows.activities)
    many = max(ALL, min(MOST, EACH * size)) if each is None else each * size
    if len(follows) <= many:
        return counts > 0
    kept = np.zeros(counts.shape, dtype=np.bool_)
    every = np.arange(len(counts))
    kept[every, counts.argmax(axis=1)] = kept[counts.argmax(axis=0), every] = True
    left = np.where(kept, 0, counts).ravel()
    further = np.argsort(-left, kind="stable")[: max(0, many - int(kept.sum()))]
    kept.ravel()[further] = True
    return kept & (counts > 0)


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


def _layout(
    size: int, pairs: Sequence[tuple[int, int]], counts: Sequence[int], texts: Sequence[str]
) -> graphlay.Layout:
    """Where boxes, lines and numbers stand; ⊤ is the node after the activities, ⊥ the next."""
    graph = graphlay.Graph()
    for number in range(size):
        graph.node(number, width=WIDTH, height=HEIGHT)
    for number, rank in ((size, "first"), (size + 1, "last")):
        graph.node(number, width=2 * RADIUS, height=2 * RADIUS, shape="ellipse", rank=rank)
    for (source, target), count, words in zip(pairs, counts, texts, strict=True):
        graph.edge(
            source,
            target + 1 if target == size else target,
            weight=count,
            label_size={"width": 7.0 * len(words), "height": 12.0},
        )
    effort = "balanced" if len(pairs) < QUICK else "fast"
    options = {"routing": {"style": "diagonal"}, "effort": effort}
    return graphlay.layout(graph, preset="process_map", options=options)


def _line(points: Sequence[Point], share: float, strength: float) -> str:
    """A line along some points with round corners; `share` fades it, `strength` widens it."""
    path = [f"M{points[0][0]:.0f} {points[0][1]:.0f}"]
    for before, (x, y), after in zip(points, points[1:], points[2:], strict=False):
        (x1, y1), (x2, y2) = _towards((x, y), before), _towards((x, y), after)
        path.append(f"L{x1:.0f} {y1:.0f}Q{x:.0f} {y:.0f} {x2:.0f} {y2:.0f}")
    path.append(f"L{points[-1][0]:.0f} {points[-1][1]:.0f}")
    dashed = ' stroke-dasharray="5 3"' if points[-1][1] < points[0][1] else ""
    return (
        f'<path class="flow" d="{"".join(path)}" stroke-width="{0.8 + 4 * strength:.1f}" '
        f'stroke-opacity="{0.4 + 0.5 * share:.2f}"{dashed} marker-end="url(#tip)"/>'
    )


def _towards(corner: Point, other: Point) -> Point:
    """The point near a corner, on the way to another, where rounding begins."""
    apart = math.dist(corner, other)
    near = min(CORNER, apart / 2) / apart if apart else 0.0
    return corner[0] + near * (other[0] - corner[0]), corner[1] + near * (other[1] - corner[1])


def _box(x: float, y: float, name: str, beyond: int) -> str:
    """The box of an activity, or the circle of the start (`beyond` 0) or the end (1)."""
    if beyond >= 0:
        return svg.circle(x, y, RADIUS, ("start", "end")[beyond]) + svg.label(x, y, name, 1, 1)
    box = svg.rect(x - WIDTH / 2, y - HEIGHT / 2, WIDTH, HEIGHT, "task", rx="7")
    return box + svg.label(x, y, name, LETTERS, ROWS)


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
        return box + svg.label(x, y, node.label, TASK_LETTERS, TASK_ROWS)
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
