"""Process trees as files: PTML, BPMN, Mermaid, SVG or JSON.

PTML is the XML format of ProM that other tools read. A `processTree` lists its nodes, each an
element named after its kind, and the links from parents to children, in order, as `parentsNode`
elements. A loop has three children there: the body, what comes before its repetition, and what
comes after all of it, here always silent. BPMN 2.0 is written with the layout, so that any modeller
opens it drawn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from xml.etree import ElementTree

from discreet.models.diagram import diagram_of
from discreet.models.tree import TAU, Operator, Tree, TreeError

FORMAT = "discreet process tree 1"

REFUSAL = (
    "No process tree was accepted: with this budget and this log no tree passed the fitness that "
    "was asked for. This is a legitimate outcome and has spent the budget. A larger epsilon, more "
    "cases or a lower min_fitness would help."
)


@dataclass(frozen=True)
class TreeDocument:
    """A released tree with its noisy fitness, or ⊥: none was accepted."""

    tree: Tree | None
    fitness: float | None = None

    suffixes: ClassVar[tuple[str, ...]] = (".ptml", ".bpmn", ".mmd", ".svg", ".json")

    @property
    def kind(self) -> str:
        """What was released, in a few words."""
        return "process tree" if self.tree is not None else "refusal (no process tree accepted)"

    @property
    def message(self) -> str:
        """The tree as text, or why there is none."""
        return REFUSAL if self.tree is None else str(self.tree)

    def render(self, suffix: str) -> str:
        """The text of the file of any suffix but .svg, which `discreet.report` draws."""
        if suffix == ".json":
            return self.to_json()
        writers: dict[str, Any] = {".ptml": to_ptml, ".bpmn": to_bpmn, ".mmd": to_mermaid}
        if self.tree is None:
            return str(writers[suffix](Tree(), REFUSAL))
        return str(writers[suffix](self.tree, None))

    def to_json(self) -> str:
        """The whole document, in a form that `from_json` reads."""
        body: dict[str, Any] = {"format": FORMAT, "accepted": self.tree is not None}
        if self.tree is None:
            body["message"] = REFUSAL
        else:
            body |= {"text": str(self.tree), "noisy_fitness": self.fitness}
            body["tree"] = self.tree.to_dict()
        return json.dumps(body, ensure_ascii=False, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TreeDocument:
        """Inverse of `to_json`."""
        try:
            body = json.loads(text)
            if body["format"] != FORMAT:
                raise ValueError("unknown format")
            if not body["accepted"]:
                return cls(None)
            return cls(Tree.from_dict(body["tree"]), body["noisy_fitness"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TreeError(f"this is not a process tree of discreet: {error}") from error


PTML_OPERATORS: dict[Operator, str] = {
    "sequence": "sequence",
    "exclusive": "xor",
    "parallel": "and",
    "loop": "xorLoop",
}
PTML_ACTIVITY, PTML_SILENT, PTML_LINK = "manualTask", "automaticTask", "parentsNode"


def to_ptml(tree: Tree, message: str | None = None) -> str:
    """The tree as PTML, with the message as its name."""
    root = ElementTree.Element("ptml")
    inside = ElementTree.SubElement(root, "processTree", id="tree", name=message or "", root="n")
    links = []
    for name, node in _named(tree, "n"):
        leaf = PTML_SILENT if node.silent else PTML_ACTIVITY
        kind = PTML_OPERATORS[node.operator] if node.operator else leaf
        ElementTree.SubElement(inside, kind, id=name, name=xml_text(node.label or ""))
        links += [(name, f"{name}.{i}") for i in range(len(_children(node)))]
    for parent, child in links:
        ElementTree.SubElement(inside, PTML_LINK, id=f"to {child}", sourceId=parent, targetId=child)
    return document(root)


def _named(tree: Tree, name: str) -> Iterator[tuple[str, Tree]]:
    """The node and all below, each with a name made of the positions on the way to it."""
    yield name, tree
    for i, child in enumerate(_children(tree)):
        yield from _named(child, f"{name}.{i}")


def _children(tree: Tree) -> tuple[Tree, ...]:
    """The children of a node in PTML, where a loop has three."""
    return (*tree.children, TAU) if tree.operator == "loop" else tree.children


BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
BPMNDI = "http://www.omg.org/spec/BPMN/20100524/DI"
DC = "http://www.omg.org/spec/DD/20100524/DC"
DI = "http://www.omg.org/spec/DD/20100524/DI"


BPMN_TAGS = {
    "start": "startEvent",
    "end": "endEvent",
    "task": "task",
    "exclusive": "exclusiveGateway",
    "parallel": "parallelGateway",
}


def to_bpmn(tree: Tree, message: str | None = None) -> str:
    """The tree as a BPMN process; a message becomes the process's documentation."""
    for prefix, space in (("", BPMN), ("bpmndi", BPMNDI), ("dc", DC), ("di", DI)):
        ElementTree.register_namespace(prefix, space)
    drawn = diagram_of(tree)
    root = ElementTree.Element(
        f"{{{BPMN}}}definitions", targetNamespace="urn:discreet", id="definitions"
    )
    process = ElementTree.SubElement(root, f"{{{BPMN}}}process", id="process", isExecutable="false")
    if message:
        process.set("name", "no process tree was accepted")
        ElementTree.SubElement(process, f"{{{BPMN}}}documentation").text = message
    plane = ElementTree.SubElement(
        ElementTree.SubElement(root, f"{{{BPMNDI}}}BPMNDiagram", id="diagram"),
        f"{{{BPMNDI}}}BPMNPlane",
        id="plane",
        bpmnElement="process",
    )
    names = {node: f"{BPMN_TAGS[node.kind]}_{number}" for number, node in enumerate(drawn.nodes)}
    flows = {flow: f"flow_{number}" for number, flow in enumerate(drawn.flows)}
    for node, name in names.items():
        element = ElementTree.SubElement(process, f"{{{BPMN}}}{BPMN_TAGS[node.kind]}", id=name)
        if node.label:
            element.set("name", xml_text(node.label))
        for tag, ours in (("incoming", "target"), ("outgoing", "source")):
            for flow, key in flows.items():
                if getattr(flow, ours) is node:
                    ElementTree.SubElement(element, f"{{{BPMN}}}{tag}").text = key
        shape = ElementTree.SubElement(
            plane, f"{{{BPMNDI}}}BPMNShape", id=f"{name}_shape", bpmnElement=name
        )
        width, height = node.size
        ElementTree.SubElement(
            shape,
            f"{{{DC}}}Bounds",
            x=f"{node.x - width / 2:g}",
            y=f"{node.y - height / 2:g}",
            width=f"{width:g}",
            height=f"{height:g}",
        )
    for flow, key in flows.items():
        ElementTree.SubElement(
            process,
            f"{{{BPMN}}}sequenceFlow",
            id=key,
            sourceRef=names[flow.source],
            targetRef=names[flow.target],
        )
        line = ElementTree.SubElement(
            plane, f"{{{BPMNDI}}}BPMNEdge", id=f"{key}_edge", bpmnElement=key
        )
        for x, y in flow.points:
            ElementTree.SubElement(line, f"{{{DI}}}waypoint", x=f"{x:g}", y=f"{y:g}")
    return document(root)


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


_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """The text with a mark in place of characters that XML does not allow."""
    return _FORBIDDEN.sub("\ufffd", text)


def document(root: ElementTree.Element) -> str:
    """An indented XML document with its declaration."""
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
