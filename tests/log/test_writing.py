"""What we write is what was there, for our reader and for PM4Py."""

from __future__ import annotations

import gzip
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from discreet.log.digest import content_digest
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog
from discreet.log.loading import read_log
from discreet.log.log_attributes import Attribute
from discreet.log.writing import write_log
from tests.conftest import RealLog, RealLogs, read_once

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pm4py

SUFFIXES = (".xes", ".xes.gz", ".csv", ".csv.gz", ".parquet")
STAMP = datetime(2020, 1, 1, tzinfo=UTC)
HOSTILE = [
    "", " ", " both ", '"quoted"', "'single'", "<tag>", "&amp;", "]]>", "a,b;c\td|e", "line\nbreak",
    "carriage\r\nreturn", "\U0001f600", "ü" * 1000, "x" * 100_000, "007", "null", "NaN", "true",
    "\u2028", "\x7f\x85", "é", "e\u0301",
]  # fmt: skip

CERTIFICATE: dict[str, object] = {
    "concept:name": 'the "log" <&>',
    "dp:certificate": '{"epsilon": 1.0, "note": "a\\nb"}',
    "dp:epsilon": 0.5,
    "dp:count": 3,
    "dp:proved": True,
    "dp:when": datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "privacy:anonymizations": Attribute(
        "privacy:anonymizations",
        None,
        (
            Attribute(
                "privacy:anonymizer1",
                "x",
                (
                    Attribute("privacy:operation type", "addition"),
                    Attribute("privacy:level", "case"),
                    Attribute("privacy:target", "concept:name"),
                ),
            ),
        ),
    ),
}


def log_of(labels: list[str], **more: Any) -> EventLog:
    table = pl.DataFrame(
        {CASE: labels, ACTIVITY: labels, TIME: [STAMP] * len(labels), **more},
        schema_overrides={TIME: pl.Datetime("us", "UTC")},
    )
    return EventLog.from_table(table)


def content(log: EventLog) -> pl.DataFrame:
    frame = log.frame
    return frame.select(sorted(frame.columns))


def pm4py_read(path: Path, variant: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pm4py.read_xes(str(path), variant=variant)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_hostile_labels(tmp_path: Path, suffix: str) -> None:
    log = log_of(HOSTILE, note=HOSTILE)
    path = tmp_path / f"log{suffix}"
    write_log(log, path)
    assert_frame_equal(content(read_log(path)), content(log))


@pytest.mark.parametrize("suffix", [".xes", ".parquet"])
def test_types_and_missing_values(tmp_path: Path, suffix: str) -> None:
    log = log_of(
        ["a", "b", "c"],
        whole=[1, None, -(2**63)],
        real=[0.1, float("inf"), None],
        truth=[True, None, False],
        when=[None, STAMP, datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)],
        nothing=pl.Series([None, None, None], dtype=pl.Null),
        **{"case:kind": ["x", None, "z"], 'key "with" <&>': ["1", None, None]},
    )
    path = tmp_path / f"log{suffix}"
    write_log(log, path)
    types = "whole:integer, real:number, truth:boolean, when:date"
    again = content(read_log(path, types=types if suffix == ".xes" else None))
    expected = content(log).with_columns(pl.col("when").dt.cast_time_unit("us"))
    assert_frame_equal(again.drop("nothing", strict=False), expected.drop("nothing"))


@pytest.mark.parametrize("engine", ["auto", "strict"])
def test_attributes_of_the_log(tmp_path: Path, engine: Any) -> None:
    for suffix in (".xes", ".xes.gz", ".parquet"):
        path = tmp_path / f"log{suffix}"
        write_log(log_of(["a"]), path, attributes=CERTIFICATE)
        assert read_log(path, xes_reader=engine).attributes == CERTIFICATE
    write_log(read_log(path), path)
    assert read_log(path).attributes == {}


def test_parquet_metadata_is_readable_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_log(log_of(["a"]), path, attributes=CERTIFICATE)
    assert pl.read_parquet_metadata(path)["dp:certificate"] == CERTIFICATE["dp:certificate"]


def test_header(tmp_path: Path) -> None:
    path = tmp_path / "log.xes"
    write_log(log_of(["a"], **{LIFECYCLE: ["complete"]}), path, attributes=CERTIFICATE)
    text = path.read_text()
    for part in (
        '<?xml version="1.0" encoding="UTF-8"?>',
        'prefix="concept"',
        'prefix="time"',
        'prefix="lifecycle"',
        'prefix="dp"',
        'prefix="privacy"',
        '<global scope="trace">',
        '<classifier name="Activity" keys="concept:name"/>',
        'keys="concept:name lifecycle:transition"',
        '<date key="time:timestamp" value="2020-01-01T00:00:00.000+00:00"/>',
    ):
        assert part in text
    assert 'prefix="org"' not in text


def test_the_same_log_gives_the_same_bytes(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
        for path in (first, second):
            write_log(log_of(HOSTILE), path)
        assert first.read_bytes() == second.read_bytes()


def test_values_that_change_within_a_case_stay_with_the_events(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {CASE: ["1", "1"], ACTIVITY: ["a", "b"], "case:same": ["x", "x"], "case:mood": ["y", "z"]}
    )
    path = tmp_path / "log.xes"
    write_log(EventLog.from_table(table), path)
    again = read_log(path, order="file")
    assert_frame_equal(content(again), content(EventLog.from_table(table)))
    assert path.read_text().count('key="same"') == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_cases(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    for empty in (log_of([]), log_of(["a"]).take_cases([])):
        write_log(empty, path, attributes=CERTIFICATE)
        with pytest.raises(LogError, match="no events"):
            read_log(path)
        assert len(content_digest(empty)) == 64


def test_only_the_chosen_cases_are_written(tmp_path: Path) -> None:
    log = log_of(["a", "b", "c"]).take_cases([2, 0])
    for suffix in SUFFIXES:
        write_log(log, tmp_path / f"log{suffix}")
        assert read_log(tmp_path / f"log{suffix}").case_ids == ["c", "a"]


@pytest.mark.parametrize("label", ["\0", "\x08", "\x1f", "\ufffe", "\uffff"])
def test_characters_that_xml_cannot_carry(tmp_path: Path, label: str) -> None:
    with pytest.raises(LogError, match=r"concept:name.*cannot carry"):
        write_log(log_of([f"a{label}"]), tmp_path / "log.xes")
    with pytest.raises(LogError, match="cannot carry"):
        write_log(log_of(["a"]), tmp_path / "log.xes", attributes={"x": label})
    with pytest.raises(LogError, match="cannot carry"):
        write_log(log_of(["a"], **{label: ["x"]}), tmp_path / "log.xes.gz")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written(tmp_path: Path) -> None:
    log = log_of(["a"])
    with pytest.raises(LogError, match="known are"):
        write_log(log, tmp_path / "log.txt")
    with pytest.raises(LogError, match="identifier 'a'"):
        write_log(log.take_cases([0, 0]), tmp_path / "log.xes")
    for suffix in (".xes", ".csv"):
        with pytest.raises(LogError, match="'list' holds"):
            write_log(log_of(["a"], list=[["x"]]), tmp_path / f"log{suffix}")
    with pytest.raises(LogError, match="'x' has a value of type list"):
        write_log(log, tmp_path / "log.xes", attributes={"x": [1]})
    with pytest.raises(LogError, match="there is no folder"):
        write_log(log, tmp_path / "missing" / "log.xes")
    assert not list(tmp_path.iterdir())


def test_real_logs_round_trip(
    tmp_path: Path, real_log: tuple[RealLog, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case by case, and without needing the strict reader."""
    monkeypatch.setattr("discreet.log.formats.xes.reader.read_strict", None)
    log = read_once(real_log[1])
    log = log.take_cases(range(min(log.cases, 3_000)))
    write_log(log, tmp_path / "log.xes")
    again = read_log(tmp_path / "log.xes")
    assert again.case_ids == log.case_ids
    assert content(again).equals(content(log))


def test_pm4py_reads_what_we_write(tmp_path: Path, small_real_log: tuple[RealLog, Path]) -> None:
    """By its fast reader, and where that does not take too long by its own."""
    known, path = small_real_log
    log = read_once(path)
    log = log.take_cases(range(min(log.cases, 3_000)))
    write_log(log, tmp_path / "log.xes.gz")
    for reader in ("r4pm", "iterparse") if known.events < 16_000 else ("r4pm",):
        read = pm4py_read(tmp_path / "log.xes.gz", reader)[[CASE, ACTIVITY, TIME]]
        theirs = pl.from_pandas(read).with_columns(
            pl.col(TIME).dt.cast_time_unit("us").dt.convert_time_zone("UTC")
        )
        assert_frame_equal(theirs, log.frame.select(CASE, ACTIVITY, TIME))


def test_pm4py_mines_what_we_write(tmp_path: Path, real_logs: RealLogs) -> None:
    path = tmp_path / "log.xes"
    write_log(read_once(real_logs["CCC19"][1]), path, attributes=CERTIFICATE)
    frame = pm4py_read(path, "iterparse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = pm4py.discover_process_tree_inductive(frame)
    assert "Guidewire install" in str(tree) or len(str(tree)) > 100


def test_pm4py_sees_nested_attributes(tmp_path: Path) -> None:
    from pm4py.objects.log.importer.xes.variants import iterparse

    path = tmp_path / "log.xes"
    write_log(log_of(["a"]), path, attributes=CERTIFICATE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attributes = iterparse.apply(str(path), {"show_progress_bar": False}).attributes
    assert attributes["dp:certificate"] == CERTIFICATE["dp:certificate"]
    found = dict(attributes["privacy:anonymizations"]["children"])["privacy:anonymizer1"]
    assert found["value"] == "x"
    assert found["children"]["privacy:level"] == "case"


def test_gzip_tells_neither_name_nor_time(tmp_path: Path) -> None:
    path = tmp_path / "secret.xes.gz"
    write_log(log_of(["a"]), path)
    assert b"secret" not in path.read_bytes()
    assert gzip.decompress(path.read_bytes()).endswith(b"</log>\n")
