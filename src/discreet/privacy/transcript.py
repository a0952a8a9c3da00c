"""The answers of the noisy steps of a release, for audits.

A released log may hide an answer that its maker saw. An audit must see the answers themselves: it
opens a transcript, and every step notes its noisy answer there. Without one nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Answer: TypeAlias = npt.NDArray[np.generic]
Transcript: TypeAlias = dict[str, list[Answer]]
"""The noisy answers of each step by its name, in the order in which they were drawn."""

_open: ContextVar[Transcript | None] = ContextVar("transcript", default=None)
_last: ContextVar[str | None] = ContextVar("last", default=None)


class Heard(Exception):  # noqa: N818 (not an error)
    """Raised when the answer that was waited for is drawn; the rest is not needed."""


@contextmanager
def transcript(until: str | None = None) -> Iterator[Transcript]:
    """Keep the answers that are drawn inside the block, which ends with the first of a step."""
    kept: Transcript = {}
    tokens = _open.set(kept), _last.set(until)
    try:
        yield kept
    except Heard:
        pass
    finally:
        _open.reset(tokens[0])
        _last.reset(tokens[1])


def note(name: str, answer: npt.ArrayLike) -> None:
    """Add an answer to the transcript, if one is kept; without a name it belongs to no step."""
    kept = _open.get()
    if kept is not None and name:
        kept.setdefault(name, []).append(np.array(answer))
        if name == _last.get():
            raise Heard


@contextmanager
def unheard() -> Iterator[None]:
    """Note nothing that is drawn inside the block, of which only a part will be released."""
    token = _open.set(None)
    try:
        yield
    finally:
        _open.reset(token)


def forget(names: Iterable[str]) -> None:
    """Drop the answers of these steps, which are discarded and which no promise covers."""
    kept = _open.get()
    if kept is not None:
        for name in names:
            kept.pop(name, None)
