"""Bad input of every kind: one LogError that says what is wrong, where, and how to mend it."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.formats import parquet
from discreet.log.loading import read_log
from tests.log.documents import HEAD, document, event, trace

GOOD = document(trace("1", event()))
CSV = "case,activity,time\n1,a,2020-01-01T00:00:00Z\n"


def refused(path: Path, data: str | bytes, *words: str, **options: object) -> str:
    """The message of the LogError for a file with this content, the same from both engines."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    engines = ("auto", "strict") if ".xes" in path.name else ("auto",)
    messages = set()
    for engine in engines:
        with pytest.raises(LogError) as caught:
            read_log(path, xes_reader=engine, **options)  # type: ignore[arg-type]
        messages.add(str(caught.value))
    (message,) = messages
    for word in (path.name, *words):
        assert word in message
    return message


BOMB = """<?xml version="1.0"?><!DOCTYPE log [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<log><trace><string key="concept:name" value="&c;"/></trace></log>"""
EXTERNAL = """<?xml version="1.0"?><!DOCTYPE log [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<log><trace><string key="concept:name" value="1">&x;</string></trace></log>"""

MANY = "".join(f'<int key="{i}" value="1"/>' for i in range(6000))

BROKEN_XES = {
    "empty": ("", "is empty"),
    "blank": ("  \n ", "broken XML", "line 2"),
    "truncated": (GOOD[:-40], "broken XML", "line"),
    "mismatched tag": (GOOD.replace("</event>", "</trace>", 1), "line 8", "mismatched tag"),
    "trailing garbage": (GOOD + "garbage", "junk after document element"),
    "bomb": (BOMB, "DOCTYPE", "line 1", "remove it"),
    "external entity": (EXTERNAL, "DOCTYPE", "line 1"),
    "unknown entity": (document(trace("&x;", event())), "undefined entity", "line 4"),
    "control character": (document(trace("a\x01", event())), "invalid token", "line 4"),
    "illegal reference": (document(trace("&#0;", event())), "line 4"),
    "surrogate reference": (document(trace("&#xD800;", event())), "line 4"),
    "noncharacter": (document(trace("\uffff", event())), "line 4"),
    "nul": (document(trace("\0", event())), "line 4"),
    "no root": ("<?xml version='1.0'?>", "no element found"),
    "html": ("<html><body/></html>", "root element is <html>", "not XES"),
    "csv": (CSV, "not XML", "'case,activity,time\\n1", ".csv"),
    "no traces": (HEAD + "</log>", "no events"),
    "empty traces": (document("<trace/>"), "no events"),
    "unnamed trace": (document(trace("1", event()), trace(None, event())), "trace 2 (line 10)"),
    "unnamed log": (document(trace(None, event())), "trace 1 (line 3)", "case="),
    "no activity": (document(trace("1", event(), event(None))), "event 2 of trace 1 (line 9)"),
    "no activities": (document(trace("1", event(None))), "no event has the activity", "--activity"),
    "empty event": (document(trace("1", event(), "<event/>")), "event 2 of trace 1 (line 9)"),
    "no time": (document(trace("1", event(), event(stamp=None))), "event 2", "order='file'"),
    "no times": (document(trace("1", event(stamp=None))), "timestamp", "order='file'"),
    "bad time": (document(trace("1", event(stamp="yesterday"))), "event 1", "'yesterday'"),
    "year 0": (document(trace("1", event(stamp="0000-01-01T00:00:00Z"))), "0000-01-01"),
    "year 10000": (document(trace("1", event(stamp="10000-01-01T00:00:00Z"))), "10000"),
    "too early": (document(trace("1", event(stamp="0001-01-01T00:00:00+14:00"))), "0001"),
    "too late": (document(trace("1", event(stamp="9999-12-31T23:00:00-14:00"))), "9999"),
    "no value": (document(trace("1", event(more='<string key="x"/>'))), "line 8", "value"),
    "no key": (document(trace("1", event(more='<string value="x"/>'))), "line 8", "key"),
    "deep": (document(trace("1", event(more="<list key='k'>" * 20_000))), "100 deep"),
    "deep head": (document(trace("1", event()), head="<int key='k' value='1'>" * 500), "100 deep"),
    "many columns": (
        document(trace("1", event(more=MANY))),
        "5000 different attributes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_XES.values(), ids=BROKEN_XES.keys())
@pytest.mark.parametrize("suffix", [".xes", ".xes.gz"])
def test_broken_xes(tmp_path: Path, case: tuple[str, ...], suffix: str) -> None:
    text, *words = case
    data = text.encode()
    refused(tmp_path / f"log{suffix}", gzip.compress(data) if "gz" in suffix else data, *words)


@pytest.mark.parametrize("name", ["log.xes.gz", "log.csv.gz"])
def test_broken_gzip(tmp_path: Path, name: str) -> None:
    packed = gzip.compress(GOOD.encode() if "xes" in name else CSV.encode())
    refused(tmp_path / name, packed[:-12], "truncated", "again")
    refused(tmp_path / name, packed[:15], "truncated")
    refused(tmp_path / name, packed[:-8] + b"\0" * 8, "damaged gzip", "CRC")
    refused(tmp_path / name, packed[:12] + b"\xff" * 8 + packed[20:], "gzip")
    refused(tmp_path / name, packed + b"garbage", "damaged gzip")
    refused(tmp_path / name, b"plain", "not gzip", "rename it to log.")


BROKEN_CSV = {
    "empty": ("", "is empty"),
    "a column twice": ("case,activity,time,case\n1,a,2020-01-01,2\n", "'case'", "rename one"),
    "header only": ("case,activity,time\n", "no events"),
    "one column": ("case\n1\n", "only one column", "delimiter="),
    "long row": (CSV + "2,b,2020-01-01T00:00:00Z,extra\n", "line 3", "4 fields", "header has 3"),
    "short row": (CSV + "2,b\n", "line 3", "2 fields"),
    "open quote": (CSV + '2,"b,2020-01-01T00:00:00Z\n', "line 3", "quotes"),
    "nul": (CSV + "2,\0,2020-01-01T00:00:00Z\n", "line 3", "NUL"),
    "no case": ("c,activity,time\n1,a,2020-01-01\n", "case", "'c', 'activity', 'time'"),
    "no timestamp": ("case,activity\n1,a\n", "timestamp", "order='file'"),
    "bare beside offsets": (
        CSV + "2,b,2020-01-01 00:00\n",
        "row 3",
        "(1 do)",
        "1 carry one (1 × Z)",
        "--timezone Europe/Amsterdam",
    ),
    "null case": (CSV + ",b,2020-01-01T00:00:00Z\n", "row 3", "no case"),
    "null activity": (CSV + "2,,2020-01-01T00:00:00Z\n", "row 3", "no activity"),
    "null time": (CSV + "2,b,\n", "row 3", "no timestamp"),
    "bad time": (CSV + "2,b,soon\n", "row 3", "'soon'", "timestamp_format="),
    "number as time": (CSV.replace("2020-01-01T00:00:00Z", "1577836800"), "row 2", "1577836800"),
    "two-digit year": (CSV.replace("2020-01-01T00:00:00Z", "01/02/03 10:00"), "row 2"),
    "ambiguous": (CSV.replace("2020-01-01T00:00:00Z", "03/04/2020 10:00"), "timestamp_format"),
    "xml": (GOOD, "is XML", ".xes"),
}


@pytest.mark.parametrize("case", BROKEN_CSV.values(), ids=BROKEN_CSV.keys())
def test_broken_csv(tmp_path: Path, case: tuple[str, ...]) -> None:
    text, *words = case
    refused(tmp_path / "log.csv", text, *words)


def test_csv_in_other_encodings(tmp_path: Path) -> None:
    text = CSV.replace(",a,", ",größer,")
    refused(tmp_path / "log.csv", text.encode("latin-1"), "line 2", "not UTF-8", "save")
    refused(tmp_path / "log.csv", text.encode("utf-16")[:-1], "UTF-16", "--encoding")
    refused(tmp_path / "log.csv", text, "unknown encoding 'utf-9'", encoding="utf-9")
    refused(tmp_path / "log.csv", b"PAR1" + b"x" * 50, "Parquet", ".parquet")


def test_rows_are_counted_past_blank_lines(tmp_path: Path) -> None:
    refused(tmp_path / "log.csv", CSV + "\n\n2,b,soon\n", "row 5")


def test_broken_parquet(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"case": ["1"], "activity": ["a"], "time": ["2020-01-01"]}).write_parquet(path)
    good = path.read_bytes()
    assert read_log(path).events == 1
    refused(path, b"", "is empty")
    refused(path, good[:-5], "not a whole Parquet file")
    refused(path, CSV, "not a whole Parquet file")
    refused(path, b"PAR1" + b"\xff" * 60 + b"PAR1", "Parquet")


@pytest.mark.parametrize("crash", ["os.abort()", "os.kill(os.getpid(), 9)"])
def test_parquet_that_crashes_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: str
) -> None:
    path = tmp_path / "log.parquet"
    table = pl.DataFrame({"case": ["1"], "activity": ["a"], "time": ["2020-01-01"]})
    table.write_parquet(path)
    monkeypatch.setattr(parquet, "_children", {})
    with monkeypatch.context() as patch:
        patch.setattr(parquet, "_CHILD_PROGRAM", f"import os, sys; sys.stdin.readline(); {crash}")
        refused(path, path.read_bytes(), "pages are damaged")
        patch.setattr("sys.executable", str(tmp_path / "no python"))
        assert read_log(path).events == 1
    assert read_log(path).events == 1
    parquet.stop_child()


def test_an_interrupted_question_leaves_no_answer_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"case": ["1"]}).write_parquet(path)
    parquet.probe([path], None)
    before = parquet._children[os.getpid()]
    answer = parquet._child_answer

    def interrupted(asked: str) -> tuple[int, str | None]:
        answer(asked)
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet, "_child_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parquet.probe([path], None)
    assert before.poll() is not None
    monkeypatch.undo()
    parquet.probe([path], None)
    assert parquet._children[os.getpid()] is not before


def test_a_child_reads_many_parquet_files_and_goes_with_its_parent(tmp_path: Path) -> None:
    good = pl.DataFrame({"case": ["1"], "activity": ["a"], "time": ["2020-01-01"]})
    good.write_parquet(tmp_path / "good.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + b"\xff" * 60 + b"PAR1")
    program = (
        "import os, sys; from pathlib import Path; from discreet import LogError, read_log\n"
        "from discreet.log.formats import parquet\n"
        "for name in ('good', 'bad', 'good'):\n"
        "    try: print(read_log(Path(sys.argv[1]) / f'{name}.parquet').events, flush=True)\n"
        "    except LogError: print('refused', flush=True)\n"
        "    print(parquet._children[os.getpid()].pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found, children = run.stdout.split()[::2], set(run.stdout.split()[1::2])
    assert found == ["1", "refused", "1"]
    (child,) = children
    until = monotonic() + 600
    while (words := Path(f"/proc/{child}/cmdline")).exists() and words.read_bytes():
        assert monotonic() < until, "the child outlived its parent"
        sleep(0.05)


def test_wrong_column_names(tmp_path: Path) -> None:
    message = refused(
        tmp_path / "log.csv", CSV, "'Activty'", "did you mean 'activity'?", activity="Activty"
    )
    assert "'case', 'activity', 'time'" in message
    refused(tmp_path / "log.csv", CSV, "individual=", individual="person")


def test_many_columns_are_listed_in_part(tmp_path: Path) -> None:
    header = ",".join(f"column {i}" for i in range(100))
    message = refused(tmp_path / "log.csv", f"{header}\n{','.join('1' * 100)}\n", "and 70 more")
    assert len(message) < 1000


def test_missing_individuals(tmp_path: Path) -> None:
    text = "case,activity,time,person\n1,a,2020-01-01,x\n2,a,2020-01-01,\n"
    refused(tmp_path / "log.csv", text, "row 3", "no individual", individual="person")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"there is no file .*missing\.xes"):
        read_log(tmp_path / "missing.xes")
    with pytest.raises(LogError, match=r"there is no file .*missing\.csv"):
        read_log(tmp_path / "missing.csv")
    with pytest.raises(LogError, match=r"there is no file .*missing\.parquet"):
        read_log(str(tmp_path / "missing.parquet"))
    (tmp_path / "folder.xes").mkdir()
    with pytest.raises(LogError, match="is a folder"):
        read_log(tmp_path / "folder.xes")
    with pytest.raises(LogError, match="is a folder"):
        read_log(tmp_path)
    (tmp_path / "log.doc").write_text(CSV)
    with pytest.raises(LogError, match=r"'.doc'; known are .xes, .xes.gz, .csv, .csv.gz, .tsv"):
        read_log(tmp_path / "log.doc")
    with pytest.raises(LogError, match="from int"):
        read_log(7)
    with pytest.raises(LogError, match="null"):
        read_log("nul\0.xes")
    with pytest.raises(LogError, match=r"there is no file or folder .*missing"):
        read_log(tmp_path / "missing")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_permission(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(CSV)
    path.chmod(0)
    with pytest.raises(LogError, match="no permission to read"):
        read_log(path)


def test_permission_however_it_arises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    for name in ("log.xes", "log.csv", "log.parquet"):
        with pytest.raises(LogError, match="no permission to read"):
            read_log(tmp_path / name)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("order", "random"),
        ("engine", "warp"),
        ("xes_reader", "warp"),
        ("duplicates", "ignore"),
        ("classifier", "label"),
        ("timezone", "Europe/Amsterdm"),
        ("timezone", "../etc/passwd"),
        ("timezone", ""),
        ("delimiter", "::"),
        ("timestamp_format", "%Q"),
    ],
)
def test_wrong_options(tmp_path: Path, option: str, value: str) -> None:
    (tmp_path / "log.csv").write_text(CSV)
    with pytest.raises(LogError) as caught:
        read_log(tmp_path / "log.csv", **{option: value})  # type: ignore[arg-type]
    assert value in str(caught.value)
    if "Amsterdm" in value:
        assert "Europe/Amsterdam" in str(caught.value)


def test_lifecycle_classifier_needs_the_column(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(CSV)
    with pytest.raises(LogError, match="lifecycle:transition"):
        read_log(tmp_path / "log.csv", classifier="activity+lifecycle")


def test_very_long_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(CSV + f"2,{'x' * 1_000_000},2020-01-01T00:00:00Z\n")
    assert len(read_log(path).activities[1]) == 1_000_000
    refused(path, CSV + f"2,{'x' * 1_000_000}\n", "no timestamp")
