"""Reading XES: fast where the file is plain, strict where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from discreet.log.errors import LogError
from discreet.log.files import opened
from discreet.log.raw import RawTable
from discreet.log.xes_content import Content
from discreet.log.xes_plain import NotPlain, read_plain
from discreet.log.xes_strict import read_strict

XesReader = Literal["auto", "strict"]


def read_xes(
    path: Path, *, by_trace: bool, merge: bool, unnamed: bool = False, reader: XesReader = "auto"
) -> RawTable:
    """The events of an XES file as a table of texts.

    Both readers give the same table. Each event declares the types of its own values, so a type
    of a whole column would depend on every case: values stay the texts they are. Attributes of
    attributes and lists are dropped from traces and events. Traces without events are dropped.
    Declared defaults (globals) are not filled in.
    """
    content = _read_plain(path) if reader == "auto" else None
    if content is None:
        content = _read_strict(path)
    return content.raw(by_trace=by_trace, merge=merge, unnamed=unnamed)


def _read_plain(path: Path) -> Content | None:
    try:
        with opened(path) as stream:
            content = read_plain(stream, path.name)
    except NotPlain:
        return None
    content.lines = lambda: _read_strict(path).lines()
    return content


def _read_strict(path: Path) -> Content:
    with opened(path) as stream:
        _check_begin(stream.peek(256), path)  # type: ignore[attr-defined]
        return read_strict(stream, path.name)


def _check_begin(begin: bytes, path: Path) -> None:
    """Refuse what is not XML at all with words that help more than the parser's."""
    if not begin:
        raise LogError(f"{path.name} is empty")
    start = begin.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start and not start.startswith((b"<", b"\xff\xfe", b"\xfe\xff", b"\x00<", b"<\x00")):
        shown = start[:20].decode("utf-8", "replace")
        raise LogError(
            f"{path.name} is not XML: it begins with {shown!r}; if it is a table, "
            "give it the ending .csv or .parquet"
        )
