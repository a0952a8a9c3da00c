"""A process tree as a file: PTML, BPMN, Mermaid, SVG or JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.models.bpmn import to_bpmn
from discreet.models.mermaid import to_mermaid
from discreet.models.ptml import to_ptml
from discreet.models.tree import Tree, TreeError

FORMAT = "discreet process tree 1"

REFUSAL = (
    "No process tree was accepted: with this budget and this log no tree passed the fitness that "
    "was asked for. This is a legitimate outcome and has spent the budget. A larger epsilon, more "
    "cases or a lower min_fitness would help."
)


@dataclass(frozen=True)
class TreeDocument:
    """A released tree with its noisy fitness, or ⊥: the message that none was accepted."""

    tree: Tree | None
    fitness: float | None = None

    suffixes: ClassVar[tuple[str, ...]] = (".ptml", ".bpmn", ".mmd", ".svg", ".json")

    @property
    def kind(self) -> str:
        """What it is, in a few words."""
        return "process tree" if self.tree is not None else "refusal (no process tree accepted)"

    @property
    def message(self) -> str:
        """The tree as text, or why there is none."""
        return REFUSAL if self.tree is None else str(self.tree)

    def render(self, suffix: str) -> str:
        """The text of the file, but for .svg, which `discreet.drawing` draws."""
        if suffix == ".json":
            return self.to_json()
        writers: dict[str, Any] = {".ptml": to_ptml, ".bpmn": to_bpmn, ".mmd": to_mermaid}
        if self.tree is None:
            return str(writers[suffix](Tree(), REFUSAL))
        return str(writers[suffix](self.tree, None))

    def to_json(self) -> str:
        """Everything, in a form that `from_json` reads."""
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
