"""Finding mechanisms by name: ours and third parties' through one entry point group.

A third party's mechanism is loaded and checked before it is offered. One that fails, or takes the
name of another, is left out and named with the reason; it never stands in the way of the others.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from discreet.mechanisms.base import GROUP, Mechanism
from discreet.parameters import ParameterError

DECLARED = ("name", "summary", "returns")

RETIRED = {
    "auto": "auto is gone. It was headtail in most cases: leave the mechanism out or name "
    "headtail. Name travas if only variants that occur in the log are wanted (auto: want "
    "real-variants), and laplace if delta is 0 and each case has an epsilon below 0.3"
}
"""What to name in place of mechanisms that earlier versions had."""


class _Found(NamedTuple):
    """The installed mechanisms that can be used, and why others cannot."""

    entries: dict[str, EntryPoint]
    problems: dict[str, str]


@lru_cache(maxsize=1)
def _found() -> _Found:
    found = _Found({}, {})
    installed = sorted(entry_points(group=GROUP), key=lambda entry: (not _ours(entry), entry.name))
    for entry in installed:
        if entry.name in found.entries:
            reason = f"{_package(found.entries[entry.name])} has a mechanism of that name"
            found.problems[entry.name] = f"{_package(entry)} is ignored because {reason}"
            continue
        try:
            if not _ours(entry):
                _loaded(entry)
        except ParameterError as error:
            found.problems[entry.name] = str(error)
        else:
            found.entries[entry.name] = entry
    return _Found(dict(sorted(found.entries.items())), found.problems)


def _ours(entry: EntryPoint) -> bool:
    return entry.value.startswith("discreet.")


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def _loaded(entry: EntryPoint) -> type[Mechanism]:
    """The class that an entry point names, if it is what a mechanism must be."""
    try:
        owner = entry.load()
    except (Exception, SystemExit) as error:
        raise ParameterError(
            f"{_package(entry)} cannot be loaded ({type(error).__name__}: {error})"
        ) from error
    problem = _problem(owner, entry.name)
    if problem:
        raise ParameterError(f"{_package(entry)}: {entry.value} {problem}")
    return owner  # type: ignore[no-any-return]


def _problem(owner: Any, name: str) -> str | None:
    """What keeps a class from being the mechanism of that name."""
    if not (isinstance(owner, type) and issubclass(owner, Mechanism)):
        return "is not a subclass of discreet.Mechanism"
    for declared in DECLARED:
        said = getattr(owner, declared, None)
        if not (isinstance(said, str) and said.strip()):
            return f"does not declare {declared}: write {declared}: ClassVar[str] = '...'"
    if owner.name != name:
        return f"calls itself {owner.name!r}, but its entry point {name!r}: both must be the same"
    if "__dataclass_fields__" not in vars(owner) or not owner.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return "is not a frozen dataclass: write @dataclass(frozen=True, kw_only=True) above it"
    if inspect.isabstract(owner):
        missing = ", ".join(sorted(owner.__abstractmethods__))
        return f"lacks {missing}"
    return None


def mechanism_names() -> list[str]:
    """The names of all installed mechanisms that can be used."""
    return list(_found().entries)


def mechanism_problems() -> dict[str, str]:
    """Installed mechanisms that cannot be used, by name, with the package and the reason."""
    return dict(_found().problems)


def mechanism_class(name: str) -> type[Mechanism]:
    """The mechanism of that name, or an error that suggests the nearest."""
    entries, problems = _found()
    if name not in entries and name in problems:
        raise ParameterError(f"the mechanism {name!r} cannot be used: {problems[name]}")
    if name not in entries:
        if name in RETIRED:
            raise ParameterError(RETIRED[name])
        near = difflib.get_close_matches(name, mechanism_names(), n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(
            f"there is no mechanism {name!r}; {hint}known: {', '.join(mechanism_names())}"
        )
    return _loaded(entries[name])


def mechanism_taking(name: str, given: Mapping[str, Any]) -> Mechanism:
    """A mechanism by name with those of the given parameters that it has."""
    known = mechanism_class(name).parameters()
    return mechanism(name, **{key: value for key, value in given.items() if key in known})


def mechanism(name: str, **parameters: Any) -> Mechanism:
    """A mechanism by name with the given parameters; unknown ones are named in the error."""
    owner = mechanism_class(name)
    for given in parameters:
        if given not in owner.parameters():
            raise ParameterError(
                f"{name} has no parameter {given!r}; it takes {', '.join(owner.parameters())}"
            )
    return owner(**parameters)
