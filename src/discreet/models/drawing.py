"""Drawing trees: Mermaid text and SVG."""

from __future__ import annotations

from html import escape
from textwrap import wrap

from discreet.models.diagram import Flow, Node, diagram_of
from discreet.models.tree import Tree
from discreet.models.xml import xml_text

STYLE = """text{font:12px system-ui,sans-serif;fill:#1f2933;text-anchor:middle}
.task{fill:#eef4fb;stroke:#3b6ea5}.gateway{fill:#fff7e0;stroke:#b7791f}
.start{fill:#e6f6ec;stroke:#2f855a}.end{fill:#fde8e8;stroke:#9b2c2c;stroke-width:3}
.flow{fill:none;stroke:#52606d}.mark{stroke:#b7791f;stroke-width:2.5}"""

LINE = 15
LETTERS = 18
ROWS = 3


def to_mermaid(tree: Tree, message: str | None = None) -> str:
    """A left-to-right flowchart in Mermaid's language."""
    if message is not None:
        return f'flowchart LR\n  none["{_mermaid_text(message)}"]\n'
    drawn = diagram_of(tree)
    names = {node: f"n{number}" for number, node in enumerate(drawn.nodes)}
    shapes = {"start": "((▶))", "end": "(((■)))", "exclusive": "{×}", "parallel": "{+}"}
    lines = ["flowchart LR"]
    for node, name in names.items():
        text = f'["{_mermaid_text(node.label)}"]' if node.kind == "task" else shapes[node.kind]
        lines.append(f"  {name}{text}")
    lines += [f"  {names[flow.source]} --> {names[flow.target]}" for flow in drawn.flows]
    return "\n".join(lines) + "\n"


def _mermaid_text(text: str) -> str:
    """Text inside quotes: what Mermaid or HTML would read as markup becomes a character code."""
    return "".join(f"#{ord(c)};" if c in '#"<>&`;{}[]\\' or ord(c) < 32 else c for c in text)


def to_svg(tree: Tree, message: str | None = None) -> str:
    """A self-contained picture, or the message as text."""
    if message is not None:
        return _message(message)
    drawn = diagram_of(tree)
    body = [_flow(flow) for flow in drawn.flows] + [_node(node) for node in drawn.nodes]
    return _page(drawn.width, drawn.below, str(tree), body)


def _page(width: float, height: float, title: str, body: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#52606d"/></marker></defs>\n'
        '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _message(message: str) -> str:
    lines = wrap(message, 70)
    rows = [
        f'<text x="280" y="{30 + LINE * number}">{_text(line)}</text>'
        for number, line in enumerate(lines)
    ]
    return _page(560, 40 + LINE * len(lines), message, rows)


def _flow(flow: Flow) -> str:
    points = " ".join(f"{x:g},{y:g}" for x, y in flow.points)
    return f'<polyline class="flow" points="{points}" marker-end="url(#tip)"/>'


def _node(node: Node) -> str:
    width, height = node.size
    x, y = node.x, node.y
    if node.kind in ("start", "end"):
        return f'<circle class="{node.kind}" cx="{x:g}" cy="{y:g}" r="{width / 2:g}"/>'
    if node.kind == "task":
        return (
            f'<rect class="task" x="{x - width / 2:g}" y="{y - height / 2:g}" rx="8" '
            f'width="{width:g}" height="{height:g}"/>{_label(node)}'
        )
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


def _label(node: Node) -> str:
    lines = wrap(node.label, LETTERS) or [node.label]
    if len(lines) > ROWS:
        lines = [*lines[: ROWS - 1], lines[ROWS - 1][: LETTERS - 1] + "…"]
    top = node.y - LINE * (len(lines) - 1) / 2 + 4
    rows = "".join(
        f'<tspan x="{node.x:g}" y="{top + LINE * number:g}">{_text(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    return f"<text><title>{_text(node.label)}</title>{rows}</text>"


def _text(text: str) -> str:
    return escape(xml_text(text))
