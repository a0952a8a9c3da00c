"""Files: which are meant, reading them, whether they stay the same, replacing them all or nothing.

Every failure is a LogError that says what to do.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self, cast

from discreet.log.errors import LogError

XES_SUFFIXES = (".xes", ".xes.gz")
LOG_SUFFIXES = (*XES_SUFFIXES, ".csv", ".csv.gz", ".parquet")
"""Endings of the names of logs that can be written."""

PARQUET = ".parquet"

XML_FORBIDS = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
"""Characters that XML cannot carry, even escaped."""

CSV_FORBIDS = "\x00"
"""The character that no reader of CSV takes for text."""

GZIP_MAGIC = b"\x1f\x8b"

# Proof: a later change bears a later time
TICK = 20_000_000
"""Nanoseconds in which a system may give two changes of a file the same time."""

_TRIES = 100
"""Looks at a file that keeps changing before it is refused."""


def files_of(path: Path) -> tuple[Path, ...]:
    """The files in the order of their names, which is part of how events are ordered.

    Of a folder, those that end in .parquet at any depth; names that begin with a dot or an
    underscore are tools' own.
    """
    if path.is_dir():
        inside = sorted(
            file
            for file in path.rglob("*")
            if file.name.lower().endswith(PARQUET)
            and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
        )
        if not inside:
            raise LogError(f"{path} is a folder without Parquet files; name one file in it")
        return tuple(inside)
    if not path.exists() and glob.has_magic(str(path)):
        matching = sorted(Path(found) for found in glob.iglob(str(path), recursive=True))  # noqa: PTH207 (a pattern may begin anywhere)
        if not matching:
            raise LogError(f"no file matches {path}; check the pattern")
        return tuple(matching)
    return (path,)


def origin_of(data: object) -> tuple[Path, ...]:
    """The files or the folder that data are read from; nothing for frames and databases."""
    if not isinstance(data, str | os.PathLike) or str(data) == "-":
        return ()
    path = Path(data)
    try:
        found = (path,) if path.exists() else files_of(path)
        return tuple(one.resolve() for one in found if one.exists())
    except (OSError, LogError):  # the address of a database
        return ()


def files_read(data: object) -> tuple[Path, ...]:
    """The single files that data are read from, also those of a folder."""
    return tuple(file for one in origin_of(data) for file in _inside(one))


def _inside(path: Path) -> tuple[Path, ...]:
    return files_of(path) if path.is_dir() else (path,)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if they are gzip, whatever the name says.

    Every failure to find, open or unpack the file, also while it is being read, is a LogError.
    """
    with readable(path), path.open("rb") as file:
        magic = file.read(2)
        file.seek(0)
        if magic == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast(BinaryIO, unpacked)
        elif path.suffix.lower() == ".gz" and magic:
            raise LogError(
                f"{path.name} is not gzip, though its name ends in .gz; "
                f"if it is not compressed, rename it to {path.stem}"
            )
        else:
            yield file


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the ways in which reading a file can fail into LogErrors."""
    try:
        yield
    except FileNotFoundError:
        raise LogError(f"there is no file {path}; check the path") from None
    except IsADirectoryError:
        raise LogError(f"{path} is a folder; name one file in it") from None
    except PermissionError:
        raise LogError(f"no permission to read {path}; ask its owner for access") from None
    except EOFError:
        raise LogError(
            f"{path.name} is truncated: the gzip data ends too early; copy or download it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LogError(
            f"{path.name} is damaged gzip ({error}); copy or download it again"
        ) from None
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or error}") from None


@contextlib.contextmanager
def standard_input() -> Iterator[Path]:
    """Standard input as a temporary file whose name fits its beginning."""
    data = sys.stdin.buffer.read()
    begin = gzip.GzipFile(fileobj=io.BytesIO(data)) if data[:2] == GZIP_MAGIC else io.BytesIO(data)
    with readable(Path("standard input")):
        first = begin.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    if first.startswith(b"PAR1"):
        suffix = ".parquet"
    elif first.startswith(b"PK\x03\x04"):
        suffix = ".xlsx"
    else:
        suffix = ".xes" if first.startswith(b"<") else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"standard input{suffix}"
        path.write_bytes(data)
        yield path


class FileState(NamedTuple):
    """The system's record of a file: replacing or rewriting it changes at least one field."""

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

    states: tuple[tuple[Path, FileState | None], ...] = ()

    @classmethod
    def of(cls, files: Iterable[Path]) -> Self:
        """The files as they are now."""
        return cls(tuple((path, _settled(path)) for path in files))

    def check(self) -> None:
        """Raise LogError if one of the files is no longer what it was."""
        for path, state in self.states:
            if _state(path) != state:
                raise _changing(path)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Raise LogError, whatever came of reading, if one of the files changed meanwhile."""
        try:
            yield
        finally:
            self.check()


def _settled(path: Path) -> FileState | None:
    for _ in range(_TRIES):
        state = _state(path)
        age = TICK if state is None else time.time_ns() - max(state.written, state.changed)
        if not 0 <= age < TICK:
            return state
        time.sleep((TICK - age) / 1e9)
    raise _changing(path)


def _state(path: Path) -> FileState | None:
    """None where there is no such file, which reading will say, or no file but a pipe."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not path.is_file():
        return None
    return FileState(
        found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    )


def _changing(path: Path) -> LogError:
    return LogError(
        f"{path.name} was changed after reading began, so what was read may be of two logs; read "
        "it again when nobody writes to it any more, or read a copy"
    )


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` when the block ends well, and leaves no trace if not."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        yield file


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write that replaces `path` when the block ends well, and leaves no trace if not.

    The bytes go to a temporary file in the same folder and are synced to disk before the
    replacement, so that a crash leaves either the old file or the new one.
    """
    target = Path(path)
    if target.is_dir():
        raise LogError(f"{target} is a folder; give the name of a file to write")
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(_mode_of(target))
        temporary.replace(target)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink()
        if isinstance(error, FileNotFoundError):
            message = f"there is no folder {target.parent}; create it first"
        elif isinstance(error, PermissionError):
            message = f"no permission to write to {target}"
        elif isinstance(error, OSError):
            message = f"{target} cannot be written: {error.strerror or error}"
        else:
            raise
        raise LogError(message) from None
    _sync_folder(target.parent)


def _mode_of(target: Path) -> int:
    """The permissions that an ordinary write would leave: those of the file there, or new ones."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the replacement itself durable, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
