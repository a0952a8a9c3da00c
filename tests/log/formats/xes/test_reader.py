"""XES, read by the fast reader where the file is plain and by the strict one everywhere."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.formats.xes.reader import NotPlain, read_plain
from discreet.log.loading import read_log
from discreet.log.log_attributes import Attribute
from tests.log.documents import HEAD, STAMP, document, event, trace


def is_plain(text: str | bytes) -> bool:
    data = text.encode() if isinstance(text, str) else text
    try:
        read_plain(BytesIO(data), "test.xes")
    except NotPlain:
        return False
    return True


def read(folder: Path, text: str | bytes, **options: Any) -> EventLog:
    """Read with both engines and insist that they agree."""
    path = folder / "test.xes"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    fast = read_log(path, **options)
    strict = read_log(path, **options, xes_reader="strict")
    assert_frame_equal(fast.table, strict.table)
    assert fast.attributes == strict.attributes
    return fast


PLAIN = {
    "one line": document(trace("1", event(), event("b"))).replace("\n", ""),
    "carriage returns": document(trace("1", event())).replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + document(trace("1", event())),
    "references": document(trace("1", event("&lt;&amp;&#10;&quot;&#x41;&apos;&gt;"))),
    "unicode": document(trace("ü", event("\U0001f600 ß"))),
    "attributes of the trace": document(trace("1", event(), more='<int key="n" value="1"/>')),
    "attributes after the events": document(
        f'<trace>{event()}<string key="concept:name" value="1"/></trace>'
    ),
    "comments in the head": document(trace("1", event()), head="<!-- x -->"),
}
UNUSUAL = {
    "single quotes": document(trace("1", event())).replace('"', "'"),
    "value before key": document(
        trace("1", event(more='<string value="v" key="k"/>'), event("b"))
    ),
    "comment": document(trace("1", "<!-- \"quoted\" -->", event())),
    "commented trace": document("<!--", trace("0", event()), "-->", trace("1", event())),
    "nested attributes": document(
        trace("1", event(more='<int key="n" value="1"><int key="m" value="2"/></int>'))
    ),
    "empty trace": document(trace("1", event()), "<trace/>", "<trace></trace>"),
    "empty trace with a name": document(trace("1", event()), trace("2")),
    "line break in a value": document(trace("1", event("a\nb"))),
    "tab in a value": document(trace("1", event("a\tb"))),
    "text between elements": document(trace("1", "text", event())),
    "list": document(trace("1", event(more='<list key="l"><values/></list>'))),
    "cdata": document(trace("1", "<![CDATA[ <event/> ]]>", event())),
    "processing instruction": document(trace("1", "<?x y?>", event())),
    "prefixed": document(trace("1", event()))
    .replace("<", "<x:")
    .replace("<x:/", "</x:")
    .replace("<x:?", "<?")
    .replace("<x:log", '<x:log xmlns:x="http://www.xes-standard.org/"'),
    "attributes on the trace": document(trace("1", event())).replace("<trace>", '<trace a="b">'),
    "trace in a container": document(trace("1", event())).replace("<log", "<log ", 1)
    + "<!-- end -->",
}  # fmt: skip


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN.keys())
def test_plain_documents(tmp_path: Path, text: str) -> None:
    assert is_plain(text)
    assert read(tmp_path, text).cases == 1


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_documents(tmp_path: Path, text: str) -> None:
    log = read(tmp_path, text)
    assert (log.cases, log.case_ids) == (1, ["1"])
    assert log.events == text.count("event>") // 2 or "<!--" in text or "CDATA" in text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "latin-1", "us-ascii"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    label = "a" if encoding == "us-ascii" else "größer"
    text = document(trace("1", event(label))).replace("UTF-8", encoding)
    data = text.encode(encoding)
    assert is_plain(data) == (encoding == "utf-8")
    assert read(tmp_path, data).activities == (label,)


def test_wrongly_declared_encoding(tmp_path: Path) -> None:
    data = document(trace("1", event("ä"))).encode("latin-1")
    with pytest.raises(LogError, match="line 6, column 3"):
        read(tmp_path, data)
    assert not is_plain(data)


def test_references_and_normalised_space(tmp_path: Path) -> None:
    log = read(tmp_path, document(trace("&amp;1", event("a&#10;b&#9;"), event("a\nb\tc"))))
    assert set(log.activities) == {"a\nb\t", "a b c"}
    assert log.case_ids == ["&1"]


def test_types(tmp_path: Path) -> None:
    more = (
        '<int key="i" value="-7"/><float key="f" value="1.5E3"/><boolean key="b" value="True"/>'
        '<id key="u" value="not a uuid"/><date key="d" value="2020-01-01T12:00:00.1234567+02:00"/>'
        '<int key="bad" value="x"/><int key="big" value="99999999999999999999"/>'
        '<date key="when" value="yesterday"/><float key="mixed" value="1.5"/>'
        '<string key="either" value="b"/>'
    )
    rest = '<int key="mixed" value="2"/><int key="either" value="1"/>'
    text = document(trace("1", event(more=more), event("b", more=rest)))
    as_text = read(tmp_path, text).table
    assert {kind for name, kind in as_text.schema.items() if name != TIME} == {pl.String}
    assert as_text["mixed"].to_list() == ["1.5", "2"]
    assert as_text.row(0, named=True)["f"] == "1.5E3"
    kinds = "i:integer, f:number, b:boolean, d:date, mixed:number, either:text"
    log = read(tmp_path, text, types=kinds)
    first = log.table.row(0, named=True)
    assert (first["i"], first["f"], first["b"], first["u"]) == (-7, 1500.0, True, "not a uuid")
    assert first["d"] == datetime(2020, 1, 1, 10, 0, 0, 123456, tzinfo=UTC)
    assert log.table["mixed"].to_list() == [1.5, 2.0]
    assert log.table["either"].to_list() == ["b", "1"]
    for column, kind in {"bad": "integer", "big": "integer", "when": "date"}.items():
        with pytest.raises(LogError, match=rf"event 1 of trace 1 .*{column!r} is not of the type"):
            read(tmp_path, text, types={column: kind})


def test_identifiers_and_labels_stay_text(tmp_path: Path) -> None:
    text = document(
        '<trace><int key="concept:name" value="007"/><event>'
        f'<int key="concept:name" value="01"/><string key="time:timestamp" value="{STAMP}"/>'
        "</event></trace>"
    )
    log = read(tmp_path, text)
    assert (log.case_ids, log.activities) == (["007"], ("01",))
    assert log.table.schema[TIME] == pl.Datetime("us", "UTC")


def test_attributes_of_the_log(tmp_path: Path) -> None:
    head = (
        '<extension name="Concept" prefix="concept" uri="u"/><classifier name="c" keys="k"/>'
        '<global scope="event"><string key="org:group" value="DEFAULT"/></global>'
        '<string key="dp:certificate" value="{&quot;epsilon&quot;: 1}"/><int key="n" value="3"/>'
        '<float key="f" value="0.5"/><boolean key="b" value="false"/>'
        '<date key="d" value="2020-01-01T00:00:00Z"/><int key="odd" value="x"/>'
        '<list key="l"><values><string key="x" value="y"><int key="z" value="1"/></string>'
        "</values></list>"
    )
    log = read(tmp_path, document(trace("1", event()), head=head))
    assert log.attributes == {
        "dp:certificate": '{"epsilon": 1}',
        "n": 3,
        "f": 0.5,
        "b": False,
        "d": datetime(2020, 1, 1, tzinfo=UTC),
        "odd": "x",
        "l": Attribute("l", None, (Attribute("x", "y", (Attribute("z", 1),)),)),
    }
    assert "org:group" not in log.table.columns


def test_log_attributes_without_a_key_or_a_value_are_dropped(tmp_path: Path) -> None:
    """The metadata of a published hospital log has a nested float without a key."""
    head = (
        '<string key="meta" value="m"><float value="0.5"><int key="below" value="1"/></float>'
        '<float key="inner" value="1.5"/></string>'
        '<float value="2"/><int key="empty"/><list><values><int key="n" value="1"/></values></list>'
    )
    log = read(tmp_path, document(trace("1", event()), head=head))
    assert log.attributes == {"meta": Attribute("meta", "m", (Attribute("inner", 1.5),))}
    late = document(trace("1", event())).replace("</log>", '<float value="2"/></log>')
    assert read(tmp_path, late).attributes == {}


def test_the_trace_counts_where_events_repeat_its_attributes(tmp_path: Path) -> None:
    more = '<string key="case:concept:name" value="other"/><string key="case:k" value="event"/>'
    named = trace("1", event(more=more), more='<string key="k" value="trace"/>')
    log = read(tmp_path, document(named, trace("2", event(more=more))))
    assert log.table[CASE].to_list() == ["1", "2"]
    assert log.table["case:k"].to_list() == ["trace", "event"]


def test_a_repeated_key_counts_last(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        document(trace("1", event(more='<string key="concept:name" value="again"/>'))),
    )
    assert log.activities == ("again",)


def test_times_without_offset_are_local(tmp_path: Path) -> None:
    text = document(trace("1", event(stamp="2020-07-01T12:00:00")))
    assert read(tmp_path, text).table[TIME].item() == datetime(2020, 7, 1, 12, tzinfo=UTC)
    local = read(tmp_path, text, timezone="Europe/Amsterdam")
    assert local.table[TIME].item() == datetime(2020, 7, 1, 10, tzinfo=UTC)


def test_case_from_an_event_attribute(tmp_path: Path) -> None:
    events = [event(more=f'<string key="patient" value="{p}"/>') for p in "xyx"]
    log = read(tmp_path, document(trace(None, *events)), case="patient")
    assert log.case_ids == ["x", "y"]


def test_same_name_twice(tmp_path: Path) -> None:
    later = event("b", "2021-01-01T00:00:00Z")
    text = document(trace("1", later), trace("2", event()), trace("1", event("a")))
    with pytest.raises(LogError, match=r"traces 1 and 3 \(lines 3 and 17\).*'1'.*merge"):
        read(tmp_path, text)
    merged = read(tmp_path, text, duplicates="merge")
    assert merged.variants.to_dict() == {("a", "b"): 1, ("a",): 1}


def test_blocks_and_long_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [trace(str(i), *[event(str(j)) for j in range(i % 7 + 1)]) for i in range(200)]
    text = document(*traces)
    whole = read(tmp_path, text)
    for size in (100, 1000, 5000):
        monkeypatch.setattr("discreet.log.formats.xes.reader._BLOCK", size)
        assert is_plain(text)
        assert_frame_equal(read(tmp_path, text).table, whole.table)


def test_huge_values_are_fine(tmp_path: Path) -> None:
    big = "x" * 5_000_000
    log = read(tmp_path, document(trace("1", event(more=f'<string key="big" value="{big}"/>'))))
    assert log.table["big"].item() == big


def test_gzip_by_content(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "test.xes"
    path.write_bytes(gzip.compress(document(trace("1", event())).encode()))
    assert read_log(path).cases == 1


def test_activity_by_another_attribute(tmp_path: Path) -> None:
    more = '<string key="org:role" value="nurse"/>'
    log = read(tmp_path, document(trace("1", event(more=more))), activity="org:role")
    assert log.activities == ("nurse",)
    assert log.table[f"original:{ACTIVITY}"].item() == "a"


def test_head_is_checked_too() -> None:
    assert is_plain(HEAD + trace("1", event()) + "</log>")
    for broken in (
        HEAD + trace("1", event()),
        HEAD + "<string>" + trace("1", event()) + "</log>",
        HEAD + trace("1", event()) + "</log>garbage",
        HEAD + "<!--" + trace("1", event()) + "--></log>",
        HEAD + '<global scope="trace">' + trace("1", event()) + "</global></log>",
        "<!DOCTYPE log>" + HEAD + trace("1", event()) + "</log>",
    ):
        assert not is_plain(broken)
