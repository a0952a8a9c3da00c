"""What keeps a release from being written is found before it is paid for, or loses nothing."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import polars as pl
import pytest

from discreet.ledger.ledger import Ledger
from discreet.log.errors import LogError
from discreet.log.loading import read_log
from discreet.log.writing import write_log
from discreet.mechanisms.travas import TraVaS
from discreet.privacy.guarantee import Budget
from discreet.releasing.verification import check_certificate
from tests.cli.conftest import Desk


@pytest.fixture
def ledger(desk: Desk) -> Ledger:
    """A ledger with a budget, named to whatever is run at the desk."""
    place = desk.folder / "ledger.db"
    desk.monkeypatch.setenv("DISCREET_LEDGER", str(place))
    made = Ledger(place, create=True)
    made.set_budget("s", Budget(100, 1e-3), filter="basic")
    return made


def entries(ledger: Ledger) -> list[bool]:
    """Whether each release that was booked was noted as written."""
    return [bool(row["certificate"]) for row in ledger.history("s") if row["kind"] == "release"]


def write_numbers(path: Path, numbers: pl.Series, label: str = "a") -> None:
    """300 cases of two events, each with a number."""
    case = [str(i) for i in range(300) for _ in range(2)]
    time = [f"2024-01-{1 + i % 28:02}T0{j}:00:00Z" for i in range(300) for j in range(2)]
    columns = {"case": case, "activity": [label, "z"] * 300, "timestamp": time}
    pl.DataFrame(columns).with_columns(numbers.alias("n")).write_parquet(path)


TOO_LARGE = {
    "the largest of 64 bits without a sign": pl.Series([2**64 - 1] * 600, dtype=pl.UInt64),
    "more than 64 bits": pl.Series([2**100] * 600, dtype=pl.Int128),
    "the largest float": pl.Series([1.797e308] * 600),
    "large floats, none of them frequent": pl.Series(
        [random.Random(i).uniform(1e306, 1e308) for i in range(600)]
    ),
    "their negatives": pl.Series([-random.Random(i).uniform(1e306, 1e308) for i in range(600)]),
}


def amounts(desk: Desk, kind: str, *, code: int = 0) -> str:
    """Release a log with its numbers; what was said on standard error."""
    return desk.run(
        *("release", "n.parquet", "-o", "out.parquet", "-m", "amun", "--source", "s"),
        *("--attributes", f"n:{kind}", "--epsilon", "5"),
        code=code,
    ).stderr


@pytest.mark.parametrize("numbers", TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_numbers_of_any_size_are_released(desk: Desk, ledger: Ledger, numbers: pl.Series) -> None:
    """Also without a warning on the way, which tests take for an error."""
    write_numbers(desk.folder / "n.parquet", numbers)
    amounts(desk, "number")
    assert entries(ledger) == [True]
    assert len(pl.read_parquet(desk.folder / "out.parquet")["n"].drop_nulls())


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**53 + 1])
def test_whole_numbers_beyond_the_exact_ones_count_as_the_edge(
    desk: Desk, ledger: Ledger, number: int
) -> None:
    write_numbers(desk.folder / "n.parquet", pl.Series([number] * 600))
    amounts(desk, "integer")
    assert entries(ledger) == [True]
    found = pl.read_parquet(desk.folder / "out.parquet")["n"]
    assert found.dtype == pl.Int64
    assert found.mode().to_list() == [2**53 if number > 0 else -(2**53)]


def test_what_is_no_integer_of_64_bits_is_refused_unpaid(desk: Desk, ledger: Ledger) -> None:
    write_numbers(desk.folder / "n.parquet", TOO_LARGE["more than 64 bits"])
    assert "is not of the type 'integer'" in amounts(desk, "integer", code=2)
    assert entries(ledger) == []


@pytest.mark.parametrize("ending", [".xes", ".xes.gz", ".csv", ".parquet", ".variants.parquet"])
@pytest.mark.parametrize("label", ["a\x00b", "a\x01b", "\x1b[31m", "a\ufffeb", "a\uffff", ""])
def test_labels_that_a_format_cannot_carry_are_marked(
    desk: Desk, ledger: Ledger, label: str, ending: str
) -> None:
    write_numbers(desk.folder / "n.parquet", pl.Series([1] * 600), label)
    arguments = ("release", "n.parquet", "-o", f"out{ending}", "-m", "travas", "--source", "s")
    desk.run(*arguments, "--epsilon", "5")
    assert entries(ledger) == [True]
    _, findings = check_certificate(desk.folder / f"out{ending}")
    assert {finding.outcome for finding in findings} == {"holds"}


def test_texts_of_attributes_are_marked_too(desk: Desk, ledger: Ledger) -> None:
    write_numbers(desk.folder / "n.parquet", pl.Series(["x\x02"] * 600), "a\x01")
    desk.run(
        *("release", "n.parquet", "-o", "out.xes", "-m", "amun", "--source", "s"),
        *("--attributes", "n", "--epsilon", "5"),
    )
    assert entries(ledger) == [True]
    table = read_log(desk.folder / "out.xes").table
    assert "x\ufffd" in table["n"].to_list()
    assert "a\ufffd" in table["concept:name"].to_list()


def test_a_column_that_xes_cannot_name_is_refused_unpaid(desk: Desk, ledger: Ledger) -> None:
    for asked in (("--attributes", "n\x01"), ("--begun", "n\x01")):
        said = desk.refused(
            *("release", "log.csv", "-o", "out.xes", "-m", "amun", "--source", "s"), *asked
        )
        assert "rename the column" in said
    pl.DataFrame({"ca\0se": ["1"], "activity": ["a"]}).write_parquet(desk.folder / "nul.parquet")
    reading = ("--case", "ca\0se", "--order", "file")
    said = desk.refused(
        *("release", "nul.parquet", "-o", "o.csv", "-m", "travas", "--source", "s"), *reading
    )
    assert "NUL" in said
    assert entries(ledger) == []


@pytest.mark.parametrize("ending", [".xes", ".csv.gz", ".parquet"])
def test_a_disk_that_is_nearly_full_is_refused_unpaid(
    desk: Desk, ledger: Ledger, ending: str
) -> None:
    usage = shutil.disk_usage(desk.folder)
    arguments = ("release", "log.csv", "-o", f"out{ending}", "-m", "travas", "--source", "s")
    for free, words in ((1 << 20, "has 1 MB left"), ((64 << 20) + 1000, "has 64 MB left")):
        nearly = usage._replace(free=free)
        desk.monkeypatch.setattr(shutil, "disk_usage", lambda _, nearly=nearly: nearly)
        said = desk.refused(*arguments)
        assert words in said
        assert "make room, or write to another disk" in said
    assert entries(ledger) == []
    assert not list(desk.folder.glob("out*"))


def full(*_: object, **__: object) -> None:
    raise LogError("out.xes cannot be written: No space left on device")


def test_what_cannot_be_written_is_written_elsewhere(desk: Desk, ledger: Ledger) -> None:
    """The draw that was paid for is not lost, and there is no second one."""
    desk.monkeypatch.setattr("discreet.releases.write_log", full)
    said = desk.refused("release", "log.csv", "-o", "out.xes", "-m", "travas", "--source", "s")
    assert "No space left" in said
    (table,) = desk.folder.glob("discreet-*/out.variants.parquet")
    assert "What was drawn is not lost" in said
    assert entries(ledger) == [True]
    certificate, findings = check_certificate(table)
    assert {finding.outcome for finding in findings} == {"holds"}
    assert certificate.ledger == "booked"
    desk.monkeypatch.undo()
    desk.monkeypatch.chdir(desk.folder)
    desk.run("expand", str(table), "-o", "out.xes")
    assert read_log(desk.folder / "out.xes").cases


def test_a_log_is_rescued_in_another_form(desk: Desk, ledger: Ledger) -> None:
    def only_parquet(log: object, path: Path, **more: object) -> None:
        if path.suffix != ".parquet":
            full()
        write_log(log, path, **more)  # type: ignore[arg-type]

    desk.monkeypatch.setattr("discreet.releases.write_log", only_parquet)
    desk.refused("release", "log.csv", "-o", "out.xes", "-m", "amun", "--source", "s")
    (found,) = desk.folder.glob("discreet-*/out.parquet")
    assert read_log(found).has_times
    assert entries(ledger) == [True]
    assert not list(desk.folder.glob("discreet-*/out.xes*"))


def test_where_nothing_can_be_written_the_message_says_what_stands(
    desk: Desk, ledger: Ledger
) -> None:
    desk.monkeypatch.setattr("discreet.releases.write_log", full)
    desk.monkeypatch.setattr("discreet.releases.write_variants", full)
    said = desk.refused("release", "log.csv", "-o", "out.xes", "-m", "travas", "--source", "s")
    assert "entry 2 on s was booked before the noise was drawn and stays spent" in said
    assert entries(ledger) == [False]
    assert not list(desk.folder.glob("discreet-*"))


def test_an_error_while_drawing_says_what_stands(desk: Desk, ledger: Ledger) -> None:
    def broken(*_: object) -> None:
        raise LogError("no luck")

    desk.monkeypatch.setattr(TraVaS, "_draw", broken)
    said = desk.refused("release", "log.csv", "-o", "out.xes", "-m", "travas", "--source", "s")
    assert "error: no luck. entry 2 on s was booked" in said


def test_what_is_no_text_is_refused_or_replaced(desk: Desk, ledger: Ledger) -> None:
    """An argument that is not UTF-8 comes in with halves of surrogate pairs."""
    odd = "\udcff"
    common = ("release", "log.csv", "-o", "out.csv", "--source", "s")
    said = desk.refused(*common, "-m", "whole", "--options", f"k={odd}")
    assert "no text" in said
    assert entries(ledger) == []
    desk.run(*common, "-m", "travas", "--purpose", f"why{odd}")
    assert ledger.history("s")[-1]["purpose"] == "why?"
    assert entries(ledger) == [True]
