"""Writing process trees in PTML, the XML format of ProM that other tools read.

A `processTree` lists its nodes, each an element named after its kind, and the links from parents
to children, in order, as `parentsNode` elements. A loop has three children there: the body, what
comes before its repetition, and what comes after all of it, here always silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from discreet.models.tree import TAU, Operator, Tree
from discreet.models.xml import document, xml_text

NAMES: dict[Operator, str] = {
    "sequence": "sequence",
    "exclusive": "xor",
    "parallel": "and",
    "loop": "xorLoop",
}
ACTIVITY, SILENT, LINK = "manualTask", "automaticTask", "parentsNode"


def to_ptml(tree: Tree, message: str | None = None) -> str:
    """The tree as PTML, with the message as its name."""
    root = ElementTree.Element("ptml")
    inside = ElementTree.SubElement(root, "processTree", id="tree", name=message or "", root="n")
    links = []
    for name, node in _named(tree, "n"):
        kind = NAMES[node.operator] if node.operator else SILENT if node.silent else ACTIVITY
        ElementTree.SubElement(inside, kind, id=name, name=xml_text(node.label or ""))
        links += [(name, f"{name}.{i}") for i in range(len(_children(node)))]
    for parent, child in links:
        ElementTree.SubElement(inside, LINK, id=f"to {child}", sourceId=parent, targetId=child)
    return document(root)


def _named(tree: Tree, name: str) -> Iterator[tuple[str, Tree]]:
    """The node and all below, each named by the way to it."""
    yield name, tree
    for i, child in enumerate(_children(tree)):
        yield from _named(child, f"{name}.{i}")


def _children(tree: Tree) -> tuple[Tree, ...]:
    return (*tree.children, TAU) if tree.operator == "loop" else tree.children
