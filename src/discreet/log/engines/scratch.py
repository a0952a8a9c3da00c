"""A folder for what does not fit into memory: its owner's alone, and gone afterwards."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import BinaryIO

from discreet.log.errors import LogError

PREFIX = "discreet-engine-"
_LOCK = ".lock"


class Scratch:
    """A folder that lives as long as this object. What a killed process left goes first.

    Its owner holds a lock, which the system releases when the process ends, however it ends; so a
    folder whose lock is free belongs to nobody.
    """

    def __init__(self) -> None:
        parent = Path(tempfile.gettempdir())
        sweep(parent)
        try:
            while True:
                self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))  # this user's alone
                lock = (self.path / _LOCK).open("wb")
                if _hold(lock) is not False and (self.path / _LOCK).exists():
                    break
                lock.close()  # another process swept the folder away before the lock was there
        except OSError as error:
            raise LogError(
                f"no temporary folder can be made in {parent}: {error.strerror}; name another "
                "place in the environment variable TMPDIR"
            ) from None
        self.close = weakref.finalize(self, _remove, self.path, lock)


def sweep(parent: Path) -> None:
    """Remove the folders of processes that are gone."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("rb+") as lock:
            if _hold(lock):
                shutil.rmtree(folder, ignore_errors=True)


def _hold(file: BinaryIO) -> bool | None:
    """Whether the lock on the file could be had; None where the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(folder: Path, lock: BinaryIO) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()
