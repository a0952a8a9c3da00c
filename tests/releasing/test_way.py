"""The one way: what each step refuses, and what stands when one fails."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import discreet
from discreet import releases
from discreet.ledger.errors import LedgerError
from discreet.ledger.ledger import Ledger
from discreet.log.errors import LogError
from discreet.mechanisms.travas import TraVaS
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.wording import TooWeakError
from discreet.releasing import way
from discreet.releasing.request import Output, Payment, Product, Request, RequestError
from discreet.releasing.way import RescuedError, carry_out, try_out

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = discreet.sample_log("permits", cases=60, seed=1)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log, and a ledger on which a town may spend."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "ledger.db"))
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("town", Budget(3, 1e-5))
    discreet.write_log(LOG, tmp_path / "log.csv")
    return tmp_path


def asked(**more: object) -> Request:
    given = Request(
        log="log.csv",
        product=Product("travas", {"delta": 1e-6}),
        payment=Payment("town"),
        output=Output("out.csv"),
    )
    return replace(given, **more)  # type: ignore[arg-type]


def entries() -> list[dict[str, object]]:
    with Ledger() as ledger:
        return [row for row in ledger.history("town") if row["kind"] == "release"]


def known() -> int:
    """Under how many names logs are known to the ledger."""
    with Ledger() as ledger, ledger.storage.reading() as connection:
        return len(connection.exec_driver_sql("select * from discreet_seen").all())


@pytest.mark.parametrize(
    ("request_", "error", "match"),
    [
        (asked(product=Product("travas", {"epsilon": 9})), LedgerError, "does not fit"),
        (asked(product=Product("travas", {"epsilon": 30})), TooWeakError, "allow_weak"),
        (asked(payment=Payment()), LedgerError, "there is a ledger"),
        (asked(payment=Payment("village")), LedgerError, "village"),
        (asked(payment=Payment("town", cost={})), LedgerError, "would cost something else"),
        (asked(output=Output("log.csv", overwrite=True)), LogError, "the file that is read"),
        (asked(output=Output("out.png")), LogError, "cannot be written"),
        (asked(output=Output("none/out.csv")), LogError, "no folder"),
        (asked(seed=1), LedgerError, "seed"),
        (
            asked(output=Output("out.variants.parquet"), product=Product(times=True)),
            LogError,
            "keep the variants only",
        ),
        (asked(product=Product("travas", model=True)), ParameterError, "trains no model"),
    ],
)
def test_what_cannot_be_afforded_is_refused_before_the_log_is_read(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    request_: Request,
    error: type[Exception],
    match: str,
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("the log was read")

    monkeypatch.setattr(way, "read_as", read)
    for until in ("afford", "confirm"):
        with pytest.raises(error, match=match):
            carry_out(request_, until=until)
    assert entries() == []
    assert sorted(path.name for path in place.glob("out*")) == []


def test_a_rehearsal_reads_nothing_and_a_look_spends_nothing(place: Path) -> None:
    missing = asked(log="none.csv")
    rehearsed = carry_out(missing, until="afford")
    assert rehearsed.booking.outlook().startswith("it fits on town")
    with pytest.raises(LogError, match=r"none\.csv"):
        carry_out(missing, until="warn")
    told: list[str] = []
    looked = carry_out(asked(), tell=told.append, until="warn")
    assert looked.warned == bool(told)
    assert looked.release is None
    assert entries() == []
    assert known() == 0, "a look leaves no note on the ledger"
    assert not (place / "out.csv").exists()


def test_a_file_is_written_and_confirmed_and_one_in_memory_later(place: Path) -> None:
    shown: list[str] = []

    @contextmanager
    def stage(text: str) -> Iterator[None]:
        shown.append(text)
        yield

    outcome = carry_out(asked(), progress=stage)
    assert shown == ["reading log.csv", "releasing with travas", "writing out.csv"]
    assert outcome.certificate == discreet.read_certificate("out.csv")
    (row,) = entries()
    assert row["certificate"] is not None
    assert outcome.booking.entry == row["number"]
    held = carry_out(asked(output=None), until="draw")
    assert held.certificate is None
    assert entries()[1]["certificate"] is None
    assert held.release is not None
    held.release.write("later.csv")
    assert entries()[1]["certificate"] is not None


def test_a_request_as_json_gives_the_same(place: Path) -> None:
    request = asked(payment=Payment(bypassed=True), seed=5)
    first = carry_out(request).certificate
    again = replace(Request.from_json(request.to_json()), output=Output("again.csv"))
    second = carry_out(again).certificate
    assert first is not None
    assert second == first
    drawn = carry_out(replace(again, log=None, output=None), data=LOG, until="draw").release
    assert drawn is not None
    assert drawn.write("memory.csv").content_sha256 == first.content_sha256


def test_the_file_of_a_log_in_memory_is_not_replaced_either(place: Path) -> None:
    log = discreet.read_log("log.csv")
    with pytest.raises(LogError, match="the file that is read"):
        carry_out(asked(log=None, output=Output("log.csv", overwrite=True)), data=log)
    assert entries() == []


def test_what_the_log_lacks_is_refused_before_anything_is_noted(place: Path) -> None:
    request = asked(product=Product("travas", {"delta": 1e-6, "cases_per_individual": 2}))
    with pytest.raises(LogError, match="individual"):
        carry_out(request)
    assert entries() == []
    assert known() == 0


def test_people_who_are_named_are_protected_unless_cases_are_meant(place: Path) -> None:
    reading = replace(asked().reading, individual="case:person")
    with pytest.raises(ParameterError, match="cases_per_individual"):
        carry_out(asked(reading=reading), until="afford")
    alone = replace(asked().product, cases_alone=True)
    outcome = carry_out(asked(reading=reading, product=alone))
    assert outcome.certificate is not None
    assert outcome.certificate.guarantee.unit == "case"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_what_fails_after_payment_says_what_stands(
    place: Path, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    def broken(*_: object) -> None:
        raise stop("no more")

    monkeypatch.setattr(TraVaS, "_draw", broken)
    with pytest.raises(stop) as caught:
        carry_out(asked())
    assert "entry 2 on town was booked before the noise was drawn" in caught.value.__notes__[0]
    assert len(entries()) == 1


def test_what_fails_before_payment_has_no_note(place: Path) -> None:
    with pytest.raises(LogError) as caught:
        carry_out(asked(log="none.csv"))
    assert not getattr(caught.value, "__notes__", [])


def test_what_cannot_be_written_in_its_place_lies_elsewhere(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(releases, "write_log", full)
    with pytest.raises(RescuedError, match="no space left") as caught:
        carry_out(asked())
    assert caught.value.place.name == "out.variants.parquet"
    assert caught.value.place.exists()
    assert str(caught.value.place) in str(caught.value)
    assert not getattr(caught.value, "__notes__", []), "something was written"
    assert not (place / "out.csv").exists()
    assert entries()[0]["certificate"] is not None


def test_a_request_needs_a_log(place: Path) -> None:
    with pytest.raises(RequestError, match="names no log"):
        carry_out(asked(log=None))


def test_a_trial_costs_nothing(place: Path) -> None:
    drawn = try_out(Request(product=Product("travas"), seed=2), LOG)
    assert drawn.ledger == "none"
    assert entries() == []


def test_a_training_is_stopped_and_finished_and_paid_for_once(place: Path) -> None:
    pytest.importorskip("torch", reason="the extra generative is missing")
    from discreet.training.checkpoint import StoppedError
    from tests.releasing.test_booking import stop_at

    parameters = {"max_length": 4, "steps": 3, "alphabet": "from-log", "epsilon": 1.0}
    request = asked(
        product=Product("sequence", parameters, model=True), output=Output("m.discreet")
    )

    @contextmanager
    def stopping(mechanism: object) -> Iterator[object]:
        yield stop_at(1)

    carry_out(request, until="warn")
    assert entries() == []
    with pytest.raises(StoppedError):
        carry_out(request, watch=stopping)  # type: ignore[arg-type]
    assert len(entries()) == 1
    outcome = carry_out(request)
    assert outcome.model is not None
    assert outcome.certificate == discreet.load_model("m.discreet").certificate()
    (row,) = entries()
    assert row["certificate"] is not None
