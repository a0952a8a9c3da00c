"""Files as they were when reading began, so that what is read of them twice is one log."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from discreet.log.errors import LogError

TICK = 20_000_000
"""Nanoseconds in which a system may give two changes of a file the same time."""

_TRIES = 100


class State(NamedTuple):
    """What the system says of a file: replacing or rewriting it changes at least one of these."""

    device: int
    number: int
    size: int
    written: int
    changed: int


@dataclass(frozen=True)
class Snapshot:
    """Files, and the state in which each was found.

    A file that is replaced has another number; one that is written in place has another time of
    change, which programs cannot set. What was taken less than a tick after a change is taken
    again, so that every later change bears a later time. Hence equal states before and after
    reading mean that nothing was written in between.
    """

    states: tuple[tuple[Path, State | None], ...] = ()

    @classmethod
    def of(cls, files: Iterable[Path]) -> Self:
        """The files as they are now."""
        return cls(tuple((path, _settled(path)) for path in files))

    def check(self) -> None:
        """Raise LogError if one of the files is no longer what it was."""
        for path, state in self.states:
            if _state(path) != state:
                raise _changing(path)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is read meanwhile is of these files; else LogError, whatever came of it."""
        try:
            yield
        finally:
            self.check()


def _settled(path: Path) -> State | None:
    for _ in range(_TRIES):
        state = _state(path)
        age = TICK if state is None else time.time_ns() - max(state.written, state.changed)
        if not 0 <= age < TICK:
            return state
        time.sleep((TICK - age) / 1e9)
    raise _changing(path)


def _state(path: Path) -> State | None:
    """None where there is no such file, which reading will say, or no file but a pipe."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not path.is_file():
        return None
    return State(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _changing(path: Path) -> LogError:
    return LogError(
        f"{path.name} was changed after reading began, so what was read may be of two logs; read "
        "it again when nobody writes to it any more, or read a copy"
    )
