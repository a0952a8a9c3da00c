"""Reading XES: fast where the file is plain, strict where it is not.

The fast reader makes columns of text instead of one element after another. A plain log has only
quotes that delimit keys and values. Cut at the quotes, its traces fall into four alternating
parts: markup, key, ` value=`, value. The markup parts of a whole log are a handful of distinct
texts, so checking each of them once against the grammar below proves the log well-formed. Whatever
is not proven plain raises NotPlain: the strict reader decides then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.columns import RawTable
from discreet.log.errors import LogError
from discreet.log.files import opened
from discreet.log.formats.xes.content import Content, Parser, TypedCells, read_strict
from discreet.log.reading import XesReader

# Proof: what the grammar matches is well-formed
_MARKUP = re.compile(
    r"[ \t\r\n]*/>"
    r"(?P<event_ends>[ \t\r\n]*</event>)?"
    r"(?P<trace_begins>[ \t\r\n]*</trace>[ \t\r\n]*<trace>)?"
    r"(?P<event_begins>[ \t\r\n]*<event>)?"
    r"[ \t\r\n]*<(?P<type>string|date|int|float|boolean|id)[ \t\r\n]+key="
)
_LAST = re.compile(r"[ \t\r\n]*/>(?P<event_ends>[ \t\r\n]*</event>)?[ \t\r\n]*</trace>")
_OPENING = b"/></trace>"  # makes the first trace of a block follow one, like every other
_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));|&")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

_TRACE, _EVENT = 2, 3

# Tuned
_BLOCK = 8 << 20
"""Bytes read at a time."""

_LARGEST_TRACE = 256 << 20
"""Bytes without the end of a trace after which the strict reader takes over."""

_MOST_MARKUP = 1000
"""Most distinct markup parts of a block; with more it is not plain."""


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


class NotPlain(Exception):  # noqa: N818
    """The file has something that this reader does not know; it need not be wrong."""


class _Markup(NamedTuple):
    """The effect of the markup before a key; level 0 means any, or unchanged."""

    type: str
    needs: int
    leaves: int
    trace: bool
    event: bool


def read_plain(stream: BinaryIO, name: str) -> Content:
    """Read a plain XES document; raise NotPlain if it is not proven to be one."""
    content = Content(name)
    frame = bytearray()
    for part, is_body in _parts(stream):
        if is_body:
            _add_block(content, part)
        else:
            frame += part if frame else part + b"<trace/>"
    outline = _outline(bytes(frame), name)
    content.of_log = outline.content.of_log
    return content


def _parts(stream: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """The head of the file, blocks of whole traces, and the tail; reads ahead in a thread."""
    with ThreadPoolExecutor(1) as reader:
        ahead = reader.submit(stream.read, _BLOCK)
        held, in_body = b"", False
        while block := ahead.result():
            ahead = reader.submit(stream.read, _BLOCK)
            held += block
            if not in_body:
                begin = held.find(b"<trace")
                if begin < 0:
                    _limit(held)
                    continue
                yield held[:begin], False
                held, in_body = held[begin:], True
            end = held.rfind(b"</trace>") + len(b"</trace>")
            if end < len(b"</trace>"):
                _limit(held)
                continue
            yield held[:end], True
            held = held[end:]
        if not in_body:
            raise NotPlain
        yield held, False


def _limit(held: bytes) -> None:
    if len(held) > _LARGEST_TRACE:
        raise NotPlain


def _outline(frame: bytes, name: str) -> Parser:
    """Parse the log without its traces, one empty trace in their place."""
    outline = Parser(name)
    try:
        outline.feed(frame)
        found = outline.close()
    except LogError:
        raise NotPlain from None
    if found.traces != 1 or (outline.encoding or "UTF-8").upper() != "UTF-8":
        raise NotPlain
    return outline


def _add_block(content: Content, block: bytes) -> None:
    """Add the attributes of a block of whole traces."""
    if b"\xef\xbf\xbe" in block or b"\xef\xbf\xbf" in block:  # no XML characters
        raise NotPlain
    data = _OPENING + block
    try:
        pieces = pl.Series([data], dtype=pl.Binary).cast(pl.String).str.split('"').explode()
    except pl.exceptions.PolarsError:
        raise NotPlain from None
    if len(pieces) % 4 != 1 or len(pieces) == 1:
        raise NotPlain
    last = pieces[-1]
    if not (pieces.gather_every(4, 2) == " value=").all():
        raise NotPlain
    markup, which = _coded(pieces.gather_every(4).head(-1))
    if len(markup) > _MOST_MARKUP:
        raise NotPlain
    meanings = [_meaning(text) for text in markup]
    counts = np.bincount(which, minlength=len(markup))
    _check_characters(data, [*zip(markup, counts.tolist(), strict=True), (last, 1)])
    level = _levels(meanings, which, last)

    events = np.cumsum(np.array([m.event for m in meanings])[which]) - 1
    traces = np.cumsum(np.array([m.trace for m in meanings])[which]) - 1
    opens = np.array([m.event for m in meanings])[which]
    content.trace_of_event.append(content.traces + traces[opens])

    keys, key_of = _coded(pieces.gather_every(4, 1))
    values = pieces.gather_every(4, 3)
    if b"&" in data:
        keys = [_unescaped(key) for key in keys]
        values = _all_unescaped(values)
    types = [m.type for m in meanings]
    type_names = sorted(set(types))
    type_of = np.array([type_names.index(type) for type in types])[which]
    group = (key_of * len(type_names) + type_of) * 2 + (level == _EVENT)
    for code in np.flatnonzero(np.bincount(group)).tolist():
        at = np.flatnonzero(group == code)
        of_event = bool(code % 2)
        rows = content.events + events[at] if of_event else content.traces + traces[at]
        cells = TypedCells(type_names[code // 2 % len(type_names)], rows, values.gather(at))
        content.add(of_event=of_event, key=keys[code // 2 // len(type_names)], cells=cells)
    content.events += int(events[-1]) + 1
    content.traces += int(traces[-1]) + 1


def _coded(texts: pl.Series) -> tuple[list[str], Integers]:
    """The distinct texts, and for each place the index of its text."""
    distinct = texts.unique()
    if len(distinct) > len(texts) // 2 + _MOST_MARKUP:
        raise NotPlain
    return distinct.to_list(), texts.cast(pl.Enum(distinct)).to_physical().to_numpy().astype(
        np.int64
    )


def _meaning(text: str) -> _Markup:
    match = _MARKUP.fullmatch(text)
    if match is None:
        raise NotPlain
    ends, trace, event = (
        match[part] is not None for part in ("event_ends", "trace_begins", "event_begins")
    )
    return _Markup(
        type=match["type"],
        needs=_EVENT if ends else _TRACE if trace or event else 0,
        leaves=_EVENT if event else _TRACE if ends or trace else 0,
        trace=trace,
        event=event,
    )


def _check_characters(data: bytes, markup: list[tuple[str, int]]) -> None:
    """Prove that no key or value has a tag, a line break or a control character.

    All that the block has of them must be in the markup, where the grammar allows only some.
    """
    controls = int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) < 0x20))
    in_markup = sum(count * sum(c < " " for c in text) for text, count in markup)
    if controls != in_markup or data.count(b"<") != sum(n * t.count("<") for t, n in markup):
        raise NotPlain


def _levels(meanings: list[_Markup], which: Integers, last: str) -> Integers:
    """The level of each attribute, trace or event, after checking that all elements nest."""
    needs = np.array([m.needs for m in meanings])[which]
    leaves = np.array([m.leaves for m in meanings])[which]
    known = np.maximum.accumulate(np.where(leaves > 0, np.arange(len(leaves)), 0))
    level = leaves[known]
    before = np.concatenate([[_TRACE], level[:-1]])
    end = _LAST.fullmatch(last)
    if (
        level[0] == 0
        or ((needs > 0) & (needs != before)).any()
        or end is None
        or (end["event_ends"] is not None) != (level[-1] == _EVENT)
    ):
        raise NotPlain
    return level


def _all_unescaped(values: pl.Series) -> pl.Series:
    marked = values.str.contains("&", literal=True)
    if not marked.any():
        return values
    escaped = values.filter(marked).unique()
    plain = pl.Series([_unescaped(text) for text in escaped], dtype=pl.String)
    return values.replace(escaped, plain)


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(_referred, text)


def _referred(match: re.Match[str]) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _NAMED[name]
    if not decimal and not hexadecimal:
        raise NotPlain
    code = int(decimal) if decimal else int(hexadecimal, 16)
    if code in (0x9, 0xA, 0xD) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE:
        return chr(code)
    if 0x10000 <= code < 0x110000:
        return chr(code)
    raise NotPlain
