from __future__ import annotations

import polars as pl
import pytest

from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.declared_attributes import DeclaredAttribute, read_attributes
from discreet.mechanisms.whole.value_cells import OTHER
from tests.mechanisms.whole.logs import Event, log_of, office, released

ASKED = ("org:resource", "case:amount:number")


def test_rare_values_are_not_named() -> None:
    cases = office(1500)
    cases[0] = [(activity, at, "lone wolf", 98.76) for activity, at, _, _ in cases[0]]
    log = released(cases, 2.0, attributes=ASKED)
    assert "lone wolf" not in log.table["org:resource"].unique().to_list()
    assert set(log.table["org:resource"].drop_nulls().unique()) <= {"ann", "bob", "eve", OTHER}


def test_public_values_need_no_selection() -> None:
    attribute = read_attributes(("org:resource=ann|bob|eve|zoe",))[0]
    assert attribute == DeclaredAttribute("org:resource", "text", ("ann", "bob", "eve", "zoe"))
    assert not any("names" in name for name in attribute.steps)
    log = released(office(300), 20.0, attributes=("org:resource=ann|bob|eve|zoe",))
    assert {"ann", "bob", "eve"} <= set(log.table["org:resource"].drop_nulls().unique())


def test_numbers_without_spikes_follow_their_distribution() -> None:
    cases: list[list[Event]] = [
        [(activity, at, who, 10.0 + (37 * i) % 4000) for activity, at, who, _ in case]
        for i, case in enumerate(office(4000))
    ]
    log = released(cases, 20.0, attributes=("case:amount:integer",))
    assert log.table.schema["case:amount"] == pl.Int64
    amounts = log.table["case:amount"]
    for quantile in (0.1, 0.5, 0.9):
        assert amounts.quantile(quantile) == pytest.approx(10 + 4000 * quantile, rel=0.15)


def test_rare_names_are_told_beforehand() -> None:
    cases: list[list[Event]] = [
        [(activity, at, f"r{i % 300}", amount) for activity, at, _, amount in case]
        for i, case in enumerate(office(900))
    ]
    mechanism = Whole(attributes=ASKED)
    (note,) = (one for one in mechanism._notes() if "values of org:resource" in one)
    assert "become (other)" in note
    (warning,) = (one for one in mechanism.advice(log_of(cases)) if "org:resource" in one)
    assert "300 of 300 values" in warning
    assert not Whole(attributes=ASKED, epsilon=50).advice(log_of(office(900)))
