"""How audits of the mechanisms came out: the tables of `docs/audits.md`, which wheels bring too."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

Table = tuple[list[str], list[list[str]]]
"""Heads and lines."""


def audits_of(mechanism: str) -> list[Table]:
    """Every table about mechanisms, with the lines about this one."""
    found = []
    for heads, lines in _tables():
        about = [line[1:] for line in lines if line[0] == mechanism]
        if about:
            found.append((heads[1:], about))
    return found


@cache
def _tables() -> list[Table]:
    """The tables whose first column names a mechanism."""
    clone = Path(__file__).parents[3] / "docs" / "audits.md"
    places = (clone, Path(sys.prefix) / "share" / "discreet" / "audits.md")
    page = next((place for place in places if place.is_file()), None)
    if page is None:
        return []
    found: list[Table] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == "mechanism":
            found.append((cells, []))
            inside = True
        elif inside and set(line) - set("|-: "):
            found[-1][1].append(cells)
    return found
