"""Reading CSV and its kin: every value as the text it is."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from discreet.log.columns import RawTable, below_header
from discreet.log.errors import LogError, option
from discreet.log.files import opened

_DELIMITERS = (",", ";", "\t", "|")
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SEPARATOR_LINE = re.compile(rb'\A(?:\xef\xbb\xbf)?"?sep=([^\r\n])"?(?=\r?\n)', re.IGNORECASE)


def read_delimited(
    path: Path, delimiter: str | None = None, encoding: str | None = None
) -> RawTable:
    """A CSV file, every value as text: identifiers such as 007 stay what they are.

    Fields are separated by `delimiter`, else by what Excel's first line `sep=` says, else by what
    separates the header. The encoding is the one given, UTF-16 after its mark, or UTF-8.
    """
    (found,) = delimited_pieces(path, delimiter, encoding, size=None)
    return found


def delimited_pieces(
    path: Path, delimiter: str | None = None, encoding: str | None = None, *, size: int | None
) -> Iterator[RawTable]:
    """The table in pieces of whole rows, of about `size` bytes each; in one piece if it is None.

    Every row is read the same in whatever piece it comes.
    """
    mark, header, before, rows = "", b"", 0, 0
    for data in _pieces(path, encoding, size):
        if not header:
            _check_text(data, path.name, 0)
            said = _SEPARATOR_LINE.match(data)
            if said is not None:
                data = data[said.end() :]
            mark = delimiter or (said[1].decode("ascii", "replace") if said else _delimiter(data))
            header = data[: _header_end(data)]
            table = _table(data, mark, path.name, 0)
            before = data.count(b"\n") - header.count(b"\n")
        else:
            _check_text(data, path.name, before + header.count(b"\n"))
            table = _table(header + data, mark, path.name, before)
            before += data.count(b"\n")
        if table.width == 1 and delimiter is None:
            raise LogError(
                f"{path.name} has only one column, {table.columns[0]!r}: no comma, semicolon, tab "
                f"or | separates its header; name the separator with {option('delimiter')}"
            )
        yield RawTable(path.name, table, partial(_place, rows)).without_blanks()
        rows += table.height


def _place(rows: int, row: int) -> str:
    return below_header(rows + row)


def _table(data: bytes, mark: str, name: str, before: int) -> pl.DataFrame:
    """A table with its header; `before` is how many lines of the file precede its first row."""
    separators = _separators(data, mark, name, before)
    try:
        table = pl.read_csv(data, separator=mark, infer_schema=False, truncate_ragged_lines=False)
    except (pl.exceptions.PolarsError, ValueError) as error:
        _check_rows(data, mark, name, before)
        reason = str(error).strip().partition("\n")[0]
        raise LogError(f"{name} is not a readable CSV table: {reason}") from None
    names = _header(data, mark)
    for column in names:
        if column and names.count(column) > 1:
            raise LogError(f"{name}: the header names {column!r} more than once; rename one")
    if len(names) == len(set(names)) == table.width:
        table.columns = names
    if separators != (table.width - 1) * (table.height + 1):
        _check_rows(data, mark, name, before)
    return table


def _pieces(path: Path, encoding: str | None, size: int | None) -> Iterator[bytes]:
    """The text of the file in UTF-8, in pieces that end where a row ends."""
    with opened(path) as stream:
        begin = stream.read(-1 if size is None else size)
        _check_begin(begin, path.name)
        if encoding is None and begin.startswith(_UTF16):
            encoding = "utf-16"
        decoder = _decoder(encoding or "utf-8", path.name)
        kept, lines = b"", 0
        block = begin
        while block:
            following = b"" if size is None else stream.read(size)
            try:
                text = decoder.decode(block, final=not following).encode()
            except UnicodeError as error:
                raise _not_text(block, error, encoding, path.name, lines) from None
            lines += block.count(b"\n")
            data = kept + text
            end = _last_row_end(data) if following else len(data)
            if end:
                yield data[:end]
            kept, block = data[end:], following


def _check_begin(data: bytes, name: str) -> None:
    """Refuse data that are not CSV text, with words that help."""
    if not data.strip():
        raise LogError(f"{name} is empty")
    if data.startswith(b"PAR1"):
        raise LogError(f"{name} is a Parquet file; give it the ending .parquet")


def _check_text(data: bytes, name: str, before: int) -> None:
    if data.removeprefix(_BOM).lstrip().startswith((b"<?xml", b"<log")):
        raise LogError(f"{name} is XML; if it is an event log, give it the ending .xes")
    nul = data.find(b"\0")
    if nul >= 0:
        raise LogError(
            f"{name}, line {before + _line(data, nul)}: a NUL byte; this is not CSV text"
        )


def _decoder(encoding: str, name: str) -> codecs.IncrementalDecoder:
    try:
        return codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise LogError(
            f"{name}: unknown encoding {encoding!r}, given as {option('encoding')}; usual ones are "
            "utf-8, utf-16, latin-1 and windows-1252"
        ) from None


def _not_text(
    data: bytes, error: UnicodeError, encoding: str | None, name: str, before: int
) -> LogError:
    start = min(getattr(error, "start", 0), len(data) - 1)
    return LogError(
        f"{name}, line {before + _line(data, start)}: not {(encoding or 'utf-8').upper()} "
        f"(byte 0x{data[start]:02x}); save the file as UTF-8, or name its encoding, for "
        f"example with {option('encoding', 'windows-1252')}"
    )


def _last_row_end(data: bytes) -> int:
    """The end of the last whole row: after a line end outside quotes; 0 if there is none."""
    end = data.rfind(b"\n")
    while end >= 0 and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, data.rfind(b'"', 0, end))
    return end + 1


def _header_end(data: bytes) -> int:
    """The end of the header, which is the first row that is not blank."""
    begin = len(data) - len(data.removeprefix(_BOM).lstrip(b"\r\n"))
    end = data.find(b"\n", begin)
    while end >= 0 and data.count(b'"', begin, end) % 2:
        end = data.find(b"\n", end + 1)
    return end + 1 if end >= 0 else len(data)


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


def _separators(data: bytes, mark: str, name: str, above: int) -> int:
    """The number of separators outside quotes.

    Quotes that neither enclose a field nor are doubled within one are refused: readers differ in
    what they mean, and some let them join lines of different cases.
    """
    if b'"' not in data:
        return data.count(mark.encode())
    begin = len(_BOM) if data.startswith(_BOM) else 0
    text = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    opening, closing = quotes[::2], quotes[1::2]
    before = text[np.maximum(opening - 1, 0)]
    after = text[np.minimum(closing + 1, len(text) - 1)]
    opens = (opening == begin) | np.isin(before, [ord(mark), ord("\n"), ord('"')])
    closes = (closing == len(text) - 1) | np.isin(after, [ord(c) for c in (mark, *'\r\n"')])
    stray = [*opening[~opens][:1], *closing[~closes][:1], *opening[len(closing) :]]
    if stray:
        raise LogError(
            f"{name}, line {above + _line(data, int(min(stray)))}: a quote inside a field, or one "
            "that is not closed; put the whole field in quotes and double the quotes in it: "
            '"5"" pipe"'
        )
    marks = np.flatnonzero(text == ord(mark))
    return int(np.count_nonzero(np.searchsorted(quotes, marks) % 2 == 0))


def _check_rows(data: bytes, mark: str, name: str, above: int) -> None:
    """Find the first row that has more or fewer fields than the header."""
    text = io.StringIO(data.removeprefix(_BOM).decode(), newline="")
    rows = csv.reader(text, delimiter=mark, strict=True)
    width = 0
    try:
        for row in rows:
            width = width or len(row)
            if row and len(row) != width:
                raise LogError(
                    f"{name}, line {above + rows.line_num}: {len(row)} fields where the header has "
                    f"{width}; quote fields that contain {mark!r}"
                )
    except csv.Error as error:
        if "field limit" not in str(error):
            raise LogError(
                f"{name}, line {above + rows.line_num}: {error}; check the quotes"
            ) from None
