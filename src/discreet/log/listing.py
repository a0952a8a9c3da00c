"""Which files are meant: one, all that a pattern matches, or all Parquet files of a folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from discreet.log.errors import LogError
from discreet.log.files import readable

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


def same_schema(files: Sequence[Path]) -> pl.DataFrame:
    """The columns of Parquet files, without rows; refused where the files differ in them."""
    first = _schema(files[0])
    for path in files[1:]:
        other = _schema(path)
        if other != first:
            column = (
                next(name for name in {**first, **other} if first.get(name) != other.get(name))
                if set(first.items()) != set(other.items())
                else None
            )
            what = f"in the column {column!r}" if column else "in the order of the columns"
            raise LogError(
                f"{path.name} differs from {files[0].name} {what}; read only files of one kind "
                "together"
            )
    return pl.DataFrame(schema=first)


def _schema(path: Path) -> pl.Schema:
    with readable(path), path.open("rb") as file:
        if not file.peek(1):
            raise LogError(f"{path.name} is empty")
        try:
            return pl.Schema(pl.read_parquet_schema(file))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = str(error).strip().partition("\n")[0]
            raise LogError(
                f"{path.name} is not a whole Parquet file ({reason}); copy or export it again"
            ) from None
