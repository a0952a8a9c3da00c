"""What people have: Excel, other encodings, pipes, incomplete cases, objects of other libraries."""

from __future__ import annotations

import gzip
import io
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog, LeftOut
from discreet.log.loading import read_log
from discreet.log.reading import load_mapping, save_mapping
from tests.log.documents import document, event, trace

GERMAN = (
    "Fallnummer;Schritt;Zeitpunkt;Patient;Kosten\n"
    "1;Prüfung;02.03.2024 10:00;p1;12,50\n1;Entlassung;03.03.2024;p1;\n2;Prüfung;04.03.2024;p1;3\n"
)
ROLES: dict[str, Any] = {"case": "Fallnummer", "activity": "Schritt", "timestamp": "Zeitpunkt"}


def german(log: EventLog) -> None:
    assert log.variants.to_dict() == {("Prüfung", "Entlassung"): 1, ("Prüfung",): 1}
    assert log.names == {CASE: "Fallnummer", ACTIVITY: "Schritt", TIME: "Zeitpunkt"}


@pytest.mark.parametrize("name", ["log.csv", "log.txt", "log.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1", "windows-1252"])
def test_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    data = GERMAN.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    german(read_log(tmp_path / name, encoding=encoding, **ROLES))
    if encoding == "utf-16":
        german(read_log(tmp_path / name, **ROLES))


def test_tabs(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_text("case\tactivity, in words\ttime\n1\ta\t2020-01-01\n")
    assert read_log(path, activity="activity, in words").activities == ("a",)


def test_the_line_with_which_excel_names_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for begin in ("sep=#\n", "\ufeffsep=#\r\n", '"sep=#"\n'):
        path.write_text(begin + "case#activity#time\n1#a,b;c,d#2020-01-01\n", encoding="utf-8")
        assert read_log(path).activities == ("a,b;c,d",)
    path.write_text("sep=#\ncase#activity#time\n1#a#2020-01-01\n1#b\n")
    with pytest.raises(LogError, match="line 4: 2 fields"):
        read_log(path)


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(GERMAN, encoding="utf-8")
    log = read_log(path, types="Kosten:number", decimal=",", **ROLES)
    assert log.table["Kosten"].to_list() == [12.5, None, 3.0]
    assert read_log(path, **ROLES).table["Kosten"].to_list() == ["12,50", None, "3"]
    with pytest.raises(LogError, match=r"row 2 .*'12,50'.*not of the type 'number'"):
        read_log(path, types={"Kosten": "number"}, **ROLES)
    for wrong in ("Kosten", "Kosten:money", ":number"):
        with pytest.raises(LogError, match="declares no type"):
            read_log(path, types=wrong, **ROLES)
    with pytest.raises(LogError, match="has a role"):
        read_log(path, types="Schritt:text", **ROLES)
    with pytest.raises(LogError, match="there is no column 'Cost'"):
        read_log(path, types="Cost:number", **ROLES)


def workbook(path: Path, *sheets: list[list[Any]]) -> None:
    book = xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd hh:mm:ss"})
    for rows in sheets:
        sheet = book.add_worksheet()
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                if value is not None:
                    sheet.write(i, j, value)
    book.close()


def test_excel(tmp_path: Path) -> None:
    path = tmp_path / "log.xlsx"
    head = ["case", "activity", "time", "n"]
    rows: list[list[Any]] = [
        [1, "a", datetime(2020, 1, 1, 10, 0, 0, 500_000), 1.5],
        [1, "b", datetime(2020, 1, 2), None],
        [2, "a", "2020-01-03", 2],
    ]
    workbook(path, [head, *rows])
    before = read_log(path)
    assert before.variants.to_dict() == {("a", "b"): 1, ("a",): 1}
    assert before.table["n"].to_list() == ["1.5", None, "2"]
    assert before.table[TIME][0] == datetime(2020, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    for odd in ("x", 1.5, True, "007"):
        workbook(path, [head, [odd, "c", datetime(2020, 1, 1), odd], *rows])
        after = read_log(path)
        assert after.table[1:].equals(before.table)
    workbook(path, [head, *rows, [None] * 4, [3, "a", "soon", 1]])
    with pytest.raises(LogError, match=r"row 6 .*'soon'"):
        read_log(path)
    workbook(path, [["x"]], [head, *rows])
    assert read_log(path, sheet="Sheet2").cases == 2
    with pytest.raises(LogError, match=r"'Sheet1', 'Sheet2'; name one with sheet= \(--sheet\)"):
        read_log(path)
    with pytest.raises(LogError, match="no sheet 'Sheet3'"):
        read_log(path, sheet="Sheet3")
    path.write_bytes(b"PK\x03\x04 no workbook")
    with pytest.raises(LogError, match="not a readable Excel file"):
        read_log(path)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"case": ["1"], "activity": ["a"], "time": ["2020-01-01"]})
    table.write_parquet(tmp_path / "log.parquet")
    xes = document(trace("1", event())).encode()
    texts = table.write_csv().encode()
    for data in (xes, gzip.compress(xes), texts, (tmp_path / "log.parquet").read_bytes()):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert read_log("-").variants.to_dict() == {("a",): 1}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(xes.replace(b"2020", b"soon"))))
    with pytest.raises(LogError, match=r"standard input.xes: event 1 of trace 1 \(line 5\)"):
        read_log("-")


def test_incomplete_cases_are_left_out_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = "1,a,2020-01-01,x\n2,,2020-01-01,x\n2,b,2020-01-01,x\n,c,2020-01-01,x\n3,a,,x\n"
    path.write_text(f"case,activity,time,who\n{rows}4,a,2020-01-01,\n")
    with pytest.raises(LogError, match="--drop-incomplete"):
        read_log(path)
    log = read_log(path, drop_incomplete=True)
    assert (log.case_ids, log.left_out) == (["1", "4"], LeftOut(2, 4))
    log = read_log(path, drop_incomplete=True, individual="who")
    assert (log.case_ids, log.left_out) == (["1"], LeftOut(3, 5))
    assert read_log(path, drop_incomplete=True, order="file").case_ids == ["1", "3", "4"]
    path.write_text("case,activity,time\n1,,2020-01-01\n")
    with pytest.raises(LogError, match="nothing is left"):
        read_log(path, drop_incomplete=True)
    path.write_text("case,activity,time\n1,,2020-01-01\n2,a,soon\n")
    with pytest.raises(LogError, match=r"row 3 .*'soon'"):
        read_log(path, drop_incomplete=True)


@pytest.mark.parametrize("engine", ["auto", "strict"])
def test_incomplete_traces(tmp_path: Path, engine: Any) -> None:
    path = tmp_path / "log.xes"
    path.write_text(
        document(trace(None, event()), trace("1", event()), trace("2", event(stamp=None), event()))
    )
    log = read_log(path, drop_incomplete=True, xes_reader=engine)
    assert (log.case_ids, log.left_out) == (["1"], LeftOut(1, 3))


def test_mapping(tmp_path: Path) -> None:
    path, kept = tmp_path / "log.csv", tmp_path / "hospital.toml"
    path.write_bytes(GERMAN.encode("latin-1"))
    options: dict[str, Any] = {
        **ROLES,
        "individual": "Patient",
        "types": "Kosten:number",
        "decimal": ",",
        "encoding": "latin-1",
        "drop_incomplete": True,
        "sheet": None,
    }
    log = read_log(path, **options)
    save_mapping(kept, log, options)
    again = read_log(path, **load_mapping(kept))
    assert again.table.equals(log.table)
    assert (again.names, again.individual) == (log.names, "Patient")
    with pytest.raises(LogError, match="exists already"):
        save_mapping(kept, log)
    for text, words in {
        "color = 'red'": "'color' is not an option",
        "case = 1": "case must be a text",
        "case =": "is not TOML",
    }.items():
        kept.write_text(text)
        with pytest.raises(LogError, match=words):
            load_mapping(kept)
    with pytest.raises(LogError, match="there is no file"):
        load_mapping(tmp_path / "missing.toml")


def test_a_mapping_of_standard_names_is_empty(tmp_path: Path) -> None:
    (tmp_path / "log.xes").write_text(document(trace("1", event())))
    save_mapping(tmp_path / "m.toml", read_log(tmp_path / "log.xes"))
    assert load_mapping(tmp_path / "m.toml") == {}


def test_arrow() -> None:
    table = pl.DataFrame({"case": [1], "activity": ["a"], "time": [datetime(2020, 1, 1)]})
    for arrow in (table.to_arrow(), table.to_arrow().to_batches()[0]):
        assert read_log(arrow).table[TIME].item() == datetime(2020, 1, 1, tzinfo=UTC)


def test_pm4py() -> None:
    from pm4py.objects.log import obj

    def made(name: Any, *events: dict[str, Any]) -> Any:
        return obj.Trace([obj.Event(e) for e in events], attributes={"concept:name": name})

    stamp = datetime(2020, 1, 1, 10, tzinfo=UTC)
    traces = [made(10**17 + i, {ACTIVITY: "a", TIME: stamp, "n": 1}) for i in range(3)]
    log = read_log(obj.EventLog(traces))
    assert log.case_ids == [str(10**17 + i) for i in range(3)]
    assert log.table[TIME].to_list() == [stamp] * 3
    odd = made(1.5, {ACTIVITY: "a", TIME: stamp, "n": "x", "lifecycle:transition": "start"})
    after = read_log(obj.EventLog([odd, *traces]))
    assert after.table[1:].drop("lifecycle:transition").equals(log.table)
    stream = obj.EventStream([{CASE: 1, ACTIVITY: "a", TIME: stamp}])
    assert read_log(stream).case_ids == ["1"]
