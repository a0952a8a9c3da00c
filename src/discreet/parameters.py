"""Parameters declared once: validation, options, forms and reference pages all read this."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from discreet.errors import DiscreetError


class ParameterError(DiscreetError, ValueError):
    """A parameter outside its declared range; the message names the range."""


@dataclass(frozen=True)
class Interval:
    """The numbers between two ends, which belong to it unless they are open."""

    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = self.low is None or (value > self.low if self.open_low else value >= self.low)
        below = self.high is None or (value < self.high if self.open_high else value <= self.high)
        return above and below and math.isfinite(value)

    def __str__(self) -> str:
        low = "" if self.low is None else f"{'>' if self.open_low else '≥'} {self.low:g}"
        high = "" if self.high is None else f"{'<' if self.open_high else '≤'} {self.high:g}"
        return " and ".join(filter(None, (low, high))) or "any"


@dataclass(frozen=True)
class OneOf:
    """A few texts, one of which is chosen."""

    choices: tuple[str, ...]

    def __contains__(self, value: str) -> bool:
        return value in self.choices

    def __str__(self) -> str:
        return "one of " + ", ".join(self.choices)


Constraint = Interval | OneOf


def between(low: float, high: float) -> Interval:
    """From one number to another, both included."""
    return Interval(low, high)


def at_least(low: float) -> Interval:
    """A number and all above it."""
    return Interval(low)


positive = Interval(0, open_low=True)
unit_interval = between(0, 1)
fraction = Interval(0, 1, open_low=True, open_high=True)
below_one = Interval(0, 1, open_high=True)
"""For a delta that may be 0."""


@dataclass(frozen=True)
class Parameter:
    """One declared parameter of a mechanism."""

    name: str
    type: type
    default: Any
    help: str
    constraint: Constraint | None = None
    optional: bool = False
    read: Callable[[str], Any] | None = None
    """For lists: what a text stands for, such as the name of a file that holds the list."""
    canonical: Callable[[Any], Any] | None = None
    """For lists: the one form of all that say the same."""
    faces: frozenset[str] = frozenset()
    """Where it is offered, if not everywhere."""

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts it may be, if they are few."""
        return self.constraint.choices if isinstance(self.constraint, OneOf) else ()

    @property
    def range(self) -> str:
        """The allowed values in words."""
        if self.constraint is not None:
            return str(self.constraint).removeprefix("one of ")
        if self.type in (tuple, dict):
            return "texts"
        return "any" if self.type is not bool else "yes or no"

    def check(self, value: Any) -> Any:
        """The value in its declared type, or a ParameterError that says what is allowed."""
        if value is None and self.optional:
            return None
        value = self._typed(value)
        if self.type in (str, tuple):
            self._check_text(value)
        if self.canonical is not None:
            value = self.canonical(value)
        if self.constraint is not None and value not in self.constraint:
            shown = repr(value) if isinstance(value, str) else f"{value:g}"
            raise ParameterError(f"{self.name} must be {self.constraint}, not {shown}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(f"{self.name} must be finite, not {value:g}")
        return value

    def _check_text(self, value: Any) -> None:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ParameterError(
                f"{self.name} has a character that is no text (half of a surrogate pair, "
                f"{error.object[error.start]!r}); write it in UTF-8"
            ) from None

    def _typed(self, value: Any) -> Any:
        wrong = ParameterError(f"{self.name} must be a {_WORDS[self.type]}, not {value!r}")
        if self.type in (bool, str):
            if not isinstance(value, self.type):
                raise wrong
            return value
        if self.type in (tuple, dict):
            if isinstance(value, str) and self.read is not None:
                return self.read(value)
            try:
                return _texts(value) if self.type is tuple else dict(value)
            except (TypeError, ValueError):
                raise wrong from None
        if isinstance(value, bool | str):
            raise wrong
        try:
            fresh = self.type(value)
        except (TypeError, ValueError, OverflowError):
            raise wrong from None
        if fresh != value:
            raise wrong
        return fresh


def _texts(value: Any) -> tuple[Any, ...]:
    """Lists of texts, or of lists of texts, as tuples: how JSON gives them back."""
    if not isinstance(value, list | tuple):
        raise TypeError
    return tuple(entry if isinstance(entry, str) else _texts(entry) for entry in value)


_WORDS = {
    int: "whole number",
    float: "number",
    str: "text",
    bool: "yes or no",
    tuple: "list of texts",
    dict: "table of texts",
}


def parameter(
    default: Any,
    help: str,
    constraint: Constraint | None = None,
    *,
    read: Callable[[str], Any] | None = None,
    canonical: Callable[[Any], Any] | None = None,
    faces: Iterable[str] = (),
) -> Any:
    """Declare a dataclass field as a parameter, with what it may be and one line of help.

    A list of texts is declared as `tuple[str, ...] | str`; `read` then says what a text means.
    """
    metadata = {
        "help": help,
        "constraint": constraint,
        "read": read,
        "canonical": canonical,
        "faces": frozenset(faces),
    }
    return dataclasses.field(default=default, metadata=metadata)


_PLAIN = {tuple: tuple, Sequence: tuple, dict: dict, Mapping: dict}
"""The types of fields that hold several texts."""


@cache
def declared(owner: type) -> dict[str, Parameter]:
    """The parameters of a dataclass, in order of declaration."""
    hints = typing.get_type_hints(owner)
    found = {}
    for entry in dataclasses.fields(owner):
        if "help" not in entry.metadata:
            continue
        kind: Any = hints[entry.name]
        optional, told = False, dict(entry.metadata)
        if get_origin(kind) in (typing.Union, types.UnionType):
            allowed = [arg for arg in get_args(kind) if arg is not type(None)]
            optional = len(allowed) < len(get_args(kind))
            kind = next((arg for arg in allowed if get_origin(arg) in _PLAIN), allowed[0])
        if get_origin(kind) is Literal:
            told["constraint"], kind = OneOf(get_args(kind)), str
        kind = _PLAIN.get(get_origin(kind), kind)
        found[entry.name] = Parameter(
            name=entry.name, type=kind, default=entry.default, optional=optional, **told
        )
    return found
