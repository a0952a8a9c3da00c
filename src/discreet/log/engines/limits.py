"""How much memory may be used: what the user says, or half of what the machine has."""

from __future__ import annotations

import os
import re

from discreet.log.errors import LogError, option

UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
BINARY = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
LEAST = 100 * 10**6
"""Below this an engine has no room to sort anything."""

UNKNOWN_MACHINE = 4 * 10**9
"""What is used where the system does not tell how much memory there is."""


def memory_limit(given: str | int | None) -> int:
    """Bytes, from words such as 4GB or 512MiB; without any, half of the machine's memory."""
    if given is None:
        return physical() // 2
    if isinstance(given, int):
        size = given
    else:
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", given)
        unit = None if match is None else (UNITS | BINARY).get(match[2].upper())
        if match is None or unit is None:
            raise LogError(
                f"{given!r} is no amount of memory; write {option('memory', '4GB')} or 512MB"
            )
        size = int(float(match[1]) * unit)
    if size < LEAST:
        raise LogError(
            f"{in_words(size)} of memory is too little to work with; give {option('memory', '1GB')}"
        )
    return size


def physical() -> int:
    """The memory of this machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2 * UNKNOWN_MACHINE


def in_words(size: float) -> str:
    """A number of bytes as people say it."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:,.0f} bytes"
