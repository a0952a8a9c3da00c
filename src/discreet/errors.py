"""The roots of every error and of every warning that the library raises on purpose."""

from __future__ import annotations

import inspect
import warnings


class DiscreetError(Exception):
    """Something that the person who called can fix; the message says how.

    Errors about what was given are ValueErrors as well.
    """


class DiscreetWarning(UserWarning):
    """Something that the holder of a log should know before it is released.

    It may have been read from the raw log: it is never part of a release.
    """


def warn(said: str | DiscreetWarning) -> None:
    """Warn whoever called the library, at the line of the call."""
    frame, level = inspect.currentframe(), 1
    while frame and str(frame.f_globals.get("__name__")).partition(".")[0] == "discreet":
        frame, level = frame.f_back, level + 1
    kind = type(said) if isinstance(said, DiscreetWarning) else DiscreetWarning
    warnings.warn(str(said), kind, stacklevel=level)
