"""What a case and an individual is stays what it was for the first release of a source."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import discreet
from discreet.ledger.errors import RefusedError
from discreet.ledger.ledger import Ledger
from discreet.privacy.guarantee import Budget

TABLE = pl.DataFrame(
    {
        "visit": [f"v{i // 2}" for i in range(80)],
        "stay": [f"s{i // 4}" for i in range(80)],
        "person": [f"p{i // 8}" for i in range(80)],
        "family": [f"f{i // 16}" for i in range(80)],
        "activity": ["a", "b"] * 40,
    }
)
TRAVAS = discreet.mechanism("travas", epsilon=0.1)
PERSONS = discreet.mechanism("travas", epsilon=0.1, cases_per_individual=2)


def read(case: str = "visit", individual: str | None = "person") -> discreet.EventLog:
    return discreet.read_log(TABLE, case=case, individual=individual, order="file")


def test_the_guarantee_names_its_columns(tmp_path: Path) -> None:
    promise = TRAVAS.release(read()).guarantee
    assert (promise.case_column, promise.individual_column) == ("visit", None)
    promise = PERSONS.release(read()).guarantee
    assert (promise.case_column, promise.individual_column) == ("visit", "person")
    assert "any one person (column 'person', at most 2 cases each)" in promise.explain()
    assert "Cases are told apart by the column 'visit'" in promise.explain()
    same = PERSONS.release(read(case="person")).guarantee
    assert (same.case_column, same.individual_column) == ("person", "person")
    PERSONS.release(read()).write(tmp_path / "out.csv")
    certificate, findings = discreet.check_certificate(tmp_path / "out.csv")
    assert certificate.guarantee.individual_column == "person"
    assert {finding.outcome for finding in findings} == {"holds"}


def test_another_individual_is_refused(ledger: Ledger) -> None:
    ledger.set_budget("town", Budget(1, 1e-4), unit="individual")
    ledger.release(PERSONS, read(), source="town")
    with pytest.raises(RefusedError, match=r"individuals apart by the column 'person'.*'family'"):
        ledger.release(PERSONS, read(individual="family"), source="town")
    with pytest.raises(RefusedError, match=r"cases apart by the column 'visit'.*'stay'"):
        ledger.release(PERSONS, read(case="stay"), source="town")
    assert ledger.account("town").releases == 1
    assert ledger.history("town")[-1]["guarantee"]["individual_column"] == "person"
    ledger.release(PERSONS, read(), source="town")
    assert ledger.verify()[1] == []


def test_another_case_is_refused(ledger: Ledger) -> None:
    ledger.set_budget("town", Budget(1, 1e-4))
    ledger.release(TRAVAS, read(), source="town")
    with pytest.raises(RefusedError, match="--case 'visit'"):
        ledger.release(TRAVAS, read(case="stay"), source="town")
    ledger.release(PERSONS, read(individual="family"), source="town")  # dearer than a case
    ledger.set_budget("town", Budget(0.9, 1e-4))
    with pytest.raises(RefusedError, match="'visit'"):
        ledger.release(TRAVAS, read(case="stay"), source="town")
    assert ledger.verify()[1] == []


def test_a_promise_that_names_no_columns_is_not_booked(ledger: Ledger) -> None:
    ledger.set_budget("town", Budget(1, 1e-4))
    with pytest.raises(discreet.LedgerError, match="promise"):
        ledger.book("town", TRAVAS.guarantee(), mechanism="travas", parameters={})
    ledger.check("town", TRAVAS.guarantee())
