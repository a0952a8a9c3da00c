"""To and from PM4Py's process trees."""

from __future__ import annotations

from typing import Any

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
    """A tree from PM4Py's ProcessTree; operators it alone has are refused."""
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
