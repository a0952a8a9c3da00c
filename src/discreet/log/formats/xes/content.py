"""The content of an XES document, and the strict parser that collects it with expat.

Values stay the text they are on their way to a table. The parser reads element by element and
names the line and column of whatever is wrong.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.columns import RawTable
from discreet.log.errors import LogError, option
from discreet.log.log_attributes import Attribute, Value, as_mapping
from discreet.log.timestamps import to_instants

TYPES = frozenset({"string", "date", "int", "float", "boolean", "id"})

# Tuned
MAX_COLUMNS = 5000
"""Most attributes of a file: each is a column, and logs have tens of them."""


MAX_DEPTH = 100
"""Deepest nesting of elements; attributes of logs need a few levels."""

_BLOCK = 1 << 20
"""Bytes handed to expat at a time."""

_FLUSH = 1 << 18
"""Values that are collected before they become columns."""


class TypedCells(NamedTuple):
    """Values of one key that were declared with one type, and the rows they stand in."""

    type: str
    rows: Ints
    texts: pl.Series


class Lines(NamedTuple):
    """The line on which each event and each trace begins."""

    of_events: Sequence[int]
    of_traces: Sequence[int]


Columns = dict[str, list[TypedCells]]


@dataclass
class Content:
    """Everything that a reader found: attributes by level and key, and which trace holds what."""

    file: str
    events: int = 0
    traces: int = 0
    trace_of_event: list[Ints] = field(default_factory=list)
    of_events: Columns = field(default_factory=lambda: defaultdict(list))
    of_traces: Columns = field(default_factory=lambda: defaultdict(list))
    of_log: list[Attribute] = field(default_factory=list)
    lines: Callable[[], Lines] = lambda: Lines((), ())

    def add(self, *, of_event: bool, key: str, cells: TypedCells) -> None:
        """Add values of one attribute of events or of traces."""
        columns = self.of_events if of_event else self.of_traces
        columns[key].append(cells)
        if len(columns) > MAX_COLUMNS:
            raise LogError(f"{self.file} has more than {MAX_COLUMNS} different attributes")

    def raw(self, *, by_trace: bool, merge: bool, unnamed: bool = False) -> RawTable:
        """The events as a table. With `by_trace`, a trace is a case and has its own name.

        A trace without one is an error unless `unnamed`.
        """
        attributes = as_mapping(tuple(self.of_log))
        if self.events == 0:
            return RawTable(self.file, pl.DataFrame(), self._place, attributes, public_names=False)
        trace = np.concatenate(self.trace_of_event)
        if by_trace:
            self._check_names(np.unique(trace), merge=merge, unnamed=unnamed)
        columns: dict[str, pl.Series] = {}
        for key, found in self.of_traces.items():
            columns[f"case:{key}"] = _column(found, self.traces).gather(trace)
        for key, found in self.of_events.items():
            fresh = _column(found, self.events)
            if key in columns:  # the trace's value counts: some exports repeat it on every event
                fresh = columns[key].zip_with(columns[key].is_not_null(), fresh)
            columns[key] = fresh
        table = pl.DataFrame({key: columns[key] for key in sorted(columns)}).rechunk()
        return RawTable(self.file, table, self._place, attributes, public_names=False)

    def _check_names(self, used: Ints, *, merge: bool, unnamed: bool) -> None:
        found = self.of_traces.get("concept:name")
        if found is None:
            raise self._unnamed(int(used[0]))
        ids = _column(found, self.traces).gather(used)
        if ids.null_count():
            if not unnamed:
                raise self._unnamed(int(used[int(ids.is_null().arg_max() or 0)]))
            used, ids = used[ids.is_not_null().to_numpy()], ids.drop_nulls()
        if merge or ids.n_unique() == len(ids):
            return
        again = int(ids.is_first_distinct().arg_min() or 0)
        before = int((ids == ids[again]).arg_max() or 0)
        lines = self.lines().of_traces
        raise LogError(
            f"{self.file}: traces {used[before] + 1} and {used[again] + 1} (lines "
            f"{lines[used[before]]} and {lines[used[again]]}) have the same concept:name "
            f"{ids[again]!r}; rename one, or read them as one case with "
            f"{option('duplicates', 'merge')}"
        )

    def _unnamed(self, trace: int) -> LogError:
        return LogError(
            f"{self.file}: trace {trace + 1} (line {self.lines().of_traces[trace]}) has no "
            "concept:name; give every trace one, or name the event attribute that identifies "
            f"the case with {option('case')}"
        )

    def _place(self, event: int) -> str:
        trace = np.concatenate(self.trace_of_event)
        inside = event - int(np.searchsorted(trace, trace[event])) + 1
        line = self.lines().of_events[event]
        return f"event {inside} of trace {trace[event] + 1} (line {line})"


def _column(found: list[TypedCells], height: int) -> pl.Series:
    """One column of all values of a key; the last one counts where a row repeats the key."""
    found = sorted(found, key=lambda cells: cells.type)
    rows = np.concatenate([cells.rows for cells in found])
    values = pl.concat([cells.texts for cells in found])
    if len(rows) == height and np.array_equal(rows, np.arange(height)):
        return values
    origin = np.full(height, -1, dtype=np.int64)
    origin[rows] = np.arange(len(rows))
    picks = pl.Series(origin)
    return values.gather(picks.set(picks < 0, None))


def read_strict(stream: BinaryIO, name: str) -> Content:
    """Read a whole XES document, or say in a LogError what is wrong with it and where."""
    parser = Parser(name)
    while block := stream.read(_BLOCK):
        parser.feed(block)
    return parser.close()


class Parser:
    """Collects the content of one XES document that is fed in pieces.

    Document types are refused before any entity could be declared, so nothing is ever expanded
    or fetched. Attributes of attributes are kept for the log and dropped for traces and events.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.encoding: str | None = None
        self.content = Content(name)
        self._expat = parser = expat.ParserCreate()
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        parser.XmlDeclHandler = self._declaration
        self._depth = 0
        self._in_trace = self._in_event = self._in_attribute = False
        self._open: list[tuple[int, str | None, Value, list[Attribute]]] = []
        self._cells: dict[tuple[bool, str, str], tuple[array[int], list[str]]] = {}
        self._pending = 0
        self._trace_of_event = array("q")
        self._event_lines = array("q")
        self._trace_lines = array("q")

    def feed(self, data: bytes, final: bool = False) -> None:
        """Parse the next piece of the document."""
        try:
            self._expat.Parse(data, final)
        except expat.ExpatError as error:
            raise LogError(
                f"{self.name} is broken XML at line {error.lineno}, column {error.offset + 1}: "
                f"{expat.ErrorString(error.code)}; export or copy the file again"
            ) from None
        except (LookupError, ValueError) as error:
            if isinstance(error, LogError):
                raise
            raise self._wrong(f"the XML cannot be decoded ({error}); save it as UTF-8") from None

    def close(self) -> Content:
        """End the document and give what was collected."""
        self.feed(b"", final=True)
        self._flush()
        content = self.content
        content.events, content.traces = len(self._trace_of_event), len(self._trace_lines)
        content.trace_of_event = [np.array(self._trace_of_event, dtype=np.int64)]
        lines = Lines(self._event_lines, self._trace_lines)
        content.lines = lambda: lines
        return content

    def _start(self, name: str, pairs: list[str]) -> None:
        self._depth += 1
        depth = self._depth
        if ":" in name:
            name = name.rpartition(":")[2]
        if depth == 4:
            if self._in_event:
                self._cell(True, name, pairs)
            elif self._in_attribute:
                self._log_attribute(name, pairs)
        elif depth == 3:
            if self._in_trace:
                if name == "event":
                    self._in_event = True
                    self._trace_of_event.append(len(self._trace_lines) - 1)
                    self._event_lines.append(self._expat.CurrentLineNumber)
                else:
                    self._cell(False, name, pairs)
            elif self._in_attribute:
                self._log_attribute(name, pairs)
        elif depth == 2:
            if name == "trace":
                self._in_trace = True
                self._trace_lines.append(self._expat.CurrentLineNumber)
            else:
                self._in_attribute = name in TYPES or name in ("list", "container")
                if self._in_attribute:
                    self._log_attribute(name, pairs)
        elif depth == 1:
            if name != "log":
                raise self._wrong(f"the root element is <{name}>, not <log>: this is not XES")
        elif depth > MAX_DEPTH:
            raise self._wrong(f"elements are nested more than {MAX_DEPTH} deep")
        elif self._in_attribute:
            self._log_attribute(name, pairs)

    def _end(self, name: str) -> None:
        depth = self._depth
        self._depth -= 1
        if depth == 3:
            self._in_event = False
        elif depth == 2:
            self._in_trace = False
        if self._open and self._open[-1][0] == depth:
            _, key, value, children = self._open.pop()
            if key is not None:
                attribute = Attribute(key, value, tuple(children))
                (self._open[-1][3] if self._open else self.content.of_log).append(attribute)

    def _cell(self, of_event: bool, type: str, pairs: list[str]) -> None:
        if type not in TYPES:
            return
        key, value = self._key_and_value(type, pairs)
        slot = self._cells.get((of_event, type, key))
        if slot is None:
            slot = self._cells[of_event, type, key] = (array("q"), [])
        slot[0].append(len(self._trace_of_event if of_event else self._trace_lines) - 1)
        slot[1].append(value)
        self._pending += 1
        if self._pending >= _FLUSH:
            self._flush()

    def _flush(self) -> None:
        """Move what is pending into compact columns."""
        for (of_event, type, key), (rows, texts) in self._cells.items():
            cells = TypedCells(
                type, np.array(rows, dtype=np.int64), pl.Series(texts, dtype=pl.String)
            )
            self.content.add(of_event=of_event, key=key, cells=cells)
        self._cells.clear()
        self._pending = 0

    def _log_attribute(self, type: str, pairs: list[str]) -> None:
        """Open an attribute of the log itself; one without a key or a value is dropped.

        Nothing in a release comes from it, so a slip there is no reason to refuse the cases.
        """
        found = _by_name(pairs)
        if type in TYPES:
            key = found.get("key") if "value" in found else None
            self._open.append((self._depth, key, _value(type, found.get("value", "")), []))
        elif type in ("list", "container"):
            self._open.append((self._depth, found.get("key"), None, []))

    def _key_and_value(self, type: str, pairs: list[str]) -> tuple[str, str]:
        if len(pairs) == 4 and pairs[0] == "key" and pairs[2] == "value":
            return pairs[1], pairs[3]
        found = _by_name(pairs)
        if "key" not in found or "value" not in found:
            raise self._wrong(f"<{type}> needs both a key and a value")
        return found["key"], found["value"]

    def _doctype(self, *_: object) -> None:
        raise self._wrong(
            "the file declares a document type (DOCTYPE), which is refused because it can "
            "define entities that expand without end or fetch other files; remove it"
        )

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = encoding

    def _wrong(self, message: str) -> LogError:
        line, column = self._expat.CurrentLineNumber, self._expat.CurrentColumnNumber
        return LogError(f"{self.name}, line {line}, column {column + 1}: {message}")


def _by_name(pairs: list[str]) -> dict[str, str]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def _value(type: str, text: str) -> Value:
    """The value of a log attribute; text where it does not fit its type."""
    try:
        if type == "int":
            return int(text)
        if type == "float":
            return float(text)
        if type == "boolean":
            return {"true": True, "false": False}[text.lower()]
        if type == "date":
            stamp: Value = to_instants(pl.Series([text], dtype=pl.String)).item()
            return text if stamp is None else stamp
    except (ValueError, KeyError):
        pass
    return text
