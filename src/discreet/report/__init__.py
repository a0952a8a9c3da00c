"""Every picture and page of the library, in one style, light or dark as the reader's screen is."""

from __future__ import annotations

from typing import Any, TypeGuard

from discreet.log.follows import Follows
from discreet.models.tree import Tree
from discreet.models.writers import TreeDocument


def can_draw(artefact: Any) -> TypeGuard[Follows | TreeDocument | Tree]:
    """Whether `draw` makes a picture of an artefact."""
    return isinstance(artefact, Follows | TreeDocument | Tree)


def draw(artefact: Follows | TreeDocument | Tree) -> str:
    """A directly-follows graph, a process tree or its document as SVG."""
    from discreet.report.process_maps import draw_document, draw_follows, draw_tree

    if isinstance(artefact, Follows):
        return draw_follows(artefact)
    return draw_tree(artefact) if isinstance(artefact, Tree) else draw_document(artefact)
