"""Whatever a file contains, reading gives a log or a LogError, and both XES readers agree."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.log.writing import write_log
from tests.log.documents import document, event, trace

XES = document(
    trace("1", event("a", more='<int key="n" value="1"/>'), event("b &amp; c")),
    trace("2", event("ä", "2020-01-01T10:00:00"), more='<boolean key="t" value="true"/>'),
    head='<string key="dp:certificate" value="x"/>',
).encode()
CSV = (
    "case,activity,time,note\n1,a,2020-01-01T10:00:00Z,x\n"
    '1,"b ""c""\nd",2020-01-02T10:00:00Z,\n2,ä,2020-01-03T10:00:00Z,z\n'
).encode()

TOKENS: dict[str, Sequence[bytes]] = {
    "xes": [
        b"<event>", b"</event>", b"<event/>", b"<trace>", b"</trace>", b"<trace/>", b"</log>",
        b'"', b"'", b"<", b">", b"/>", b"&", b"&x;", b"&#0;", b"&#10;", b"&#x1F600;", b"&lt;",
        b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?p ", b"?>", b"<!DOCTYPE log>", b"\0", b"\x01",
        b"\xff", b"\xc3", b"\xef\xbf\xbf", b"\n", b"\t", b"\r", b" ", b' key="', b' value="',
        b'<string key="k" value="v"/>', b'<date key="time:timestamp" value="x"/>', b"<list>",
        b'<string key="concept:name" value="', b'<int key="n" value="x">', b"</int>", b"10000-",
        b"0000-", b"\xef\xbb\xbf", b"\xff\xfe", b"latin-1", b"utf-16", b"e",
    ],
    "csv": [
        b",", b'"', b'""', b"\n", b"\r", b"\r\n", b";", b"\t", b"|", b"\0", b"\xff", b"\xc3",
        b"\xef\xbb\xbf", b"\xff\xfe", b"10000-01-01", b"0000-00-00", b"03/04/2020", b" ", b"time",
        b"case", b"T25:00", b"\x1c", b"<log", b"PAR1", b"99999999999999999999", b"+99:99",
    ],
    "parquet": [b"PAR1", b"\0", b"\xff", b"\x80", b"\x15", b"\x7f", b"\xff\xff\xff\xff"],
}  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, data: bytes, tokens: Sequence[bytes]) -> bytes:
    """The data after a few cuts, copies and insertions."""
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(data)))
        span = draw(st.integers(0, 40))
        match draw(st.integers(0, 5)):
            case 0:
                data = data[:place]
            case 1:
                data = data[:place] + data[place + span :]
            case 2:
                other = draw(st.integers(0, len(data)))
                data = data[:other] + data[place : place + span] + data[other:]
            case 3:
                data = data[:place] + draw(st.binary(max_size=4)) + data[place + span % 4 :]
            case _:
                data = data[:place] + draw(st.sampled_from(tokens)) + data[place + span % 4 :]
    return data


def outcome(path: Path, **options: object) -> EventLog | str:
    try:
        return read_log(path, **options)  # type: ignore[arg-type]
    except LogError as error:
        return str(error)


def fuzz(name: str, data: bytes, examples: int, *, packed: bool = False) -> None:
    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(mutated(data, TOKENS[name.split(".")[1]]))
    def check(changed: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(gzip.compress(changed) if packed else changed)
            found = outcome(path)
            if ".xes" not in name:
                return
            strict = outcome(path, xes_reader="strict")
            if isinstance(found, str) or isinstance(strict, str):
                assert found == strict
            else:
                assert found.table.equals(strict.table)
                assert found.attributes == strict.attributes

    check()


def test_xes() -> None:
    fuzz("log.xes", XES, 120)


def test_xes_packed() -> None:
    fuzz("log.xes.gz", XES, 50, packed=True)


def test_csv() -> None:
    fuzz("log.csv", CSV, 120)


@pytest.mark.parametrize("name", ["log.xes.gz", "log.csv.gz"])
def test_gzip(name: str) -> None:
    fuzz(name, gzip.compress(XES if "xes" in name else CSV, mtime=0), 50)


def test_parquet(tmp_path: Path) -> None:
    table = pl.DataFrame({"case": ["1", "2"], "activity": ["a", "b"], "time": ["2020-01-01"] * 2})
    write_log(read_log(table), tmp_path / "log.parquet", attributes={"x": "y", "n": 1})
    fuzz("log.parquet", (tmp_path / "log.parquet").read_bytes(), 15)
