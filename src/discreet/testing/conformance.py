"""What the suites share: how a broken rule is reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import DiscreetError


class ConformanceError(DiscreetError, AssertionError):
    """Something does not do what all of its kind must do."""


def demand(holds: object, what: str) -> None:
    """Insist on a rule."""
    if not holds:
        raise ConformanceError(what)


@contextmanager
def refusing(what: str, *kinds: type[Exception]) -> Iterator[None]:
    """Insist that something is refused with one of these errors."""
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise ConformanceError(f"{what}: raises {type(error).__name__}: {error}") from error
    raise ConformanceError(f"{what}: is accepted")
