"""Drawing a directly-follows graph as SVG, without any other program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

import numpy as np

from discreet.log.follows import END, START, Follows

WIDTH, HEIGHT = 150, 34
GAP_X, GAP_Y = 46, 78
LINE = 22
"""Letters of a label on one line."""


@dataclass(frozen=True)
class Box:
    """Where a node stands: the middle of its box."""

    x: float
    y: float
    layer: int


def to_svg(follows: Follows) -> str:
    """The graph from top (⊤) to bottom (⊥); the wider a line, the more often it was taken.

    Each activity stands one layer below the activity that most often leads to it. Steps back are
    drawn dashed, on the left; steps that are rarer than one in fifty of the strongest carry no
    number.
    """
    layers = _layers(follows)
    boxes = _place(follows, layers)
    width = max(box.x for box in boxes) + WIDTH
    height = max(box.y for box in boxes) + HEIGHT + 16
    strongest = max(1, int(follows.counts.max()))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="11">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#4a6a8a"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    size = len(follows.activities)
    order = np.argsort(follows.counts, axis=None, kind="stable")
    labels: list[str] = []
    for flat in order[follows.counts.ravel()[order] > 0]:
        source, target = divmod(int(flat), size + 1)
        count = int(follows.counts[source, target])
        above, below = boxes[source], boxes[size + 1 if target == size else target]
        line, label = _line(above, below, count, strongest)
        parts.append(line)
        labels.append(label if count * 50 >= strongest else "")
    parts += labels
    names = (*follows.activities, START, END)
    parts += [
        _box(box, name, round_=i >= size)
        for i, (box, name) in enumerate(zip(boxes, names, strict=True))
    ]
    return "\n".join([*filter(None, parts), "</svg>"]) + "\n"


def _layers(follows: Follows) -> list[int]:
    """A layer for each activity, for ⊤ and for ⊥: the strongest way to it from ⊤, greedily."""
    size = len(follows.activities)
    layer = np.full(size + 1, -1)
    layer[size] = 0
    strength = follows.counts.astype(np.float64)
    while True:
        reachable = np.where((layer >= 0)[:, None] & (layer < 0)[None, :], strength, 0)
        source, target = divmod(int(np.argmax(reachable)), size + 1)
        if reachable[source, target] <= 0:
            break
        layer[target] = layer[source] + 1
    deepest = int(layer.max())
    layer[layer < 0] = deepest + 1
    return [*layer[:size].tolist(), 0, int(layer.max()) + 1]


def _place(follows: Follows, layers: list[int]) -> list[Box]:
    """Boxes by layer, each near the middle of what leads to it."""
    size = len(follows.activities)
    widest = max(layers.count(layer) for layer in set(layers))
    middle = (widest * (WIDTH + GAP_X)) / 2 + GAP_X + 40
    found = [Box(middle, 0, 0)] * len(layers)
    for layer in sorted(set(layers)):
        members = [node for node in range(size + 2) if layers[node] == layer]
        pull = {node: _pull(follows, node, layers, found) for node in members}
        members.sort(key=lambda node: pull[node])
        left = middle - (len(members) - 1) * (WIDTH + GAP_X) / 2
        for place, node in enumerate(members):
            x = left + place * (WIDTH + GAP_X)
            found[node] = Box(x, 30 + layer * (HEIGHT + GAP_Y), layer)
    return found


def _pull(follows: Follows, node: int, layers: list[int], found: list[Box]) -> float:
    """The mean place of what leads to a node from layers above."""
    size = len(follows.activities)
    if node == size:
        return 0.0
    incoming = follows.counts[:, size if node == size + 1 else node]
    weights = [int(n) if layers[i] < layers[node] else 0 for i, n in enumerate(incoming)]
    total = sum(weights)
    return sum(n * found[i].x for i, n in enumerate(weights)) / total if total else 0.0


def _line(above: Box, below: Box, count: int, strongest: int) -> tuple[str, str]:
    """A curve and its number."""
    wide = 0.6 + 4.4 * math.log1p(count) / math.log1p(strongest)
    faint = 0.25 + 0.6 * count / strongest
    if above == below:
        x, y = above.x + WIDTH / 2, above.y
        path = f"M{x:.0f} {y - 8:.0f}c30 -14 30 30 2 18"
        middle = (x + 26, y + 4)
    elif below.layer > above.layer:
        x1, y1, x2, y2 = above.x, above.y + HEIGHT / 2, below.x, below.y - HEIGHT / 2 - 2
        bend = (y2 - y1) / 2
        control = f"{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f}"
        path = f"M{x1:.0f} {y1:.0f}C{control} {x2:.0f} {y2:.0f}"
        at = 0.5 if below.layer == above.layer + 1 else 0.2  # long lines pass behind boxes
        near, far = (1 - at) ** 2 * (1 + 2 * at), at**2 * (3 - 2 * at)
        rise = 3 * at * (1 - at) ** 2 * bend + 3 * at**2 * (1 - at) * bend + at**3 * 2 * bend
        middle = (near * x1 + far * x2, y1 + rise)
    elif below.layer == above.layer:
        side = math.copysign(WIDTH / 2, below.x - above.x)
        x1, x2, y = above.x + side, below.x - side - math.copysign(2, side), above.y
        rise = math.copysign(6, side)
        control = f"{(x1 + x2) / 2:.0f} {y - 4 * rise:.0f}"
        path = f"M{x1:.0f} {y - rise:.0f}Q{control} {x2:.0f} {y - rise:.0f}"
        middle = ((x1 + x2) / 2, y - 3 * rise)
    else:
        x1, y1, x2, y2 = above.x - WIDTH / 2, above.y, below.x - WIDTH / 2 - 2, below.y
        out = min(x1, x2) - 24 - 10 * (above.layer - below.layer)
        path = f"M{x1:.0f} {y1:.0f}C{out:.0f} {y1:.0f} {out:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
        middle = (0.125 * (x1 + x2) + 0.75 * out, (y1 + y2) / 2)
    dashed = "" if below.layer > above.layer else ' stroke-dasharray="5 3"'
    line = (
        f'<path d="{path}" fill="none" stroke="#4a6a8a" stroke-width="{wide:.1f}" '
        f'stroke-opacity="{faint:.2f}"{dashed} marker-end="url(#tip)"/>'
    )
    label = (
        f'<text x="{middle[0]:.0f}" y="{middle[1] + 4:.0f}" text-anchor="middle" fill="#333" '
        f'stroke="white" stroke-width="3" paint-order="stroke">{count:,}</text>'
    )
    return line, label


def _box(box: Box, name: str, *, round_: bool) -> str:
    """A node and its label, on two lines where it is long."""
    if round_:
        shape = (
            f'<circle cx="{box.x:.0f}" cy="{box.y:.0f}" r="15" fill="#e8f0e4" stroke="#5a7a4a"/>'
        )
        return shape + _text(box.x, box.y + 4, name)
    shape = (
        f'<rect x="{box.x - WIDTH / 2:.0f}" y="{box.y - HEIGHT / 2:.0f}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="7" fill="#eef3f8" stroke="#4a6a8a"/>'
    )
    lines = _lines(name)
    first = box.y + 4 - 6.5 * (len(lines) - 1)
    return shape + "".join(_text(box.x, first + 13 * i, line) for i, line in enumerate(lines))


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{escape(text)}</text>'


def _lines(label: str) -> list[str]:
    """At most two lines, cut with … where that is not enough."""
    words = " ".join("".join(c if c.isprintable() else " " for c in label).split())
    if len(words) <= LINE:
        return [words]
    split = words.rfind(" ", 0, LINE + 1)
    split = split if split > 0 else LINE
    rest = words[split:].strip()
    return [words[:split], rest if len(rest) <= LINE else rest[: LINE - 1] + "…"]
