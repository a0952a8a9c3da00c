"""Finding mechanisms by name: ours and third parties' through one entry point group."""

from __future__ import annotations

import difflib
import inspect
import warnings
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.parameters import ParameterError

GROUP = "discreet.mechanisms"
OURS = "discreet"

DEFAULT_MECHANISM = "headtail"
"""The one that is taken where none is named."""


class PluginWarning(UserWarning):
    """A mechanism of another package that cannot be used, and why; all others can."""


@lru_cache(maxsize=1)
def _entries() -> dict[str, EntryPoint]:
    """Every mechanism that can be used, by name.

    Ours are loaded when they are used. Others' are loaded here, each by itself: one that does not
    work is named in a warning and left out, and so is one whose name is taken.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda one: (_package(one) != OURS, one)):
        taken = found.get(entry.name)
        if taken is not None:
            if taken.value != entry.value:
                _skip(entry, f"{_provider(taken)} has a mechanism of that name; rename it")
            continue
        if _package(entry) != OURS:
            try:
                _load(entry)
            except Exception as error:
                _skip(entry, str(error) or type(error).__name__)
                continue
        found[entry.name] = entry
    return dict(sorted(found.items()))


def _skip(entry: EntryPoint, reason: str) -> None:
    text = " ".join(reason.split())
    message = f"the mechanism {entry.name!r} of {_provider(entry)} is left out: {text}"
    warnings.warn(message, PluginWarning, stacklevel=3)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else ""


def _provider(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


@cache
def _load(entry: EntryPoint) -> type[Mechanism]:
    """The class that an entry point names, if it declares what all of them must declare."""
    try:
        loaded = entry.load()
    except Exception as error:
        raise ParameterError(
            f"{entry.value} cannot be imported ({type(error).__name__}: {error})"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Mechanism)):
        raise ParameterError(f"{entry.value} is not a Mechanism")
    if inspect.isabstract(loaded):
        missing = ", ".join(sorted(loaded.__abstractmethods__))
        raise ParameterError(f"{entry.value} does not define {missing}")
    for field in ("name", "summary", "paper", "returns"):
        value = getattr(loaded, field, None)
        if not (isinstance(value, str) and value.strip()):
            raise ParameterError(
                f'{entry.value} must declare {field} as a text, as in {field}: ClassVar[str] = "…"'
            )
    if loaded.name != entry.name:
        raise ParameterError(
            f"{entry.value} calls itself {loaded.name!r}, but its entry point {entry.name!r}; "
            "give both the same name"
        )
    return loaded


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
    return _load(_entries()[name])


def mechanism(name: str, **parameters: Any) -> Mechanism:
    """A mechanism by name with the given parameters; unknown ones are named in the error."""
    owner = mechanism_class(name)
    for given in parameters:
        if given not in owner.parameters():
            raise ParameterError(
                f"{name} has no parameter {given!r}; it takes {', '.join(owner.parameters())}"
            )
    return owner(**parameters)


def provider_of(owner: type[Mechanism]) -> dict[str, str]:
    """The package that a mechanism comes from, and its version; nothing where it is this one."""
    if owner.__module__.partition(".")[0] == OURS:
        return {}
    for entry in _entries().values():
        if entry.dist and _package(entry) != OURS and _load(entry) is owner:
            return {entry.dist.name: entry.dist.version}
    return {owner.__module__: "not installed as a package"}
