"""The roots of every error and of every warning that the library raises on purpose."""

from __future__ import annotations


class DiscreetError(Exception):
    """Something that the person who called can fix; the message says how.

    Errors about what was given are ValueErrors as well.
    """


class DiscreetWarning(UserWarning):
    """Something that the holder of a log should know before it is released."""
