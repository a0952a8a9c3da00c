"""Which files are meant: one, all that a pattern matches, or all Parquet files of a folder."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from discreet.log.errors import LogError

PARQUET = ".parquet"


def files_of(path: Path) -> tuple[Path, ...]:
    """The files in the order of their names, which is part of how events are ordered.

    In a folder those count that end in .parquet, at any depth; names that begin with a dot or an
    underscore are what tools keep for themselves.
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
