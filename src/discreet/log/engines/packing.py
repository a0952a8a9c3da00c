"""Several numbers of an event in one, so that sorting these sorts the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Field(NamedTuple):
    """A number as SQL computes it, and the largest that occurs; none is below zero."""

    expression: str
    largest: int


def packed(fields: Sequence[Field], room: Mapping[str, int]) -> str | None:
    """One number with the given ones side by side, the first in front; None if they do not fit.

    `room` says which types of numbers there are and how many bits they have besides the sign.
    Each field has as many bits as its largest number needs, so none reaches into another: numbers
    of this kind are in the same order as their fields one after another, and equal only if all
    fields are. The last field is the number modulo two to the power of its bits.
    """
    bits = [field.largest.bit_length() for field in fields]
    kind = next((kind for kind, size in room.items() if sum(bits) <= size), None)
    if kind is None or not fields:
        return None
    number = f"CAST({fields[0].expression} AS {kind})"
    for field, size in zip(fields[1:], bits[1:], strict=True):
        number = f"(({number} << {size}) | {field.expression})"
    return number
