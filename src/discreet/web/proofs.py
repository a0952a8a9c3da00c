"""The docstring of a mechanism, which holds its proof, as a page shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

_ITEM = re.compile(r"(\d+\.|-) ")


@dataclass(frozen=True)
class Line:
    """A paragraph (depth 0) or an item of a list, with its depth and its text."""

    depth: int
    words: Markup


def proof_lines(docstring: str) -> list[Line]:
    """The paragraphs and list items of a docstring, each without the line breaks of the source."""
    found: list[list[str]] = []
    depths: list[int] = []
    for block in docstring.split("\n\n"):
        for number, line in enumerate(block.splitlines()):
            inside = len(line) - len(line.lstrip())
            if number and not _ITEM.match(line.lstrip()) and inside >= 2 * depths[-1]:
                found[-1].append(line.strip())
                continue
            found.append([line.strip()])
            depths.append(inside // 2 + 1 if _ITEM.match(line.lstrip()) else 0)
    return [
        Line(depth, _marked(" ".join(parts)))
        for depth, parts in zip(depths, found, strict=True)
        if parts[0]
    ]


def _marked(words: str) -> Markup:
    """The text as escaped HTML, with `code` and *emphasis* marked up."""
    safe = str(escape(words))
    safe = re.sub(r"``?([^`]+)``?", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", safe))
