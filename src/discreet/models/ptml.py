"""Process trees in PTML, the XML format of ProM that other tools read.

A `processTree` lists its nodes, each an element named after its kind, and the links from parents
to children, in order, as `parentsNode` elements. A loop has three children there: the body, what
comes before its repetition, and what comes after all of it, here always silent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from xml.etree import ElementTree

from discreet.models.tree import TAU, Operator, Tree, TreeError
from discreet.models.xml import document, xml_text

KINDS: dict[str, Operator] = {
    "sequence": "sequence",
    "xor": "exclusive",
    "and": "parallel",
    "xorLoop": "loop",
}
NAMES = {operator: kind for kind, operator in KINDS.items()}
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


def from_ptml(text: str) -> Tree:
    """Read a tree; anything else is refused with a TreeError."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise TreeError("a process tree has no document type declaration")
    try:
        inside = ElementTree.fromstring(text).find("processTree")
    except ElementTree.ParseError as error:
        raise TreeError(f"this is not PTML: {error}") from error
    if inside is None:
        raise TreeError("this is not PTML: there is no processTree")
    return _Reader(inside).tree(inside.get("root", ""))


class _Reader:
    """Nodes and links by name; each node may be used once, so that nothing contains itself."""

    def __init__(self, inside: ElementTree.Element) -> None:
        self._nodes = {node.get("id"): node for node in inside if node.tag != LINK}
        self._below: defaultdict[str | None, list[str]] = defaultdict(list)
        for link in inside.iter(LINK):
            self._below[link.get("sourceId")].append(link.get("targetId", ""))

    def tree(self, name: str) -> Tree:
        """The subtree of that name."""
        node = self._nodes.pop(name, None)
        if node is None:
            raise TreeError(f"the node {name!r} is missing, or used twice")
        if node.tag == ACTIVITY:
            return Tree(label=node.get("name", ""))
        if node.tag == SILENT:
            return TAU
        if node.tag not in KINDS:
            raise TreeError(f"the node type {node.tag!r} has no counterpart here")
        children = [self.tree(child) for child in self._below[name]]
        if KINDS[node.tag] == "loop" and len(children) == 3 and children[2].silent:
            children.pop()
        return Tree(operator=KINDS[node.tag], children=tuple(children))
