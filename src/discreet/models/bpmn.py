"""Writing BPMN 2.0, with the layout, so that any modeller opens it drawn."""

from __future__ import annotations

from xml.etree import ElementTree

from discreet.models.diagram import diagram_of
from discreet.models.tree import Tree
from discreet.models.xml import document, xml_text

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
SHAPES = "http://www.omg.org/spec/BPMN/20100524/DI"
BOUNDS = "http://www.omg.org/spec/DD/20100524/DC"
LINES = "http://www.omg.org/spec/DD/20100524/DI"

TAGS = {
    "start": "startEvent",
    "end": "endEvent",
    "task": "task",
    "exclusive": "exclusiveGateway",
    "parallel": "parallelGateway",
}


def to_bpmn(tree: Tree, message: str | None = None) -> str:
    """The tree as a BPMN process; a message becomes the process's documentation."""
    for prefix, space in (("", MODEL), ("bpmndi", SHAPES), ("dc", BOUNDS), ("di", LINES)):
        ElementTree.register_namespace(prefix, space)
    drawn = diagram_of(tree)
    root = ElementTree.Element(
        f"{{{MODEL}}}definitions", targetNamespace="urn:discreet", id="definitions"
    )
    process = ElementTree.SubElement(
        root, f"{{{MODEL}}}process", id="process", isExecutable="false"
    )
    if message:
        process.set("name", "no process tree was accepted")
        ElementTree.SubElement(process, f"{{{MODEL}}}documentation").text = message
    plane = ElementTree.SubElement(
        ElementTree.SubElement(root, f"{{{SHAPES}}}BPMNDiagram", id="diagram"),
        f"{{{SHAPES}}}BPMNPlane",
        id="plane",
        bpmnElement="process",
    )
    names = {node: f"{TAGS[node.kind]}_{number}" for number, node in enumerate(drawn.nodes)}
    flows = {flow: f"flow_{number}" for number, flow in enumerate(drawn.flows)}
    for node, name in names.items():
        element = ElementTree.SubElement(process, f"{{{MODEL}}}{TAGS[node.kind]}", id=name)
        if node.label:
            element.set("name", xml_text(node.label))
        for tag, ours in (("incoming", "target"), ("outgoing", "source")):
            for flow, key in flows.items():
                if getattr(flow, ours) is node:
                    ElementTree.SubElement(element, f"{{{MODEL}}}{tag}").text = key
        shape = ElementTree.SubElement(
            plane, f"{{{SHAPES}}}BPMNShape", id=f"{name}_shape", bpmnElement=name
        )
        width, height = node.size
        ElementTree.SubElement(
            shape,
            f"{{{BOUNDS}}}Bounds",
            x=f"{node.x - width / 2:g}",
            y=f"{node.y - height / 2:g}",
            width=f"{width:g}",
            height=f"{height:g}",
        )
    for flow, key in flows.items():
        ElementTree.SubElement(
            process,
            f"{{{MODEL}}}sequenceFlow",
            id=key,
            sourceRef=names[flow.source],
            targetRef=names[flow.target],
        )
        line = ElementTree.SubElement(
            plane, f"{{{SHAPES}}}BPMNEdge", id=f"{key}_edge", bpmnElement=key
        )
        for x, y in flow.points:
            ElementTree.SubElement(line, f"{{{LINES}}}waypoint", x=f"{x:g}", y=f"{y:g}")
    return document(root)
