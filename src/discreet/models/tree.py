"""Process trees: activities combined by sequence, choice, concurrency and loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from discreet.errors import DiscreetError

Operator = Literal["sequence", "exclusive", "parallel", "loop"]

SYMBOLS: dict[Operator, str] = {"sequence": "→", "exclusive": "×", "parallel": "+", "loop": "↺"}


class TreeError(DiscreetError, ValueError):
    """A tree that is not well formed."""


@dataclass(frozen=True)
class Tree:
    """An activity, the silent step τ (no label, no operator), or an operator over children.

    A loop has two children: the body, and what is done before the body is repeated.
    """

    label: str | None = None
    operator: Operator | None = None
    children: tuple[Tree, ...] = ()

    def __post_init__(self) -> None:
        if self.operator is None:
            if self.children:
                raise TreeError("an activity or τ has no children")
        elif self.operator not in get_args(Operator):
            raise TreeError(f"{self.operator!r} is not one of {', '.join(get_args(Operator))}")
        elif self.label is not None:
            raise TreeError("a node has either an operator or a label")
        elif self.operator == "loop" and len(self.children) != 2:
            raise TreeError(f"a loop has two children, not {len(self.children)}")
        elif not self.children:
            raise TreeError(f"a {self.operator} needs children")

    @property
    def silent(self) -> bool:
        """Whether this is τ."""
        return self.operator is None and self.label is None

    @property
    def nodes(self) -> Iterator[Tree]:
        """This node and all below, parents first."""
        yield self
        for child in self.children:
            yield from child.nodes

    @property
    def labels(self) -> tuple[str, ...]:
        """The activities, sorted, each once."""
        return tuple(sorted({node.label for node in self.nodes if node.label is not None}))

    def __str__(self) -> str:
        if self.operator is None:
            return "τ" if self.label is None else self.label
        return f"{SYMBOLS[self.operator]}( {', '.join(map(str, self.children))} )"

    def folded(self) -> Tree:
        """The same language in fewer nodes.

        Nested equal operators are merged (→, ×, +), τ is dropped where it changes nothing, and
        operators with one child vanish. The children of × and + are sorted.
        """
        if self.operator is None:
            return self
        children = [child.folded() for child in self.children]
        if self.operator == "loop":
            return _folded_loop(children[0], children[1])
        flat = [
            below
            for child in children
            for below in (child.children if child.operator == self.operator else (child,))
        ]
        if self.operator == "exclusive":
            flat = list(dict.fromkeys(flat))
            others = [child for child in flat if not child.silent]
            if len(others) < len(flat) and any(_may_be_silent(child) for child in others):
                flat = others
        else:
            flat = [child for child in flat if not child.silent]
        if self.operator != "sequence":
            flat.sort(key=lambda child: (not child.silent, str(child)))
        if not flat:
            return TAU
        return flat[0] if len(flat) == 1 else Tree(operator=self.operator, children=tuple(flat))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        if self.operator is None:
            return {"silent": True} if self.label is None else {"activity": self.label}
        return {"operator": self.operator, "children": [child.to_dict() for child in self.children]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Tree:
        """Inverse of `to_dict`."""
        if "operator" in values:
            return cls(
                operator=values["operator"],
                children=tuple(cls.from_dict(child) for child in values["children"]),
            )
        return cls(label=values.get("activity"))


TAU = Tree()


def activity(label: str) -> Tree:
    """A leaf: the activity of this name."""
    return Tree(label=label)


def sequence(*children: Tree) -> Tree:
    """The children one after another."""
    return Tree(operator="sequence", children=children)


def exclusive(*children: Tree) -> Tree:
    """Exactly one of the children."""
    return Tree(operator="exclusive", children=children)


def parallel(*children: Tree) -> Tree:
    """All children, interleaved in any way."""
    return Tree(operator="parallel", children=children)


def loop(body: Tree, redo: Tree = TAU) -> Tree:
    """The body, and any number of times redo and the body again."""
    return Tree(operator="loop", children=(body, redo))


def optional(child: Tree) -> Tree:
    """The child or nothing."""
    return exclusive(TAU, child)


def flower(labels: Iterable[str]) -> Tree:
    """The activities any number of times in any order, or nothing at all."""
    leaves = tuple(activity(label) for label in sorted(set(labels)))
    if not leaves:
        return TAU
    return loop(TAU, leaves[0] if len(leaves) == 1 else exclusive(*leaves))


def _folded_loop(body: Tree, redo: Tree) -> Tree:
    if body.silent and redo.silent:
        return TAU
    if redo.silent and body.operator == "loop" and body.children[1].silent:
        return body
    for spare, other in ((body, redo), (redo, body)):
        if other.silent and spare.operator == "exclusive" and spare.children[0].silent:
            rest = spare.children[1:]
            return loop(TAU, rest[0] if len(rest) == 1 else exclusive(*rest))
    return loop(body, redo)


def _may_be_silent(tree: Tree) -> bool:
    """Whether the tree can finish without any activity."""
    if tree.operator is None:
        return tree.silent
    if tree.operator == "exclusive":
        return any(map(_may_be_silent, tree.children))
    if tree.operator == "loop":
        return _may_be_silent(tree.children[0])
    return all(map(_may_be_silent, tree.children))
