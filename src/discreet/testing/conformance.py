"""Reporting of broken rules, shared by the suites."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import DiscreetError


class ConformanceError(DiscreetError, AssertionError):
    """A mechanism or engine breaks a rule that holds for all of its kind."""


def demand(holds: object, what: str) -> None:
    """Raise ConformanceError with `what` unless a rule holds."""
    if not holds:
        raise ConformanceError(what)


@contextmanager
def refusing(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Raise ConformanceError unless the block is refused with one of these errors."""
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise ConformanceError(f"{what}: raises {type(error).__name__}: {error}") from error
    raise ConformanceError(f"{what}: is accepted")
