"""Finding mechanisms by name: ours and third parties' through one entry point group."""

from __future__ import annotations

import difflib
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.parameters import ParameterError

GROUP = "discreet.mechanisms"

DEFAULT_MECHANISM = "headtail"
"""The one that is taken where none is named."""


@lru_cache(maxsize=1)
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP))}


def mechanism_names() -> list[str]:
    """The names of all installed mechanisms."""
    return list(_entries())


def mechanism_class(name: str) -> type[Mechanism]:
    """The mechanism of that name, or an error that suggests the nearest."""
    if name not in _entries():
        near = difflib.get_close_matches(name, mechanism_names(), n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(
            f"there is no mechanism {name!r}; {hint}known: {', '.join(mechanism_names())}"
        )
    loaded = _entries()[name].load()
    if not (isinstance(loaded, type) and issubclass(loaded, Mechanism)):
        raise ParameterError(f"the entry point {name!r} in {GROUP} is not a Mechanism")
    return loaded


def mechanism(name: str, **parameters: Any) -> Mechanism:
    """A mechanism by name with the given parameters; unknown ones are named in the error."""
    owner = mechanism_class(name)
    for given in parameters:
        if given not in owner.parameters():
            raise ParameterError(
                f"{name} has no parameter {given!r}; it takes {', '.join(owner.parameters())}"
            )
    return owner(**parameters)
