"""Writing XES: whole columns of markup at a time, every value typed and escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.datatypes import as_text, per_case, xes_type
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog
from discreet.log.expansion import Expansion
from discreet.log.files import XML_FORBIDS
from discreet.log.log_attributes import Attribute

EXTENSIONS = {
    "concept": "Concept",
    "time": "Time",
    "lifecycle": "Lifecycle",
    "org": "Organizational",
    "cost": "Cost",
    "semantic": "Semantic",
    "identity": "Identity",
    "privacy": "Privacy",
    "dp": "Differential privacy",
}

_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}
_EPOCH = "1970-01-01T00:00:00.000+00:00"
TRACE_NAME = CASE.removeprefix("case:")
"""The key of a case's identifier within its trace."""

# Tuned
_CASES_AT_ONCE = 10_000
"""Cases of a piece."""


def xes_pieces(log: EventLog, attributes: Sequence[Attribute]) -> Iterator[bytes]:
    """The XES document of a log, piece by piece.

    Columns with the prefix `case:` become attributes of the trace, unless their values change
    within a case. Missing values are left out. Characters that XML cannot carry are refused.
    """
    frame = log.frame
    names = _ordered(frame.columns)
    of_trace = [name for name in names if name.startswith("case:") and _constant(log, name)]
    of_event = [name for name in names if name not in of_trace]
    begins = frame.select(of_trace)[log.offsets[:-1]]
    begins.columns = [name.removeprefix("case:") for name in of_trace]
    yield _head(frame, [*begins.columns, *of_event], attributes).encode()
    for start in range(0, log.cases, _CASES_AT_ONCE):
        offsets = log.offsets[start : start + _CASES_AT_ONCE + 1]
        traces = _elements(begins[start : start + len(offsets) - 1], "  <trace>\n", "    ")
        events = _elements(
            frame.select(of_event)[int(offsets[0]) : int(offsets[-1])], "    <event>\n", "      "
        )
        table = pl.DataFrame(
            {
                "open": _spread(traces, offsets[:-1] - offsets[0], len(events)),
                "event": events,
                "close": _spread(
                    pl.repeat("  </trace>\n", len(traces), eager=True),
                    offsets[1:] - offsets[0] - 1,
                    len(events),
                ),
            }
        )
        whole = pl.concat_str("open", "event", pl.lit("    </event>\n"), "close", ignore_nulls=True)
        piece: str = table.select(whole.str.join("")).item()
        yield piece.encode()
    yield b"</log>\n"


def expanded_pieces(expansion: Expansion, attributes: Sequence[Attribute]) -> Iterator[bytes]:
    """The XES document of expanded variants: the events of each are put into markup once."""
    one = expansion.patterns
    of_event = [name for name in _ordered(one.frame.columns) if name != CASE]
    yield _head(one.frame, [TRACE_NAME, *of_event], attributes).encode()
    events = _elements(one.frame.select(of_event), "    <event>\n", "      ")
    ended = pl.select(pl.concat_str(events, pl.lit("    </event>\n"))).to_series()
    bodies = [body + b"  </trace>\n" for body in per_case(ended, one.offsets)]
    names = pl.Series(TRACE_NAME, expansion.case_ids, dtype=pl.String)
    for start in range(0, len(names), _CASES_AT_ONCE):
        block = names[start : start + _CASES_AT_ONCE]
        traces = _elements(block.to_frame(), "  <trace>\n", "    ").to_list()
        chosen = expansion.variant_of_case[start : start + len(block)].tolist()
        yield b"".join(
            part
            for trace, variant in zip(traces, chosen, strict=True)
            for part in (trace.encode(), bodies[variant])
        )
    yield b"</log>\n"


def _ordered(columns: Sequence[str]) -> list[str]:
    """The names that every reader knows first, then the others as they stand."""
    known = [name for name in (CASE, ACTIVITY, TIME, LIFECYCLE) if name in columns]
    return known + [name for name in columns if name not in known]


def _constant(log: EventLog, name: str) -> bool:
    """Whether a column has one value within each case."""
    values = log.frame[name]
    first = np.repeat(log.offsets[:-1], np.diff(log.offsets))
    return name == CASE or bool(values.eq_missing(values.gather(first)).all())


def _elements(frame: pl.DataFrame, opening: str, indent: str) -> pl.Series:
    """For each row the opening tag and one element per value that is present."""
    parts = [_rendered(values, indent) for values in frame]
    return pl.select(
        pl.concat_str(pl.repeat(opening, frame.height), *parts, ignore_nulls=True)
    ).to_series()


def _rendered(values: pl.Series, indent: str) -> pl.Series:
    """The element of each value; where values repeat, each is made once."""
    distinct = values.unique()
    if 4 * len(distinct) < len(values):
        return values.replace_strict(distinct, _rendered(distinct, indent), return_dtype=pl.String)
    opening = f'{indent}<{xes_type(values)} key="{_escaped_key(values.name)}" value="'
    texts = _escaped(as_text(values))
    return pl.select(pl.concat_str(pl.lit(opening), texts, pl.lit('"/>\n'))).to_series()


def _spread(values: pl.Series, rows: Ints, height: int) -> pl.Series:
    """The values at the given rows, nothing elsewhere."""
    origin = np.full(height, -1, dtype=np.int64)
    origin[rows] = np.arange(len(rows))
    picks = pl.Series(origin)
    return values.gather(picks.set(picks < 0, None))


def _escaped(texts: pl.Series) -> pl.Series:
    if texts.str.contains(XML_FORBIDS).any():
        bad = texts.filter(texts.str.contains(XML_FORBIDS))[0]
        raise LogError(
            f"the column {texts.name!r} has the value {bad!r}, with a character that XML "
            "cannot carry; replace it, or write CSV or Parquet"
        )
    if not texts.str.contains_any(list(_ESCAPES)).any():
        return texts
    return texts.str.replace_many(list(_ESCAPES), list(_ESCAPES.values()))


def _escaped_key(name: str) -> str:
    return str(_escaped(pl.Series("keys", [name])).item())


def _head(frame: pl.DataFrame, keys: Sequence[str], attributes: Sequence[Attribute]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<log xes.version="1.0" xes.features="nested-attributes">',
    ]
    used = {key.partition(":")[0] for key in [*keys, *_all_keys(attributes)] if ":" in key}
    for prefix, name in EXTENSIONS.items():
        home = "https://discreet.invalid" if prefix == "dp" else "http://www.xes-standard.org"
        if prefix in used:
            uri = f"{home}/{prefix}.xesext"
            lines.append(f'  <extension name="{name}" prefix="{prefix}" uri="{uri}"/>')
    lines += [
        '  <global scope="trace">',
        '    <string key="concept:name" value="UNKNOWN"/>',
        "  </global>",
        '  <global scope="event">',
        '    <string key="concept:name" value="UNKNOWN"/>',
    ]
    if TIME in frame.columns:
        lines.append(f'    <date key="time:timestamp" value="{_EPOCH}"/>')
    lines.append("  </global>")
    lines.append('  <classifier name="Activity" keys="concept:name"/>')
    if LIFECYCLE in frame.columns:
        keys_of_both = f"{ACTIVITY} {LIFECYCLE}"
        lines.append(f'  <classifier name="Activity and lifecycle" keys="{keys_of_both}"/>')
    for attribute in attributes:
        lines += _attribute(attribute, "  ")
    return "\n".join([*lines, ""])


def _all_keys(attributes: Sequence[Attribute]) -> Iterator[str]:
    for attribute in attributes:
        yield attribute.key
        yield from _all_keys(attribute.children)


def _attribute(attribute: Attribute, indent: str) -> Iterator[str]:
    """One attribute of the log with its children; without a value it is a list."""
    key = _escaped_key(attribute.key)
    if attribute.value is None:
        yield f'{indent}<list key="{key}">'
        yield f"{indent}  <values>"
        for child in attribute.children:
            yield from _attribute(child, indent + "    ")
        yield f"{indent}  </values>"
        yield f"{indent}</list>"
        return
    values = pl.Series(attribute.key, [attribute.value])
    kind, text = xes_type(values), _escaped(as_text(values)).item()
    if not attribute.children:
        yield f'{indent}<{kind} key="{key}" value="{text}"/>'
        return
    yield f'{indent}<{kind} key="{key}" value="{text}">'
    for child in attribute.children:
        yield from _attribute(child, indent + "  ")
    yield f"{indent}</{kind}>"
