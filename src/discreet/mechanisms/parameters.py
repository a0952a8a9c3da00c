"""Parameters declared once: validation, options, forms and reference pages all read this."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from discreet.errors import DiscreetError


class ParameterError(DiscreetError, ValueError):
    """A parameter outside its declared range; the message names the range."""


@dataclass(frozen=True)
class Parameter:
    """One declared parameter of a mechanism."""

    name: str
    type: type
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] = ()
    optional: bool = False
    read: Callable[[str], Any] | None = None
    """For lists: what a text stands for, such as the name of a file that holds the list."""

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def range(self) -> str:
        """The allowed values in words."""
        if self.choices:
            return ", ".join(self.choices)
        if self.type is tuple:
            return "texts"
        if self.low is None and self.high is None:
            return "any" if self.type is not bool else "yes or no"
        parts = []
        if self.low is not None:
            parts.append(f"{'>' if self.open_low else '≥'} {self.low:g}")
        if self.high is not None:
            parts.append(f"{'<' if self.open_high else '≤'} {self.high:g}")
        return " and ".join(parts)

    def check(self, value: Any) -> Any:
        """The value in its declared type, or a ParameterError that says what is allowed."""
        if value is None and self.optional:
            return None
        value = self._typed(value)
        if self.choices and value not in self.choices:
            raise ParameterError(f"{self.name} must be one of {self.range}, not {value!r}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            too_low = self.low is not None and (
                value <= self.low if self.open_low else value < self.low
            )
            too_high = self.high is not None and (
                value >= self.high if self.open_high else value > self.high
            )
            if too_low or too_high or not math.isfinite(value):
                raise ParameterError(f"{self.name} must be {self.range}, not {value:g}")
        return value

    def _typed(self, value: Any) -> Any:
        wrong = ParameterError(f"{self.name} must be a {_WORDS[self.type]}, not {value!r}")
        if self.type is bool:
            if not isinstance(value, bool):
                raise wrong
            return value
        if self.type is str:
            if not isinstance(value, str):
                raise wrong
            return value
        if self.type is tuple:
            if isinstance(value, str) and self.read is not None:
                return self.read(value)
            try:
                return _texts(value)
            except TypeError:
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
}


def parameter(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
    open_high: bool = False,
    read: Callable[[str], Any] | None = None,
) -> Any:
    """Declare a dataclass field as a parameter, with its range and one line of help.

    A list of texts is declared as `tuple[str, ...] | str`; `read` then says what a text means.
    """
    return dataclasses.field(
        default=default,
        metadata={
            "help": help,
            "low": low,
            "high": high,
            "open_low": open_low,
            "open_high": open_high,
            "read": read,
        },
    )


@cache
def declared(owner: type) -> dict[str, Parameter]:
    """The parameters of a dataclass, in order of declaration."""
    hints = typing.get_type_hints(owner)
    found = {}
    for entry in dataclasses.fields(owner):
        if "help" not in entry.metadata:
            continue
        kind: Any = hints[entry.name]
        optional, choices = False, ()
        if get_origin(kind) in (typing.Union, types.UnionType):
            allowed = [arg for arg in get_args(kind) if arg is not type(None)]
            optional = len(allowed) < len(get_args(kind))
            kind = next((arg for arg in allowed if get_origin(arg) is tuple), allowed[0])
        if get_origin(kind) is Literal:
            choices, kind = get_args(kind), str
        if get_origin(kind) is tuple:
            kind = tuple
        found[entry.name] = Parameter(
            name=entry.name,
            type=kind,
            default=entry.default,
            optional=optional,
            choices=choices,
            **entry.metadata,
        )
    return found
