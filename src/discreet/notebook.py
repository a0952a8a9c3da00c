"""Display in notebooks: small pieces of HTML, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def box(title: str, *content: str) -> str:
    """A title with pieces of HTML below it."""
    return f"<div><strong>{escape(title)}</strong>{''.join(content)}</div>"


def paragraph(text: str) -> str:
    """One paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts."""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(summary: str, *content: str) -> str:
    """Pieces of HTML that a click on their summary unfolds."""
    return f"<details><summary>{escape(summary)}</summary>{''.join(content)}</details>"


def of(thing: Any) -> str:
    """The HTML with which an object displays itself, or else its plain text."""
    shown = getattr(thing, "_repr_html_", None)
    return str(shown()) if shown else paragraph(repr(thing))
