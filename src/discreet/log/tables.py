"""Reading tables: CSV with text kept as it stands, Parquet, and frames in memory."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl

from discreet.log.attributes import as_mapping, from_json
from discreet.log.errors import LogError, option
from discreet.log.files import opened, readable
from discreet.log.source import Source

PARQUET_KEY = "xes:attributes"
_REFUSED = 3
_PROBE = f"""
import io, sys, polars
try:
    polars.read_parquet(io.BytesIO(sys.stdin.buffer.read()))
except BaseException as error:
    print(str(error).partition(chr(10))[0])
    sys.exit({_REFUSED})
"""
_DELIMITERS = (",", ";", "\t", "|")
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_csv(path: Path, delimiter: str | None = None) -> Source:
    """A CSV file, every value as text: identifiers such as 007 stay what they are."""
    with opened(path) as stream:
        data = stream.read()
    _check_bytes(data, path.name)
    mark = delimiter or _delimiter(data)
    _check_quotes(data, mark, path.name)
    try:
        table = pl.read_csv(data, separator=mark, infer_schema=False, truncate_ragged_lines=False)
    except (pl.exceptions.PolarsError, ValueError) as error:
        _check_rows(data, mark, path.name)
        reason = str(error).strip().partition("\n")[0]
        raise LogError(f"{path.name} is not a readable CSV table: {reason}") from None
    if table.width == 1 and delimiter is None:
        raise LogError(
            f"{path.name} has only one column, {table.columns[0]!r}: no comma, semicolon, tab or "
            f"| separates its header; name the separator with {option('delimiter')}"
        )
    names = _header(data, mark)
    if len(names) == len(set(names)) == table.width:
        table.columns = names
    full = data.count(mark.encode()) == (table.width - 1) * (table.height + 1)
    if not full:
        _check_rows(data, mark, path.name)
    rows = np.arange(table.height)
    blank = table.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if blank.any():
        table, rows = table.filter(~blank), rows[~blank.to_numpy()]
    return Source(path.name, table, lambda row: f"row {rows[row] + 2} (the header is row 1)")


def read_parquet(path: Path) -> Source:
    """A Parquet file, with the log attributes that `write_log` puts into its metadata."""
    with readable(path):
        data = path.read_bytes()
    if not data:
        raise LogError(f"{path.name} is empty")
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1") and len(data) > 8):
        raise LogError(f"{path.name} is not a whole Parquet file; copy or export it again")
    _probe(data, path.name)
    try:
        table = pl.read_parquet(io.BytesIO(data))
        metadata = pl.read_parquet_metadata(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise LogError(f"{path.name} is not a readable Parquet file: {reason}") from None
    return Source(path.name, table, _by_row, _stored(metadata))


def read_frame(frame: Any) -> Source:
    """A Polars or pandas frame."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        return Source("the table", frame, _by_row)
    try:
        frame = frame.rename(columns=str)
        texts = [name for name, kind in frame.dtypes.items() if kind.kind == "O"]
        table = pl.from_pandas(frame.drop(columns=texts))
        table = table.with_columns(_as_texts(frame[name]) for name in texts).select(*frame.columns)
    except LogError:
        raise
    except ImportError:
        raise LogError(
            "reading a pandas frame needs pyarrow; install it, or pass a Polars frame"
        ) from None
    except Exception as error:
        raise LogError(f"the pandas frame cannot be converted: {error}") from None
    return Source("the table", table, _by_row)


def _as_texts(values: Any) -> pl.Series:
    """A pandas column of objects as text, each by itself: a common type would depend on all."""
    texts: list[str | None] = []
    for row, (value, missing) in enumerate(zip(values, values.isna(), strict=True)):
        if not missing and not isinstance(value, str | int | float | Decimal | date | UUID):
            raise LogError(
                f"{_by_row(row)}: the column {values.name!r} holds a {type(value).__name__}, "
                "which is no plain value; convert or drop the column"
            )
        texts.append(None if missing else str(value))
    return pl.Series(values.name, texts, dtype=pl.String)


def _probe(data: bytes, name: str) -> None:
    """Decode the file in a child process first: damaged pages can abort the one that reads them."""
    command = [sys.executable, "-P", "-c", _PROBE]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False)
    except (OSError, TypeError, ValueError):
        return  # no child can be started here; read on without the safety net
    if done.returncode < 0 or done.returncode == _REFUSED:
        reason = done.stdout.decode("utf-8", "replace").strip() or "its pages are damaged"
        raise LogError(f"{name} is not a readable Parquet file: {reason}; export it again")


def _by_row(row: int) -> str:
    return f"row {row + 1}"


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


def _check_bytes(data: bytes, name: str) -> None:
    """Refuse what is no UTF-8 text, and say what it looks like."""
    if not data.strip():
        raise LogError(f"{name} is empty")
    if data.startswith(_UTF16):
        raise LogError(f"{name} is UTF-16; save it as UTF-8 (in Excel: CSV UTF-8)")
    if data.startswith(b"PAR1"):
        raise LogError(f"{name} is a Parquet file; give it the ending .parquet")
    if data.removeprefix(_BOM).lstrip().startswith((b"<?xml", b"<log")):
        raise LogError(f"{name} is XML; if it is an event log, give it the ending .xes")
    nul = data.find(b"\0")
    if nul >= 0:
        raise LogError(f"{name}, line {_line(data, nul)}: a NUL byte; this is no CSV text")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise LogError(
            f"{name}, line {_line(data, error.start)}: not UTF-8 "
            f"(byte 0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _delimiter(data: bytes) -> str:
    header = data.removeprefix(_BOM).lstrip(b"\r\n").partition(b"\n")[0].decode()
    bare = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=bare.count)


def _header(data: bytes, mark: str) -> list[str]:
    """The names of the columns, with doubled quotes made single, which Polars leaves double."""
    lines = io.TextIOWrapper(io.BytesIO(data), "utf-8-sig", newline="")
    try:
        return next((row for row in csv.reader(lines, delimiter=mark) if row), [])
    except csv.Error:
        return []


def _check_quotes(data: bytes, mark: str, name: str) -> None:
    """Refuse quotes that neither enclose a field nor are doubled within one.

    Readers differ in what such a quote means, and some let it join lines of different cases.
    """
    if b'"' not in data:
        return
    edge = re.escape(mark.encode())
    field = rb'(?:(?<![^%b\n])|(?<=^\xef\xbb\xbf))"(?:[^"]++|"")*+"(?=%b|\r?\n|\r?\Z)' % (
        edge,
        edge,
    )
    rest = re.sub(field, lambda found: b"\n" * found[0].count(b"\n"), data)
    stray = rest.find(b'"')
    if stray >= 0:
        raise LogError(
            f"{name}, line {_line(rest, stray)}: a quote inside a field, or one that is not "
            'closed; put the whole field in quotes and double the quotes in it, as in "5"" pipe"'
        )


def _check_rows(data: bytes, mark: str, name: str) -> None:
    """Find the first row that has more or fewer fields than the header."""
    text = io.StringIO(data.removeprefix(_BOM).decode(), newline="")
    rows = csv.reader(text, delimiter=mark, strict=True)
    width = 0
    try:
        for row in rows:
            width = width or len(row)
            if row and len(row) != width:
                raise LogError(
                    f"{name}, line {rows.line_num}: {len(row)} fields where the header has "
                    f"{width}; quote fields that contain {mark!r}"
                )
    except csv.Error as error:
        if "field limit" not in str(error):
            raise LogError(f"{name}, line {rows.line_num}: {error}; check the quotes") from None
