"""The root of every error that the library raises on purpose."""

from __future__ import annotations


class DiscreetError(Exception):
    """Something that the person who called can fix; the message says how.

    Errors about what was given are ValueErrors as well.
    """
