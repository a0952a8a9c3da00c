"""Trees in the language of Mermaid."""

from __future__ import annotations

from discreet.models.diagram import diagram_of
from discreet.models.tree import Tree


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
