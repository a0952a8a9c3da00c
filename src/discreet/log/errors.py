"""The one error that bad input raises, and how its messages name an option."""

from __future__ import annotations

from discreet.errors import DiscreetError


class LogError(DiscreetError, ValueError):
    """A log that cannot be read, written or used: says what, where, and how to fix it."""


class ExistsError(LogError, FileExistsError):
    """A file that would be replaced and must not be."""


def option(name: str, value: str | None = None) -> str:
    """An option of `read_log` as Python spells it and as the command line does."""
    flag = f"--{name.replace('_', '-')}"
    if value is None:
        return f"{name}= ({flag})"
    quoted = f"'{value}'" if " " in value else value
    return f"{name}={value!r} ({flag} {quoted})"
