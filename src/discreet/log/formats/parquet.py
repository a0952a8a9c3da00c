"""Parquet: logs and their attributes, each file decoded in a child process first.

Damaged pages can abort the process that reads them, so a child reads them before this one does.
Handing the decoded table over would cost more than decoding it again. The child is kept for the
next file, since it takes as long to start as to read a million events.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from threading import Lock

import polars as pl

from discreet.log.columns import RawTable, by_row
from discreet.log.errors import LogError
from discreet.log.files import readable
from discreet.log.log_attributes import Attribute, as_mapping, from_json, to_json

PARQUET_KEY = "xes:attributes"

# Tuned
MOST_PROBED_BYTES = 50_000_000
"""Bytes of files after which the child is not kept: it may hold on to their memory."""


def read_parquet(
    files: Sequence[Path], name: str, columns: Sequence[str] | None = None
) -> RawTable:
    """Parquet files of one kind, one after another; only some columns if they are named.

    A single file brings the log attributes that `write_log` puts into its metadata.
    """
    for path in files:
        _check_frame(path)
    probe(files, columns)
    if len(files) == 1:
        table, attributes = _read_file(files[0], columns)
        return RawTable(name, table, by_row, attributes)
    same_schema(files)
    tables = [_read_file(path, columns)[0] for path in files]
    heights = [table.height for table in tables]
    return RawTable(name, pl.concat(tables), by_file(files, heights))


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


def by_file(files: Sequence[Path], heights: Sequence[int]) -> Callable[[int], str]:
    """The place of a row in files that are read one after another."""
    ends = list(accumulate(heights))

    def place(row: int) -> str:
        file = min(bisect_right(ends, row), len(files) - 1)
        return f"{files[file].name}, {by_row(row - (ends[file] - heights[file]))}"

    return place


def metadata_of(path: Path) -> dict[str, str]:
    """The texts in the metadata of a Parquet file; none where it is not one."""
    try:
        return pl.read_parquet_metadata(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return {}


def parquet_metadata(attributes: tuple[Attribute, ...]) -> dict[str, str]:
    """Plain texts under their own key, for any reader; all attributes in one JSON, for ours."""
    plain = {a.key: a.value for a in attributes if isinstance(a.value, str) and not a.children}
    forms = {a.key: None if a.key in plain else to_json(a) for a in attributes}
    return {**plain, PARQUET_KEY: json.dumps(forms)} if forms else {}


def _check_frame(path: Path) -> None:
    """Refuse a file that does not begin and end as Parquet does."""
    with readable(path), path.open("rb") as file:
        begin = file.read(4)
        size = file.seek(0, os.SEEK_END)
        if not size:
            raise LogError(f"{path.name} is empty")
        file.seek(max(0, size - 4))
        if size <= 8 or begin != b"PAR1" or file.read(4) != b"PAR1":
            raise LogError(f"{path.name} is not a whole Parquet file; copy or export it again")


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


def _read_file(path: Path, columns: Sequence[str] | None) -> tuple[pl.DataFrame, dict[str, object]]:
    try:
        with readable(path), path.open("rb") as file:
            table = pl.read_parquet(file, columns=columns)  # type: ignore[arg-type]
            file.seek(0)
            metadata = pl.read_parquet_metadata(file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise LogError(f"{path.name} is not a readable Parquet file: {reason}") from None
    return table, _stored(metadata)


def _stored(metadata: dict[str, str]) -> dict[str, object]:
    """The log attributes in Parquet metadata; texts stand under their own key."""
    if PARQUET_KEY not in metadata:
        return {}
    try:
        forms = json.loads(metadata[PARQUET_KEY])
        return as_mapping(
            tuple(
                from_json({"key": key, "value": metadata[key]} if form is None else form)
                for key, form in forms.items()
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


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
    """The number of the last file the child opened, and why that cannot be read, if so."""
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
