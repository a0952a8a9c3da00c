"""A log is recognised whatever file it comes in, and by nothing that leaves."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import polars as pl
import pytest

import discreet
from discreet.ledger import storage
from discreet.ledger.errors import LedgerError
from discreet.ledger.fingerprint import (
    fingerprint,
    first_fingerprint,
    key_check,
    make_key,
    read_key,
)
from discreet.ledger.ledger import Ledger, as_document
from discreet.log.events import ACTIVITY, EventLog
from discreet.log.samples import sample_log
from discreet.privacy.guarantee import Budget
from tests.conftest import RealLogs, read_once

KEY = bytes(range(32))
FIRST = "3fcdb2a1ee9e17e681726eb74d0ebdd7ac6cce5619c57cc2ffa25a0d7c96bc3b"


@pytest.fixture(scope="module")
def log() -> EventLog:
    return sample_log("hospital", cases=200, seed=3)


@pytest.mark.parametrize("name", ["log.xes", "log.xes.gz", "log.csv", "log.parquet"])
def test_the_same_log_in_every_format(log: EventLog, tmp_path: Path, name: str) -> None:
    discreet.write_log(log, tmp_path / name)
    assert fingerprint(discreet.read_log(tmp_path / name), KEY) == fingerprint(log, KEY)


def test_a_real_log_as_xes_and_as_csv(real_logs: RealLogs, tmp_path: Path) -> None:
    log = read_once(real_logs["Sepsis"][1])
    discreet.write_log(log, tmp_path / "sepsis.csv")
    assert fingerprint(discreet.read_log(tmp_path / "sepsis.csv"), KEY) == fingerprint(log, KEY)


def test_the_classifier_does_not_matter(real_logs: RealLogs) -> None:
    path = real_logs["BPIC2013_open_problems"][1]
    plain = read_once(path)
    both = discreet.read_log(path, classifier="activity+lifecycle")
    assert plain.activities != both.activities
    assert fingerprint(plain, KEY) == fingerprint(both, KEY)


def test_the_order_of_the_cases_does_not_matter(log: EventLog) -> None:
    turned = log.take_cases(list(reversed(range(log.cases))))
    assert fingerprint(turned, KEY) == fingerprint(log, KEY)


def test_another_content_or_key_is_another_fingerprint(log: EventLog) -> None:
    marks = {fingerprint(log, KEY), fingerprint(log, KEY[::-1])}
    fewer = log.take_cases(list(range(1, log.cases)))
    marks.add(fingerprint(fewer, KEY))
    renamed = EventLog.from_table(
        log.table.with_columns(pl.col(ACTIVITY).cast(pl.String).replace(log.activities[0], "x"))
    )
    marks.add(fingerprint(renamed, KEY))
    later = EventLog.from_table(
        log.table.with_columns(pl.col("time:timestamp") + pl.duration(seconds=1))
    )
    marks.add(fingerprint(later, KEY))
    timeless = EventLog.from_table(log.table.drop("time:timestamp"))
    marks.add(fingerprint(timeless, KEY))
    assert len(marks) == 6


def test_a_known_log_under_another_name_is_noticed(ledger: Ledger, log: EventLog) -> None:
    ledger.set_budget("a", Budget(1))
    ledger.set_budget("b", Budget(1))
    assert ledger.recognise(log, "a") == []
    assert ledger.recognise(log, "a") == []
    (warning,) = ledger.recognise(log, "b")
    assert "'a'" in warning
    assert "two budgets" in warning
    assert len(ledger.recognise(log, "b")) == 1


def test_a_log_that_was_noted_by_a_first_fingerprint(ledger: Ledger, log: EventLog) -> None:
    ledger.set_budget("a", Budget(1))
    ledger.set_budget("b", Budget(1))
    key = make_key(ledger.location.key)
    with ledger.storage.writing() as (connection, _):
        storage.set_key(connection, key_check(key))
        storage.remember(connection, first_fingerprint(log, key), "a")
    for _ in range(2):
        (warning,) = ledger.recognise(log, "b")
        assert "'a'" in warning
    (warning,) = ledger.recognise(log, "a")
    assert "'b'" in warning


def test_the_first_fingerprint_stays_what_it_was(log: EventLog) -> None:
    assert first_fingerprint(log, KEY) == FIRST


def test_the_fingerprint_and_the_key_stay_in_the_ledger(ledger: Ledger, log: EventLog) -> None:
    ledger.set_budget("a", Budget(1))
    ledger.recognise(log, "a")
    key = read_key(ledger.location.key)
    assert key is not None
    exported = as_document(ledger.export()).decode() + json.dumps(ledger.history())
    assert fingerprint(log, key) not in exported
    assert key.hex() not in exported
    assert stat.S_IMODE(ledger.location.key.stat().st_mode) == 0o600


def test_a_missing_key_costs_only_the_warning(ledger: Ledger, log: EventLog) -> None:
    ledger.set_budget("a", Budget(1))
    ledger.recognise(log, "a")
    ledger.location.key.unlink()
    (warning,) = ledger.recognise(log, "a")
    assert "copy it from a colleague" in warning
    assert not ledger.location.key.exists()
    make_key(ledger.location.key)
    assert len(ledger.recognise(log, "a")) == 1


def test_a_key_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"
    key = make_key(path)
    assert make_key(path) == read_key(path) == key
    assert [entry.name for entry in path.parent.iterdir()] == ["key"]


@pytest.mark.parametrize("content", ["not a key", "abcd"])
def test_a_file_that_is_no_key(tmp_path: Path, content: str) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(LedgerError, match="key"):
        read_key(tmp_path / "key")
