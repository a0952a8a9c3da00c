import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from discreet.models.diagram import diagram_of
from discreet.models.pm4py import from_pm4py, to_pm4py
from discreet.models.replay import replay
from discreet.models.tree import (
    TAU,
    Tree,
    TreeError,
    activity,
    exclusive,
    flower,
    loop,
    optional,
    parallel,
    sequence,
)
from discreet.models.writers import (
    PTML_ACTIVITY,
    PTML_LINK,
    PTML_OPERATORS,
    PTML_SILENT,
    REFUSAL,
    TreeDocument,
)
from discreet.releases import Document, render
from tests.models.playout import play_out

from .peer import quiet
from .test_tree import trees

ODD = 'a <b> & "c"; {d} [e] \x07 `f` #g\nnew line, and a label that is much too long for its box'
TREE = sequence(
    activity(ODD),
    optional(activity("b")),
    parallel(activity("c"), loop(activity("d"), sequence(activity("e"), optional(activity("f"))))),
    flower("xy"),
    exclusive(activity("g"), activity("h")),
)


def read_ptml(text: str) -> Tree:
    """The tree of a PTML file; the third, silent child of a loop is only PTML's."""
    inside = ElementTree.fromstring(text)[0]
    nodes = {node.get("id", ""): node for node in inside if node.tag != PTML_LINK}
    links = [(link.get("sourceId"), link.get("targetId", "")) for link in inside.iter(PTML_LINK)]
    operators = {kind: operator for operator, kind in PTML_OPERATORS.items()}

    def below(name: str) -> Tree:
        node = nodes.pop(name)
        if node.tag in (PTML_ACTIVITY, PTML_SILENT):
            return TAU if node.tag == PTML_SILENT else activity(node.get("name", ""))
        children = [below(child) for parent, child in links if parent == name]
        if operators[node.tag] == "loop":
            assert children.pop() == TAU
        return Tree(operator=operators[node.tag], children=tuple(children))

    return below(inside.get("root", ""))


def test_it_is_a_document_with_five_suffixes() -> None:
    assert isinstance(TreeDocument(TREE), Document)
    assert set(TreeDocument.suffixes) == {".ptml", ".bpmn", ".mmd", ".svg", ".json"}


@pytest.mark.parametrize("suffix", [".ptml", ".bpmn", ".svg"])
@pytest.mark.parametrize("tree", [TREE, TAU, None])
def test_xml_files_are_well_formed_whatever_the_labels(suffix: str, tree: Tree | None) -> None:
    ElementTree.fromstring(render(TreeDocument(tree), suffix).encode())


@given(trees())
@settings(max_examples=40, deadline=None)
def test_json_and_ptml_round_trip(tree: Tree) -> None:
    document = TreeDocument(tree, 0.93)
    assert TreeDocument.from_json(document.render(".json")) == document
    assert read_ptml(document.render(".ptml")) == tree


@given(trees())
@settings(max_examples=40, deadline=None)
def test_pm4py_round_trip(tree: Tree) -> None:
    with quiet():
        assert from_pm4py(to_pm4py(tree)) == tree


@given(trees())
@settings(max_examples=30, deadline=None)
def test_diagrams_are_connected_and_inside_the_page(tree: Tree) -> None:
    drawn = diagram_of(tree)
    reached, pending = {drawn.nodes[0]}, [drawn.nodes[0]]
    while pending:
        node = pending.pop()
        for flow in drawn.flows:
            if flow.source is node and flow.target not in reached:
                reached.add(flow.target)
                pending.append(flow.target)
    assert reached == set(drawn.nodes)
    for x, y in [p for flow in drawn.flows for p in flow.points]:
        assert 0 <= x <= drawn.width
        assert 0 <= y <= drawn.below
    for i, one in enumerate(drawn.nodes):
        for other in drawn.nodes[i + 1 :]:
            apart_x = abs(one.x - other.x) >= (one.size[0] + other.size[0]) / 2
            apart_y = abs(one.y - other.y) >= (one.size[1] + other.size[1]) / 2
            assert apart_x or apart_y


def test_pm4py_reads_what_is_written(tmp_path: Path) -> None:
    tree = sequence(activity("a"), parallel(activity("b"), loop(activity("c"))), flower("xy"))
    for suffix in (".ptml", ".bpmn"):
        (tmp_path / f"tree{suffix}").write_text(TreeDocument(tree).render(suffix), "utf-8")
    with quiet():
        import pm4py

        read = from_pm4py(pm4py.read_ptml(str(tmp_path / "tree.ptml")))
        net = pm4py.convert_to_petri_net(pm4py.read_bpmn(str(tmp_path / "tree.bpmn")))
    # PM4Py keeps the third, silent child of a loop as one more way to repeat.
    log = play_out(tree, cases=30, seed=1)
    assert read.labels == tree.labels
    assert replay(read, log).fitness == 1
    assert {t.label for t in net[0].transitions if t.label} == set(tree.labels)


def test_a_refusal_says_so_in_every_format() -> None:
    document = TreeDocument(None)
    assert "no process tree" in document.kind
    assert document.message == REFUSAL
    assert json.loads(document.render(".json")) == {
        "format": "discreet process tree 1",
        "accepted": False,
        "message": REFUSAL,
    }
    for suffix in document.suffixes:
        assert "accepted" in render(document, suffix)
    assert TreeDocument.from_json(document.render(".json")) == document


def test_mermaid_has_one_line_per_shape_and_flow() -> None:
    text = TreeDocument(sequence(activity("a"), activity('b"]'))).render(".mmd")
    assert text.splitlines()[0] == "flowchart LR"
    assert '["a"]' in text
    assert 'b#34;#93;"]' in text


@pytest.mark.parametrize("text", ["", "<ptml/>", "{}", "[]"])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(TreeError):
        TreeDocument.from_json(text)
