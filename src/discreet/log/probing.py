"""Decoding Parquet in a child process first: damaged pages can abort the one that reads them.

Handing the decoded table over would cost more than decoding it again. The child is kept for the
next file, since it takes as long to start as to read a million events.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from discreet.log.errors import LogError

MOST_PROBED_BYTES = 50_000_000
"""After larger files the child is not kept: it may hold on to their memory."""

_CHILD_PROGRAM = """
import json, sys, polars
for line in sys.stdin:
    columns, paths = json.loads(line)
    for place, path in enumerate(paths):
        print(place, flush=True)
        try:
            with open(path, "rb") as file:
                polars.read_parquet(file, columns=columns)
        except BaseException as error:
            print(json.dumps(str(error).partition(chr(10))[0]), flush=True)
            break
    else:
        print("null", flush=True)
"""

_child_lock = Lock()
_children: dict[int, subprocess.Popen[str]] = {}
"""The child of each process: a process that was forked has none yet."""


def probe(files: Sequence[Path], columns: Sequence[str] | None) -> None:
    """Refuse files that cannot be decoded, whatever decoding them does to a process."""
    asked = json.dumps([columns, [str(path.resolve()) for path in files]])
    small = sum(path.stat().st_size for path in files) <= MOST_PROBED_BYTES
    with _child_lock:
        answered = False
        try:
            place, reason = _child_answer(asked)
            answered = True
        except (OSError, TypeError, ValueError):
            return  # no child can be started here; read on without the safety net
        finally:
            if not (answered and small):  # an answer that was not heard must not be the next one
                stop_child()
    if reason is not None:
        name = files[place].name
        raise LogError(f"{name} is not a readable Parquet file: {reason}; export it again")


def _child_answer(asked: str) -> tuple[int, str | None]:
    """How far the child came, and what it says of the last file if that cannot be read."""
    child = _child()
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{asked}\n")
    child.stdin.flush()
    place = 0
    for line in child.stdout:
        said = json.loads(line)
        if said is None or isinstance(said, str):
            return place, said
        place = said
    aborted = child.wait() < 0
    return place, "its pages are damaged" if aborted else None


def _child() -> subprocess.Popen[str]:
    kept = _children.get(os.getpid())
    if kept is not None and kept.poll() is None:
        return kept
    stop_child()
    command = [sys.executable, "-P", "-c", _CHILD_PROGRAM]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    _children[os.getpid()] = child = subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=nothing,
        encoding="utf-8",
        start_new_session=True,  # an interrupt is for us
    )
    return child


def stop_child() -> None:
    """End the child of this process, if there is one."""
    child = _children.pop(os.getpid(), None)
    if child is not None:
        child.kill()
        with suppress(OSError), child:  # what it was not told any more
            pass


atexit.register(stop_child)
