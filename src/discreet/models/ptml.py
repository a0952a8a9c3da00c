"""Process trees in PTML, the format of ProM and PM4Py."""

from __future__ import annotations

from xml.etree import ElementTree

from discreet.models.tree import Operator, Tree, TreeError
from discreet.models.xml import document, xml_text

TAGS: dict[Operator, str] = {
    "sequence": "sequence",
    "exclusive": "xor",
    "parallel": "and",
    "loop": "xorLoop",
}


def to_ptml(tree: Tree, message: str | None = None) -> str:
    """The tree as PTML; loops get the silent third child that ProM expects."""
    root = ElementTree.Element("ptml")
    inside = ElementTree.SubElement(root, "processTree", id="tree", name=message or "", root="n0")
    links: list[tuple[str, str]] = []
    pending: list[tuple[Tree, str | None]] = [(tree, None)]
    number = 0
    while pending:
        node, parent = pending.pop(0)
        name = f"n{number}"
        number += 1
        if node.operator is not None:
            ElementTree.SubElement(inside, TAGS[node.operator], id=name, name="")
        elif node.label is None:
            ElementTree.SubElement(inside, "automaticTask", id=name, name="")
        else:
            ElementTree.SubElement(inside, "manualTask", id=name, name=xml_text(node.label))
        if parent is not None:
            links.append((parent, name))
        children = (*node.children, Tree()) if node.operator == "loop" else node.children
        pending += [(child, name) for child in children]
    for i, (parent, child) in enumerate(links):
        ElementTree.SubElement(inside, "parentsNode", id=f"l{i}", sourceId=parent, targetId=child)
    return document(root)


def from_ptml(text: str) -> Tree:
    """Read a tree; anything else is refused with a TreeError."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise TreeError("a process tree has no document type declaration")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise TreeError(f"this is not PTML: {error}") from error
    inside = root.find("processTree")
    if inside is None:
        raise TreeError("this is not PTML: there is no processTree")
    kinds = {tag: operator for operator, tag in TAGS.items()}
    nodes = {element.get("id"): element for element in inside if element.tag != "parentsNode"}
    below: dict[str | None, list[str | None]] = {}
    for link in inside.iter("parentsNode"):
        below.setdefault(link.get("sourceId"), []).append(link.get("targetId"))
    open_nodes: set[str | None] = set()

    def build(name: str | None) -> Tree:
        if name not in nodes or name in open_nodes:
            raise TreeError(f"the node {name!r} is missing or contains itself")
        element = nodes[name]
        if element.tag == "manualTask":
            return Tree(label=element.get("name", ""))
        if element.tag == "automaticTask":
            return Tree()
        if element.tag not in kinds:
            raise TreeError(f"the node type {element.tag!r} has no counterpart here")
        open_nodes.add(name)
        children = [build(child) for child in below.get(name, [])]
        open_nodes.discard(name)
        operator = kinds[element.tag]
        if operator == "loop" and len(children) == 3 and children[2].silent:
            children.pop()
        return Tree(operator=operator, children=tuple(children))

    return build(inside.get("root"))
