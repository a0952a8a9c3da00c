"""Mechanisms on a log in DuckDB: the same release, or a refusal before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet
from discreet.ledger import storage
from discreet.ledger.fingerprint import fingerprint
from discreet.ledger.ledger import Ledger
from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.log.samples import PERSON, sample_log
from discreet.log.writing import write_log
from discreet.mechanisms.base import Mechanism, bound_individuals
from discreet.mechanisms.registry import mechanism, mechanism_class, mechanism_names
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.utility.evaluation import Evaluator

pytest.importorskip("duckdb", reason="needs the extra duckdb")

IN_ENGINE = [n for n in mechanism_names() if mechanism_class(n).reads != "events"]
QUICK: dict[str, dict[str, Any]] = {
    "choice": {"candidates": "travas,laplace"},
    "sacofa": {"rules": "learn"},
    "whole": {"variants": "travas", "attributes": "org:resource"},
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("engine") / "log.parquet"
    write_log(sample_log("permits", cases=400, seed=5), made)
    return made


def counted(path: Path, *, limit: bool = False) -> EngineLog:
    log = read_log(path, engine="duckdb", individual=PERSON)
    assert isinstance(log, EngineLog)
    if limit:
        log.__dict__["_check_room"] = _never
    return log


def of_the_mechanism(chosen: Mechanism, log: EventLog) -> list[str]:
    """Its advice without cautions, of which an engine knows less: names of columns only."""
    cautions = {str(one) for one in chosen.cautions(log)}
    return [said for said in chosen.advice(log) if said not in cautions]


def _never(size: int, what: str, advice: str) -> None:
    if what not in ("its variants", "as many new events"):
        raise LogError(f"{what} are asked for")


def built(name: str, **more: Any) -> Mechanism:
    given: dict[str, Any] = {"epsilon": 2.0, **QUICK.get(name, {}), **more}
    if "alphabet" in mechanism_class(name).parameters():
        given["alphabet"] = "from-log"
    return mechanism(name, **given)


@pytest.mark.parametrize("name", IN_ENGINE)
def test_what_reads_no_events_releases_the_same(name: str, path: Path) -> None:
    chosen = built(name)
    memory = read_log(pl.read_parquet(path), individual=PERSON)
    found = chosen.release(counted(path, limit=True), insecure_seed=4)
    expected = chosen.release(memory, insecure_seed=4)
    if isinstance(expected.artefact, EventLog):
        assert found.log().to_polars().equals(expected.log().to_polars())
    else:
        assert found.artefact == expected.artefact
    assert found.guarantee == expected.guarantee
    said = of_the_mechanism(chosen, counted(path, limit=True))
    assert said == of_the_mechanism(chosen, memory)


def test_batches_change_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = built("whole")
    expected = chosen.release(counted(path), insecure_seed=4).log().to_polars()
    monkeypatch.setattr("discreet.log.engines.duckdb.AT_ONCE", 500)
    monkeypatch.setattr("discreet.log.engines.batches.KEPT_BYTES", 10**9)
    found = chosen.release(counted(path), insecure_seed=4).log().to_polars()
    assert found.equals(expected)


def test_most_of_our_mechanisms_read_no_events() -> None:
    expected = {"choice", "df-laplace", "dpim", "headtail", "laplace", "sacofa", "sapa"}
    assert set(IN_ENGINE) == expected | {"travas", "utravas", "amun", "whole"}


def test_what_reads_events_gets_them_if_they_fit(path: Path) -> None:
    chosen = mechanism("amun", fidelity="published")
    released = chosen.release(counted(path), insecure_seed=1)
    log = released.log()
    assert log.cases > 100
    assert log.has_times
    with pytest.raises(LogError, match="are asked for"):
        chosen.check(counted(path, limit=True))


def test_nothing_is_spent_on_what_does_not_fit(path: Path, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("clinic", Budget(5, 1e-3))
        large = counted(path, limit=True)
        with pytest.raises(LogError, match="are asked for"):
            ledger.release(mechanism("sequence", epsilon=1), large, source="clinic")
        assert ledger.account("clinic").spent.epsilon == 0
        ledger.release(mechanism("travas", epsilon=1), large, source="clinic")
        assert ledger.account("clinic").spent.epsilon == 1
        assert ledger.recognise(large, "clinic") == []
        (warning,) = ledger.recognise(large, "ward")
        assert "already released under the source 'clinic'" in warning


def test_a_log_is_recognised_whatever_counted_it(path: Path) -> None:
    key = b"k" * 32
    memory = read_log(pl.read_parquet(path), individual=PERSON)
    assert fingerprint(counted(path), key) == fingerprint(memory, key)
    untimed = read_log(path, engine="duckdb", order="file")
    assert fingerprint(untimed, key) == fingerprint(read_log(path, order="file"), key)


def test_a_log_of_an_engine_and_what_a_ledger_noted_at_first(path: Path, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("clinic", Budget(5))
        with ledger.storage.writing() as (connection, _):
            storage.remember(connection, 64 * "0", "clinic")
        log = counted(path, limit=True)
        (warning,) = ledger.recognise(log, "ward")
        assert "could not check" in warning
        assert "--engine memory" in warning
        assert ledger.recognise(log, "ward") == []


def test_individuals_are_bounded_in_the_engine(path: Path) -> None:
    log = counted(path, limit=True)
    bounded = bound_individuals(log, 1, Randomness.system())
    assert isinstance(bounded, EngineLog)
    assert bounded.cases == len(log.cases_of_individuals()) < log.cases
    chosen = mechanism("travas", epsilon=2.0, cases_per_individual=1)
    release = chosen.release(log)
    assert release.guarantee.unit == "individual"
    assert 0 < release.artefact.cases < 2 * bounded.cases


def test_a_log_in_an_engine_is_a_log(path: Path) -> None:
    log = counted(path)
    memory = read_log(pl.read_parquet(path), individual=PERSON)
    assert isinstance(log, EventLog)
    assert repr(log).endswith("in duckdb")
    assert "permit" in log._repr_html_().lower() or "→" in log._repr_html_()
    assert sorted(log.case_ids) == sorted(memory.case_ids)
    assert log.schema().schema == memory.schema().schema
    both = [
        Evaluator(one).evaluate(memory.variants, measures=("similarity", "follows"))
        for one in (log, memory)
    ]
    assert [f.value for f in both[0]] == [f.value for f in both[1]]
    assert len(log.individual_of_case) == log.cases
    assert log.take_cases([0, 1]).cases == 2


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
def test_release_takes_a_file_and_an_engine(path: Path) -> None:
    released = discreet.release(path, "travas", engine="duckdb", memory="500MB", no_ledger=True)
    assert released.artefact.cases > 0


def test_an_engine_that_fails_while_people_are_bounded_costs_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.log.engines.duckdb import DuckDBEngine

    log = counted(path)
    chosen = mechanism("travas", epsilon=1, cases_per_individual=1)
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("clinic", Budget(5, 1e-3))
        with monkeypatch.context() as patch:
            patch.setattr(DuckDBEngine, "restrict", _full_disk)
            with pytest.raises(LogError, match="disk is full"):
                ledger.release(chosen, log, source="clinic")
        assert ledger.account("clinic").spent.epsilon == 0
        ledger.release(chosen, log, source="clinic")
        assert ledger.account("clinic").spent.epsilon > 0
    first, second = (log.prepared(1) for _ in range(2))
    assert first is second is None  # what was prepared was for that release only


def _full_disk(engine: object, number: int, cases: int, key: bytes) -> None:
    raise LogError("the disk is full")


def _no_room(frame: pl.DataFrame) -> object:
    raise OSError("no space left on device")


def test_attributes_come_from_the_engine(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = read_log(pl.read_parquet(path), individual=PERSON)
    by_name = sorted(range(memory.cases), key=memory.case_ids.__getitem__)
    text = tmp_path / "log.csv"
    pl.read_parquet(path).write_csv(text)
    expected = memory.take_cases(by_name).frame
    for one in (path, text):
        log = read_log(one, engine="duckdb", individual=PERSON)
        assert log.frame.equals(expected.select(log.frame.columns))
        assert "org:resource" in log.frame.columns
        assert set(log.bounded(1, b"k" * 32).frame.columns) == set(log.frame.columns)  # type: ignore[attr-defined]
    chosen = mechanism("whole", epsilon=3.0, variants="travas", attributes="org:resource")
    small = read_log(path, engine="duckdb", individual=PERSON, memory="100MB")
    small.engine.memory = small.events * 120  # type: ignore[attr-defined]
    with pytest.raises(LogError, match="too large"):
        chosen.check(small)
    unknown = mechanism("whole", epsilon=3.0, variants="travas", attributes="role")
    with pytest.raises(LogError, match=r"no column 'role'.*org:resource"):
        unknown.check(counted(path))
    with monkeypatch.context() as patch:
        patch.setattr("discreet.log.engines.batches.as_rows", _no_room)
        with pytest.raises(LogError, match="TMPDIR"):
            chosen.check(counted(path))
    begun = mechanism("whole", epsilon=3.0, variants="travas", begun="begun")
    early = pl.col("time:timestamp") - pl.duration(minutes=20)
    pl.read_parquet(path).with_columns(early.alias("begun")).write_parquet(tmp_path / "b.parquet")
    both = [
        begun.release(read_log(tmp_path / "b.parquet", engine=engine), insecure_seed=2).log()
        for engine in ("duckdb", "memory")
    ]
    assert both[0].to_polars().equals(both[1].to_polars())
    narrow = read_log(path, engine="duckdb", individual=PERSON, further=False)
    assert "org:resource" not in narrow.frame.columns
