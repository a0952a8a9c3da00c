"""One release, asked for by Python, by the command line, by the web form and by the API.

The same words give the same mechanism, parameters, warnings, entries of the ledger and, with the
same random numbers, the same file.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet
from discreet.errors import DiscreetWarning
from discreet.ledger.errors import LedgerError
from discreet.ledger.ledger import Ledger
from discreet.log.errors import ExistsError
from discreet.log.events import EventLog
from discreet.mechanisms import DEFAULT_MECHANISM, WHOLE
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.releasing import way
from discreet.releasing.request import Payment, Product, Request
from discreet.releasing.verification import entry_of
from discreet.web import choosing
from discreet.web.house import House
from discreet.web.work import releasing
from discreet.web.work.releasing import SHARE
from discreet.web.work.releasing import release as work
from tests.cli.conftest import Desk, desk
from tests.web.conftest import Browser, house, logs_folder, settings, steward

__all__ = ["desk", "house", "logs_folder", "settings", "steward"]

QUIETLY = pytest.mark.filterwarnings(
    "ignore::discreet.log.cautions.PeopleWarning",
    "ignore::discreet.log.cautions.TransitionsWarning",
)
"""What is said of the sample log is not what the test is about."""

SEED = 11
SOURCE = "town"
FOREIGN = ("time", "user", "purpose", "previous", "hash", "run", "certificate", "certificates")
"""What of an entry depends on who asks and when, or on the name of the file."""


@dataclass(frozen=True)
class Words:
    """What is asked for, in the words of each face."""

    python: dict[str, Any]
    line: tuple[str, ...]
    choice: dict[str, Any]
    reading: dict[str, Any] = field(default_factory=dict)
    mechanism: str = WHOLE


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    certificate: dict[str, Any]
    warnings: list[str]
    entry: dict[str, Any]
    noted: bool


PEOPLE = {"individual": "case:person", "cases_per_individual": 2}
ASKED = {
    "nothing": Words({}, (), {}),
    "no times": Words(
        {"times": False}, ("--no-times",), {"what": "variants"}, mechanism=DEFAULT_MECHANISM
    ),
    "a mechanism": Words(
        {"mechanism": "travas", "epsilon": 0.5},
        ("-m", "travas", "--epsilon", "0.5"),
        {"mechanism": "travas", "parameters": {"epsilon": 0.5}},
        mechanism="travas",
    ),
    "columns and a zone": Words(
        {"attributes": ["org:resource:text"], "times_share": 0.4, "timezone": "Europe/Amsterdam"},
        (
            "--attributes",
            "org:resource:text",
            "--times-share",
            "0.4",
            "--timezone",
            "Europe/Amsterdam",
        ),
        {"parameters": {"attributes": ["org:resource:text"], "times_share": 0.4}},
        {"timezone": "Europe/Amsterdam"},
    ),
    "people": Words(
        PEOPLE,
        ("--individual", "case:person", "--cases-per-individual", "2"),
        {"parameters": {"cases_per_individual": 2}},
        {"individual": "case:person"},
    ),
    "a large delta": Words(
        {"delta": 0.005}, ("--delta", "0.005"), {"parameters": {"delta": 0.005}}
    ),
    "no timestamps": Words(
        {"order": "file"},
        ("--order", "file"),
        {"what": choosing.usual(timed=False)},
        {"order": "file"},
        mechanism=DEFAULT_MECHANISM,
    ),
}


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random numbers for everybody who draws."""
    monkeypatch.setattr(Randomness, "system", classmethod(lambda cls: cls.seeded(SEED)))


@pytest.fixture
def ledgers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A fresh ledger for each face, which knows the log under another name already."""

    def fresh(face: str) -> Path:
        path = desk.folder / f"{face}.db"
        with Ledger(path, create=True) as ledger:
            for source in (SOURCE, "elsewhere"):
                ledger.set_budget(source, Budget(30, 0.1))
        monkeypatch.setenv("DISCREET_LEDGER", str(path))
        return path

    return fresh


def known_elsewhere(path: Path, log: EventLog) -> None:
    with Ledger(path) as ledger:
        assert ledger.recognise(log, "elsewhere") == []


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Every request that a face has carried out."""
    asked: list[Request] = []

    def noting(request: Request, **more: Any) -> way.Outcome:
        asked.append(request)
        return carry_out(request, **more)

    carry_out = way.carry_out
    monkeypatch.setattr(way, "carry_out", noting)
    monkeypatch.setattr(releasing, "carry_out", noting)
    return asked


def bare(request: Request) -> Request:
    """A request without what depends on the face: who asks, where it goes, what was confirmed.

    The form always says whether times come; the others may leave that to the log.
    """
    product, payment = request.product, Payment(request.payment.source)
    if product.open:
        product = replace(product, times=request.reading.order == "time")
    return replace(request, product=product, payment=payment, output=None)


def entry(path: Path) -> tuple[dict[str, Any], bool]:
    """The entry of the one release of this ledger, and whether it is noted as written."""
    with Ledger(path) as ledger:
        (row,) = [row for row in ledger.history(SOURCE) if row["kind"] == "release"]
        assert ledger.verify()[1] == []
    return {k: v for k, v in row.items() if k not in FOREIGN}, row["certificate"] is not None


def outcome(path: Path, file: Path, told: list[str]) -> Outcome:
    certificate = json.loads(Path(f"{file}.certificate.json").read_text(encoding="utf-8"))
    kept = ("mechanism", "parameters", "guarantee", "ledger", "warnings", "content_sha256")
    row, noted = entry(path)
    return Outcome({name: certificate[name] for name in kept}, told, row, noted)


def by_python(path: Path, words: Words, folder: Path) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = {"delta": 1e-4, **words.python}
        drawn = discreet.release(folder / "log.csv", source=SOURCE, **given)
        drawn.write(folder / "python.csv")
    assert all(issubclass(one.category, DiscreetWarning) for one in caught)
    assert {Path(one.filename) for one in caught} <= {Path(__file__)}
    return outcome(path, folder / "python.csv", [str(one.message) for one in caught])


def by_command_line(path: Path, words: Words, desk: Desk) -> Outcome:
    delta = () if "--delta" in words.line else ("--delta", "1e-4")
    log = desk.folder / "log.csv"
    ended = desk.run("release", str(log), "-o", "line.csv", "--source", SOURCE, *delta, *words.line)
    notes = ended.stderr.split("For you, not for publication: ")[1:]
    *told, booked = [note.strip() for note in notes]
    assert booked.startswith("booked as entry")
    return outcome(path, desk.folder / "line.csv", told)


def by_web(path: Path, words: Words, choice: dict[str, Any], folder: Path, face: str) -> Outcome:
    (folder / face).mkdir()
    with Ledger() as ledger:
        cost = ledger.account(SOURCE).cost(choosing.build(choice).guarantee())
    payment = Payment(SOURCE, "", "Stu", cost=cost.to_dict())
    request = choosing.request_of(folder / "log.csv", words.reading, choice, payment, "shared")
    spec = {"request": request.to_dict(), "job": "0" * 16, "unpacked": 1 << 30}
    found = work(spec, folder / face)
    *told, booked = found["notes"]
    assert booked.startswith("booked as entry")
    return outcome(path, folder / face / SHARE / "shared.csv", told)


def choices(steward: Browser, house: House, words: Words) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the form and the API make of these words."""
    log = steward.post("/logs/chosen", name="permits.csv").split("/")[2]
    house.logs.set_reading(house.logs.get(log), words.reading)
    given = {"delta": 1e-4, **words.choice.get("parameters", {})}
    asked = {"suffix": ".csv", **words.choice, "parameters": given}
    by_api = house.chosen(house.logs.get(log), asked)
    declared = [column.rpartition(":") for column in given.pop("attributes", ())]
    columns = {f"a.{column}": kind for column, _, kind in declared}
    fields = {f"p.{name}": str(value) for name, value in given.items()}
    epsilon = fields.pop("p.epsilon", "1.0")
    what, named = (str(asked.get(name) or "") for name in ("what", "mechanism"))
    steward.post(
        f"/logs/{log}/choose", what=what, mechanism=named, suffix=".csv", level=epsilon,
        **columns, **fields,
    )  # fmt: skip
    return by_api, dict(house.logs.get(log).choice)


@pytest.mark.parametrize("asked", ASKED, ids=lambda name: name.replace(" ", "-"))
def test_the_same_words_give_the_same_release(
    asked: str,
    desk: Desk,
    ledgers: Callable[[str], Path],
    requests: list[Request],
    steward: Browser,
    house: House,
) -> None:
    words, folder = ASKED[asked], desk.folder
    names = discreet.read_log(folder / "log.csv", **words.reading)
    found = {}
    by_api, by_form = choices(steward, house, words)
    asks: dict[str, Callable[[Path], Outcome]] = {
        "python": lambda path: by_python(path, words, folder),
        "line": lambda path: by_command_line(path, words, desk),
        "api": lambda path: by_web(path, words, by_api, folder, "api"),
        "form": lambda path: by_web(path, words, by_form, folder, "form"),
    }
    for face, ask in asks.items():
        path = ledgers(face)
        known_elsewhere(path, names)
        found[face] = ask(path)
    first = found["python"]
    assert first.certificate["mechanism"] == words.mechanism
    assert first.certificate["ledger"] == "booked"
    assert first.noted
    assert "already released under the source 'elsewhere'" in first.warnings[-1]
    told = {"people": 0, "a large delta": 2, "columns and a zone": 2}
    assert len(first.warnings) == 1 + told.get(asked, 1)
    for face, other in found.items():
        assert other.warnings == first.warnings, face
        assert other.certificate == first.certificate, face
        assert other.entry == first.entry, face
        assert other == first, face
    assert len(requests) == len(asks)
    for face, request in zip(asks, requests, strict=True):
        assert bare(request) == bare(requests[0]), face
        assert Request.from_json(request.to_json()) == request, face


def test_people_who_are_named_and_not_protected_are_refused_everywhere(
    desk: Desk, ledgers: Callable[[str], Path], steward: Browser, house: House
) -> None:
    ledgers("nothing is booked")
    given: dict[str, Any] = {"individual": "case:person", "source": SOURCE}
    with pytest.raises(ParameterError, match="cases_per_individual"):
        discreet.release(desk.folder / "log.csv", **given)
    line = ("--individual", "case:person", "--source", SOURCE, "-o", "line.csv")
    assert "--cases-per-individual" in desk.refused("release", "log.csv", *line)
    with pytest.raises(ParameterError, match="choose who is protected"):
        choices(steward, house, Words({}, (), {}, {"individual": "case:person"}))


@QUIETLY
def test_the_default_does_not_depend_on_the_engine(desk: Desk) -> None:
    pytest.importorskip("duckdb", reason="needs the extra duckdb")
    drawn = {}
    for engine in ("memory", "duckdb"):
        told = desk.json(
            "release", "log.csv", "-o", f"{engine}.csv", "--engine", engine, "--no-ledger"
        )
        ours = discreet.release("log.csv", engine=engine, no_ledger=True)
        assert told["certificate"]["mechanism"] == ours.mechanism == WHOLE
        drawn[engine] = told["certificate"]["content_sha256"]
        assert ours.write(f"ours.{engine}.csv").content_sha256 == drawn[engine]
    assert drawn["memory"] == drawn["duckdb"]


def test_the_rule_stands_in_one_place() -> None:
    assert (
        Product().resolved().mechanism.name
        == choosing.SHARED[choosing.usual()].recommended
        == WHOLE
    )
    assert Product(times=False).resolved().mechanism.name == DEFAULT_MECHANISM
    assert choosing.SHARED[choosing.usual(timed=False)].recommended == DEFAULT_MECHANISM
    timeless = discreet.read_log(
        pl.DataFrame({"case": ["a", "b"], "activity": ["x", "y"]}), order="file"
    )
    assert Product().resolved().of(timeless).name == DEFAULT_MECHANISM
    assert Product(parameters={"attributes": ("ward",)}).resolved().of(timeless).name == WHOLE
    inner = Product(parameters={"variants": "travas"}).resolved().mechanism
    assert inner.settings["variants"] == "travas"
    with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
        Product(parameters={"nonsense": 1}).resolved()


@QUIETLY
class TestPython:
    """What a call of the library does that the command line did alone."""

    def test_a_log_under_a_second_source_is_noticed(
        self, desk: Desk, ledgers: Callable[[str], Path]
    ) -> None:
        path = ledgers("python")
        discreet.release("log.csv", source="elsewhere")
        with pytest.warns(DiscreetWarning, match="two names give them two budgets"):
            discreet.release("log.csv", source=SOURCE)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "this log was already released", DiscreetWarning)
            with pytest.raises(DiscreetWarning, match="elsewhere"):
                discreet.release("log.csv", source=SOURCE)
        with Ledger(path) as ledger:
            assert ledger.account(SOURCE).releases == 1, "a warning made an error spends nothing"

    def test_what_is_written_is_noted_and_found_by_the_officer(
        self, desk: Desk, ledgers: Callable[[str], Path]
    ) -> None:
        path = ledgers("python")
        drawn = discreet.release("log.csv", source=SOURCE)
        assert not entry(path)[1], "nothing is written yet"
        for name in ("first.csv", "second.xes"):
            found = entry_of(drawn.write(name))
            assert found is not None
            assert found.source == SOURCE
        with Ledger(path) as ledger:
            (row,) = [row for row in ledger.history(SOURCE) if row["kind"] == "release"]
            assert len(row["certificates"]) == 2
            assert row["certificate"] == row["certificates"][-1]
            assert ledger.verify()[1] == []

    def test_each_release_confirms_its_own_entry(
        self, desk: Desk, ledgers: Callable[[str], Path]
    ) -> None:
        path = ledgers("python")
        first, second = (
            discreet.release("log.csv", "travas", epsilon=e, source=SOURCE) for e in (1, 2)
        )
        second.write("second.csv")
        with Ledger(path) as ledger:
            noted = [bool(r["certificate"]) for r in ledger.history(SOURCE) if "certificate" in r]
        assert noted == [False, True]
        first.write("first.csv")

    def test_a_ledger_that_fails_does_not_take_the_file_with_it(
        self, desk: Desk, ledgers: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise LedgerError("the disk is gone")

        ledgers("python")
        drawn = discreet.release("log.csv", source=SOURCE)
        monkeypatch.setattr(Ledger, "confirm", fail)
        with pytest.warns(DiscreetWarning, match="could not note it: the disk is gone"):
            drawn.write("kept.csv")
        assert Path("kept.csv.certificate.json").exists()


@QUIETLY
class TestFiles:
    """What a release must never write over."""

    def test_an_existing_file_stays_unless_it_may_be_replaced(self, desk: Desk) -> None:
        drawn = discreet.release("log.csv", no_ledger=True)
        Path("paid.csv").write_text("paid for")
        with pytest.raises(ExistsError, match="overwrite=True"):
            drawn.write("paid.csv")
        with pytest.raises(FileExistsError):
            drawn.write("paid.csv")
        assert Path("paid.csv").read_text() == "paid for"
        drawn.write("paid.csv", overwrite=True)
        assert Path("paid.csv").read_text() != "paid for"
        Path("paid.csv").unlink()
        with pytest.raises(ExistsError, match="certificate"):
            drawn.write("paid.csv")

    def test_the_log_is_never_replaced(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        raw = Path("log.csv").read_bytes()
        Path("linked.csv").symlink_to("log.csv")
        os.link("log.csv", "hard.csv")
        Path("sub").mkdir()
        given: tuple[Any, ...] = (
            "log.csv",
            Path("linked.csv"),
            discreet.read_log("hard.csv"),
            discreet.read_log("log.csv").take_cases(range(200)),
        )
        drawn = [discreet.release(log, "travas", no_ledger=True) for log in given]
        drawn.append(
            discreet.release(
                "log.csv", "travas", individual="case:person", cases_per_individual=1,
                no_ledger=True,
            )
        )  # fmt: skip
        monkeypatch.chdir("sub")
        for one in drawn:
            for target in ("../log.csv", "../sub/../linked.csv", "../hard.csv"):
                with pytest.raises(ExistsError, match="is the file that is read"):
                    one.write(target, overwrite=True)
        assert (desk.folder / "log.csv").read_bytes() == raw
        for one in drawn:
            assert str(desk.folder) not in one.certificate().to_json() + repr(one)

    @pytest.mark.parametrize("engine", ["memory", "duckdb"])
    def test_nor_any_file_of_a_folder(self, desk: Desk, engine: str) -> None:
        if engine == "duckdb":
            pytest.importorskip("duckdb", reason="needs the extra duckdb")
        Path("lake").mkdir()
        table = discreet.read_log("log.csv").table
        table.write_parquet("lake/a.parquet")
        for place in ("lake", "lake/*.parquet"):
            log = discreet.read_log(place, engine=engine)  # type: ignore[arg-type]
            drawn = discreet.release(log, "travas", no_ledger=True, cases_per_individual=None)
            with pytest.raises(ExistsError, match="is read"):
                drawn.write("lake/a.parquet", overwrite=True)
        with pytest.raises(ExistsError, match="in the folder that is read"):
            discreet.release("lake", "travas", no_ledger=True).write("lake/b.parquet")

    def test_other_commands_do_not_replace_it_either(self, desk: Desk) -> None:
        Path("lake").mkdir()
        discreet.read_log("log.csv").table.write_parquet("lake/a.parquet")
        raw = Path("lake/a.parquet").read_bytes()
        saved = ("--save-mapping", "lake/a.parquet", "--force")
        for place in ("lake", "lake/*.parquet"):
            assert "is the file that is read" in desk.refused("inspect", place, *saved)
        Path("page.html").symlink_to("lake/a.parquet")
        page = ("-o", "page.html", "--force")
        desk.run("release", "lake", "-m", "travas", "-o", "out.csv", "--no-ledger")
        for command in (
            ("advise", "lake/*.parquet"),
            ("evaluate", "lake/*.parquet", "out.csv"),
            ("evaluate", "out.csv", "lake/*.parquet"),
        ):
            assert "is the file that is read" in desk.refused(*command, *page)
        assert Path("lake/a.parquet").read_bytes() == raw
        Path("ledger.csv").write_text("mine")
        with Ledger(desk.folder / "l.db", create=True):
            desk.monkeypatch.setenv("DISCREET_LEDGER", str(desk.folder / "l.db"))
        assert "exists already" in desk.refused("budget", "export", "-o", "ledger.csv")
        desk.run("budget", "export", "-o", "ledger.csv", "--force")
        assert "cannot be written" in desk.refused("audit", "--all", "--markdown", "log.csv")

    def test_a_model_knows_what_it_came_from(self, desk: Desk) -> None:
        pytest.importorskip("torch", reason="the extra generative is missing")
        log = discreet.read_log("log.csv")
        model = discreet.train(
            log, "sequence", max_length=4, steps=2, alphabet="from-log", epsilon=1
        )
        with pytest.raises(ExistsError, match="is the file that is read"):
            model.generate(5).write("log.csv", overwrite=True)
        model.save("model.discreet")
        with pytest.raises(ExistsError, match="overwrite=True"):
            model.save("model.discreet")
        model.save("model.discreet", overwrite=True)
        assert str(desk.folder) not in model.certificate().to_json()


class TestAdvice:
    """It answers for the product that the same options release."""

    def test_the_default_row_is_the_product_that_is_released(self, desk: Desk) -> None:
        quick = ("-m", "travas", "--seconds", "600", "--repetitions", "1", "--epsilon", "1")
        seen = {}
        for options, default in (
            ((), WHOLE),
            (("--no-times",), DEFAULT_MECHANISM),
            (("--order", "file"), DEFAULT_MECHANISM),
            (("--times-share", "0.25"), WHOLE),
        ):
            found = desk.json("advise", "log.csv", *quick, *options)
            assert found["default"] == default
            assert [one["name"] for one in found["trials"] if one["default"]] == [default]
            plan = desk.json(
                "release", "log.csv", "-o", "o.csv", "--epsilon", "1", *options, "--no-ledger"
            )
            assert plan["certificate"]["mechanism"] == default
            (budget,) = found["budgets"]
            note = f"a variant of fewer than {budget['count']} cases is rather hidden than shown"
            assert note in plan["certificate"]["notes"], options
            seen[options] = budget["count"]
            Path("o.csv").unlink()
            Path("o.csv.certificate.json").unlink()
        assert seen[()] > seen["--times-share", "0.25"] > seen[("--no-times",)]

    def test_the_default_row_is_marked(self, desk: Desk) -> None:
        quick = ("-m", "headtail", "--seconds", "600", "--epsilon", "1")
        shown = desk.run("advise", "log.csv", *quick, "--repetitions", "1").stdout
        assert shown.count("(default)") == 1
        assert "headtail (default)" not in shown
        assert "by whole, the default here" in shown
        assert "whole (default)" in desk.run("compare", "log.csv", *quick).stdout


def test_the_form_offers_what_the_command_line_releases(steward: Browser, house: House) -> None:
    """The page of a log of which nothing is said yet has the default product chosen."""
    log = steward.post("/logs/chosen", name="permits.csv").split("/")[2]
    shown = steward.get(f"/logs/{log}/choose")
    assert '<a href="?what=log" aria-current="true">' in shown
    assert '<input type="hidden" name="what" value="log">' in shown
    chosen = house.chosen(house.logs.get(log), {})
    assert (chosen["what"], chosen["mechanism"]) == ("log", Product().resolved().mechanism.name)
