"""Names and texts as SQL writes them."""

from __future__ import annotations

from typing import Any


def quoted(name: str, mark: str = '"') -> str:
    """A name as SQL writes it, whatever it contains."""
    return mark + name.replace(mark, 2 * mark) + mark


def literal(value: Any) -> str:
    """A text as SQL writes it."""
    return "'" + str(value).replace("'", "''") + "'"
