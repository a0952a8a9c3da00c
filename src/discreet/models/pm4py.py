"""Conversion to and from PM4Py's process trees, and from its nets."""

from __future__ import annotations

from typing import Any

from discreet.models.petri import Net, Transition
from discreet.models.tree import Operator, Tree, TreeError

_NAMES: dict[str, Operator] = {
    "SEQUENCE": "sequence",
    "XOR": "exclusive",
    "PARALLEL": "parallel",
    "LOOP": "loop",
}


def to_pm4py(tree: Tree) -> Any:
    """The tree as PM4Py's ProcessTree."""
    from pm4py.objects.process_tree.obj import Operator as Theirs
    from pm4py.objects.process_tree.obj import ProcessTree

    names = {ours: theirs for theirs, ours in _NAMES.items()}

    def convert(node: Tree, parent: Any) -> Any:
        operator = Theirs[names[node.operator]] if node.operator else None
        made = ProcessTree(operator=operator, parent=parent, label=node.label)
        made.children.extend(convert(child, made) for child in node.children)
        return made

    return convert(tree, None)


def from_pm4py(tree: Any) -> Tree:
    """A tree from PM4Py's ProcessTree; operators that only PM4Py has are refused."""
    if tree.operator is None:
        return Tree(label=tree.label)
    children = tuple(from_pm4py(child) for child in tree.children)
    if tree.operator.name not in _NAMES:
        raise TreeError(f"the operator {tree.operator.name} has no counterpart here")
    operator = _NAMES[tree.operator.name]
    if operator == "loop":
        body, *redo = children
        if not redo:
            redo = [Tree()]
        children = (body, redo[0] if len(redo) == 1 else Tree(None, "exclusive", tuple(redo)))
    return Tree(operator=operator, children=children)


def net_from_pm4py(net: Any, initial: Any, final: Any) -> tuple[Net, tuple[Any, ...]]:
    """A workflow net from PM4Py's, and its places in the order of our numbers."""
    if any(arc.weight != 1 for arc in net.arcs):
        raise ValueError("only nets whose arcs have weight one can be replayed")
    if [*initial.values(), *final.values()] != [1, 1]:
        raise ValueError("only nets with one token at the start and one at the end can be replayed")
    ends = (*initial, *final)
    inner = sorted((p for p in net.places if p not in ends), key=lambda place: str(place.name))
    places = (*ends, *inner)
    number = {place: i for i, place in enumerate(places)}
    ordered = sorted(net.transitions, key=lambda t: (str(t.label), str(t.name)))
    transitions = (
        Transition(
            t.label,
            frozenset(number[arc.source] for arc in t.in_arcs),
            frozenset(number[arc.target] for arc in t.out_arcs),
        )
        for t in ordered
    )
    return Net(tuple(transitions)), places
