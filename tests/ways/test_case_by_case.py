"""How a case is read depends on that case alone: neighbouring files become neighbouring logs.

For a file F and a case c of another name, with the same header, schema and options:

- where F with c can be read, its cases are those of F and that of c read alone, value by value;
- where it cannot, F cannot either, or c alone is refused too, or times with and without an offset
  stand side by side and no zone is declared: then the whole file is refused.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, EventLog
from discreet.log.loading import read_log
from discreet.mechanisms.whole.amun import Amun
from tests.log.documents import document, event, trace

Row = dict[str, Any]
Case = list[Row]

IDS = (
    "1", "01", "1.0", "1e3", " 1", "100000000000000001", "100000000000000002", "1e17", "NaN",
    "null", "true", "ä", "2020-01-01", 'x"y', "a,b", "a;b", "a\nb", "-", "1.", "0x1",
)  # fmt: skip
STAMPS = (
    "2024-03-02T10:00:00Z", "2024-03-02T10:00:00+05:00", "2024-03-02 10:00", "2024-03-02",
    "02.03.2024", "03.02.2024 10:00:00.5", "2024/02/03 10:00 UTC", "0999-01-01T00:00:00Z",
    "2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024-2-3T1:02:03Z", "2024-03-02T10:00:60Z",
    "1970-01-01T00:00:00.1234567Z", "2024-03-02T10:00:00-0330", "1.3.2024 9:00 PM",
)  # fmt: skip
UNCLEAR_STAMPS = ("01/13/2024", "13/01/2024", "02/03/2024 10:00", "02-13-2024")
ODD_STAMPS = (
    "soon", "1709373600", "", "11-10-01T00:00:00Z", "99999-01-01T00:00:00Z", "2024-13-01", None,
)  # fmt: skip
AMOUNTS = ("1", "1.0", "1.50", "1e3", "-0", "007", "12345678901234567890")
ODD_AMOUNTS = (*AMOUNTS, "1,5", "x", "", "true", "NaN", None)
WORDS = ("complete", "start", "", "0", "é", None)
HEADER = ("case", "activity", "time", "person", "patient", "event type", "amount", "note")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"timezone": "Europe/Amsterdam"},
    {"timestamp_format": "day-first"},
    {"timestamp_format": "month-first", "individual": "person"},
    {"timestamp_format": "%Y-%m-%d %H:%M"},
    {"individual": "person", "types": {"amount": "number"}},
    {"lifecycle": "event type", "classifier": "activity+lifecycle"},
    {"lifecycle": "event type", "transitions": "complete", "individual": "person"},
    {"order": "file", "types": {"note": "date"}},
    {"case": "patient", "activity": "person"},
)


def content(log: EventLog) -> dict[str, list[Row]]:
    """What each case says: its events in order, each with the values that it has, and their type.

    A column that no event of a case has says nothing about that case.
    """
    rows = log.frame.with_columns(label=pl.Series(log.activities).gather(log.codes)).to_dicts()
    told = [{k: (type(v), v) for k, v in row.items() if v is not None} for row in rows]
    return {
        name: told[begin:end]
        for name, begin, end in zip(log.case_ids, log.offsets, log.offsets[1:], strict=False)
    }


def outcome(write: Callable[[Path], None], suffix: str, options: dict[str, Any]) -> Any:
    """The content of a written file, or why it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"log{suffix}"
        write(path)
        try:
            return content(read_log(path, **options))
        except LogError as error:
            return str(error)


LACKS = ("there is no column", "no column", "needs the column", "no event has")
"""What a log may be refused for as a whole: what would be there if it had more cases."""


MIXED = "has a time without an offset"
"""How a file is refused whose times carry an offset in one case and none in another."""


def hold(file: Any, case: Any, both: Any) -> None:
    """The property at the head of this module."""
    if isinstance(both, str):
        assert isinstance(file, str) or isinstance(case, str) or MIXED in both
    elif isinstance(file, str):
        assert any(words in file for words in LACKS)
    else:
        assert not isinstance(case, str) or any(words in case for words in LACKS)
        names = set(both) - set(file)
        assert {name: both[name] for name in file} == file
        if not isinstance(case, str):
            assert {name: both[name] for name in names} == case


@st.composite
def cases(draw: Draw, key: str, ids: list[str], *, odd: bool) -> list[Case]:
    """Cases of these names; `key` is the column of the name."""
    found = []
    for name in ids:
        person = draw(st.sampled_from(IDS))
        what = draw(st.sampled_from(("date", "stamp", "activity", "amount"))) if odd else ""
        stamps = {"date": (draw(st.sampled_from(UNCLEAR_STAMPS)),), "stamp": ODD_STAMPS}
        case: Case = []
        for _ in range(draw(st.integers(1, 3))):
            row = {
                "case": draw(st.sampled_from(IDS)),
                "patient": draw(st.sampled_from(IDS)),
                "activity": draw(st.sampled_from(("a", "b", "1", "1.0", "", "ü")))
                or ("" if what == "activity" else "c"),
                "time": draw(st.sampled_from(stamps.get(what, STAMPS))),
                "person": person,
                "event type": draw(st.sampled_from(WORDS)),
                "amount": draw(st.sampled_from(ODD_AMOUNTS if what == "amount" else AMOUNTS)),
                "note": draw(st.sampled_from(("2024-01-01", "02.03.2024", None))),
            }
            case.append({**row, key: name})
        found.append(case)
    return found


@st.composite
def neighbours(draw: Draw) -> tuple[list[Case], Case, dict[str, Any]]:
    """Some cases, one more of another name, and options."""
    options = draw(st.sampled_from(OPTIONS))
    key = options.get("case", "case")
    ids = draw(st.lists(st.sampled_from(IDS), min_size=2, max_size=5, unique=True))
    few = draw(cases(key, ids[1:], odd=False))
    if options.get("timestamp_format") == "%Y-%m-%d %H:%M":
        few = [[{**row, "time": "2024-03-02 10:00"} for row in case] for case in few]
    (more,) = draw(cases(key, ids[:1], odd=draw(st.booleans())))
    return few, more, options


def interleaved(draw: Draw, few: list[Case], more: Case) -> list[Row]:
    """The rows of all cases, those of the further one anywhere among the others'."""
    rows = [row for case in few for row in case]
    place = 0
    for row in more:
        place = draw(st.integers(place, len(rows)))
        rows.insert(place, row)
        place += 1
    return rows


Draw = Callable[[st.SearchStrategy[Any]], Any]


def save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def as_csv(rows: list[Row], mark: str) -> Callable[[Path], None]:
    text = io.StringIO()
    table = csv.writer(text, delimiter=mark, lineterminator="\n")
    table.writerow(HEADER)
    table.writerows([row[name] for name in HEADER] for row in rows)
    return lambda path: save(path, text.getvalue())


@settings(max_examples=25)
@given(st.data())
def test_csv(data: st.DataObject) -> None:
    few, more, options = data.draw(neighbours())
    mark = data.draw(st.sampled_from(",;\t"))
    rows = interleaved(data.draw, few, more)
    alone = [row for case in few for row in case]
    results = [outcome(as_csv(part, mark), ".csv", options) for part in (alone, more, rows)]
    hold(*results)


@settings(max_examples=25)
@given(st.data())
def test_parquet(data: st.DataObject) -> None:
    few, more, options = data.draw(neighbours())
    instants = data.draw(st.booleans())
    numbers = data.draw(st.booleans())

    def table(rows: list[Row]) -> pl.DataFrame:
        frame = pl.DataFrame(
            {name: [row[name] for row in rows] for name in HEADER},
            schema=dict.fromkeys(HEADER, pl.String),
        )
        if instants:
            day = pl.col("time").str.len_bytes().cast(pl.Int64) * 86_400_000_000
            frame = frame.with_columns(time=day.cast(pl.Datetime("us", "Asia/Tokyo")))
        if numbers:
            frame = frame.with_columns(pl.col("amount").cast(pl.Float64, strict=False))
        return frame

    with pytest.MonkeyPatch.context() as patch:
        # these files are sound
        patch.setattr("discreet.log.formats.parquet.probe", lambda *_: None)
        rows = interleaved(data.draw, few, more)
        alone = [row for case in few for row in case]
        hold(*(outcome(table(r).write_parquet, ".parquet", options) for r in (alone, more, rows)))


KEYS = {"activity": "concept:name", "time": "time:timestamp", "event type": "event type"}


def as_trace(draw: Draw, case: Case, *, odd: bool) -> str:
    """One trace; each value has a type of its own, some stand in the trace, markup may be odd."""
    kinds = st.sampled_from(("string", "int", "float", "boolean", "id", "date"))
    mark = "'" if odd and draw(st.booleans()) else '"'

    def attribute(key: str, value: str | None) -> str:
        if value is None:
            return ""
        kind = draw(kinds) if odd else "string"
        text = quoteattr(value, {'"': "&quot;", "'": "&apos;", "\n": "&#10;"})
        return f"<{kind} key={mark}{key}{mark} value={mark}{text[1:-1]}{mark}/>"

    events = []
    for row in case:
        parts = [attribute(KEYS.get(key, key), value) for key, value in row.items()]
        if odd:
            more = {
                "lifecycle:transition": "start", "Activity": "other", "timestamp": "2020-01-01",
                "case:person": "9", "only here": "1", "original:note": "x",
            }  # fmt: skip
            chosen = draw(st.lists(st.sampled_from(sorted(more)), unique=True))
            parts += [attribute(key, more[key]) for key in chosen]
        events.append(f"<event>{''.join(parts)}</event>")
    inside = attribute("concept:name", case[0]["case"]) + "".join(events)
    return f"<trace>{inside}</trace>\n"


@settings(max_examples=25)
@given(st.data())
def test_xes(data: st.DataObject) -> None:
    few, more, options = data.draw(neighbours())
    traces = [as_trace(data.draw, case, odd=False) for case in few]
    extra = as_trace(data.draw, more, odd=True)
    place = data.draw(st.integers(0, len(traces)))
    both = [*traces[:place], extra, *traces[place:]]
    engine = data.draw(st.sampled_from(("auto", "strict")))
    if "case" in options:
        options = {**options, "duplicates": "merge"}

    def written(parts: list[str]) -> Callable[[Path], None]:
        return lambda path: save(path, document(*parts))

    results = [
        outcome(written(parts), ".xes", {**options, "xes_reader": engine})
        for parts in (traces, [extra], both)
    ]
    hold(*results)


def test_one_date_does_not_turn_all_others(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"{i},Register,02.03.2024\n{i},Decide,03.03.2024\n" for i in range(200)]
    path.write_text("case,activity,time\n" + "".join(rows))
    before = content(read_log(path))
    for stamp in ("01/13/2024", "13/01/2024"):
        path.write_text("case,activity,time\n" + "".join(rows) + f"x,Register,{stamp}\n")
        with pytest.raises(LogError, match=rf"row 402 .*{stamp}.*13 January 2024.*--timestamp-fo"):
            read_log(path)
    path.write_text("case,activity,time\n" + "".join(rows) + "x,Register,2024-01-13\n")
    after = content(read_log(path))
    del after["x"]
    assert after == before


def test_one_number_does_not_merge_people(tmp_path: Path) -> None:
    path = tmp_path / "log.xes"
    person = '<{} key="person" value="{}"/>'
    traces = [trace(str(i), event(more=person.format("int", 10**17 + i))) for i in range(200)]
    odd = trace("odd", event(more=person.format("float", "1.5")))
    path.write_text(document(*traces, odd))
    log = read_log(path, individual="person")
    assert len(set(log.individual_of_case.tolist())) == 201
    assert set(log.table["person"]) == {*(str(10**17 + i) for i in range(200)), "1.5"}


def test_one_event_does_not_choose_the_lifecycle(tmp_path: Path) -> None:
    path = tmp_path / "log.xes"
    kind = '<string key="event type" value="start"/>'
    odd = trace("odd", event(more='<string key="lifecycle:transition" value="complete"/>'))
    options: dict[str, Any] = {"classifier": "activity+lifecycle", "lifecycle": "event type"}
    for more in ("", odd):
        path.write_text(document(trace("1", event(more=kind)), more))
        assert content(read_log(path, **options))["1"][0]["label"] == (str, "a+start")
        assert content(read_log(path))["1"][0]["event type"] == (str, "start")


@pytest.mark.parametrize("odd", ["", '<string key="amount" value="none"/>'])
def test_the_type_of_a_released_column_is_no_secret(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "log.xes"
    amount = '<int key="amount" value="5"/>'
    traces = [trace(str(i), event(more=amount)) for i in range(100)]
    path.write_text(document(*traces, trace("odd", event(more=odd))))
    released = Amun(epsilon=20, attributes="amount").release(read_log(path)).artefact
    assert released.table.schema["amount"] == pl.String
    if not odd:
        declared = Amun(epsilon=20, attributes="amount:integer").release(
            read_log(path, types="amount:integer")
        )
        assert declared.artefact.table.schema["amount"] == pl.Int64


def test_stray_quotes_do_not_join_cases(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = ['1,5" pipe,2020-01-01', "2,a,2020-01-01", '3,6" pipe,2020-01-01']
    for chosen in (rows, rows[1:], rows[:2]):
        path.write_text("\n".join(["case,activity,time", *chosen]) + "\n")
        with pytest.raises(LogError, match=rf"line {2 + (chosen == rows[1:])}: a quote inside"):
            read_log(path)
    path.write_text('case,activity,time\n1,"5"" pipe, long",2020-01-01\n')
    assert read_log(path).activities == ('5" pipe, long',)


def test_a_quoted_comma_does_not_make_up_for_a_short_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for more in ("", '2,"a, b",2020-01-01,\n'):
        path.write_text(f"case,activity,time,note\n{more}1,a,2020-01-01\n")
        with pytest.raises(LogError, match="3 fields where the header has 4"):
            read_log(path)


def test_objects_of_a_pandas_frame_are_read_one_by_one() -> None:
    import pandas as pd

    ids: list[object] = [10**17 + i for i in range(20)]
    for odd in (1.5, "x", True, datetime(2020, 1, 1, tzinfo=UTC)):
        people = pd.Series([*ids, odd], dtype=object)
        frame = pd.DataFrame({"case": people, "activity": "a", "time": "2020-01-01"})
        log = read_log(frame)
        assert log.case_ids == [*map(str, ids), str(odd)]
    frame["case"] = [float(i) for i in range(21)]
    with pytest.raises(LogError, match="floating-point"):
        read_log(frame)


def test_a_kept_name_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "log.xes"
    path.write_text(document(trace("1", event(more='<string key="role" value="nurse"/>'))))
    log = read_log(path, activity="role")
    assert log.table[f"original:{ACTIVITY}"].to_list() == ["a"]
    more = '<string key="role" value="x"/><string key="original:concept:name" value="b"/>'
    path.write_text(document(trace("1", event(more=more))))
    with pytest.raises(LogError, match="rename it"):
        read_log(path, activity="role")
    assert read_log(path).table[CASE].to_list() == ["1"]
