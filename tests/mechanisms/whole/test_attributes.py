from __future__ import annotations

import polars as pl
import pytest

import discreet
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.declared_attributes import DeclaredAttribute, read_attributes
from discreet.mechanisms.whole.value_cells import OTHER
from tests.mechanisms.whole.logs import Event, log_of, office

ASKED = ("org:resource", "case:amount:number")


def released(cases: list[list[Event]], attributes: tuple[str, ...], epsilon: float) -> EventLog:
    found = Whole(epsilon=epsilon, attributes=attributes).release(log_of(cases)).artefact
    assert isinstance(found, EventLog)
    return found


def test_values_by_activity_and_missing_ones_are_kept() -> None:
    raw, log = log_of(office(3000)), released(office(3000), ASKED, 20.0)
    for activity in ("register", "decide", "letter"):
        for who in ("ann", "eve"):
            true, given = (
                (one.table.filter(pl.col("concept:name") == activity)["org:resource"] == who)
                .fill_null(value=False)
                .to_numpy()
                .mean()
                for one in (raw, log)
            )
            assert given == pytest.approx(true, abs=0.06)
    letters = log.table.filter(pl.col("concept:name") == "letter")
    assert letters["org:resource"].is_null().to_numpy().mean() > 0.9
    missing = [one.table["case:amount"].is_null().to_numpy().mean() for one in (raw, log)]
    assert missing[1] == pytest.approx(missing[0], abs=0.05)


def test_a_case_has_one_value_and_numbers_keep_their_spikes() -> None:
    log = released(office(3000), ASKED, 20.0)
    assert log.table.schema["case:amount"] == pl.Float64
    values = log.table.group_by("case:concept:name").agg(pl.col("case:amount").n_unique())
    assert values["case:amount"].max() == 1
    amounts = log.table["case:amount"].drop_nulls()
    assert amounts.is_in([50.0, 100.0, 250.0]).to_numpy().mean() > 0.95
    assert (amounts == 100).to_numpy().mean() == pytest.approx(0.5, abs=0.1)


def test_resources_keep_working_on_a_case() -> None:
    log = released(office(3000), ASKED, 20.0)
    pairs = log.table.filter(pl.col("concept:name").is_in(["register", "check"]))
    both = pairs.group_by("case:concept:name").agg(pl.col("org:resource"))
    same = both.filter(pl.col("org:resource").list.len() == 2).select(
        pl.col("org:resource").list.get(0) == pl.col("org:resource").list.get(1)
    )
    assert same.to_series().fill_null(value=False).to_numpy().mean() > 0.6


def test_rare_values_are_not_named() -> None:
    cases = office(1500)
    cases[0] = [(activity, at, "lone wolf", 98.76) for activity, at, _, _ in cases[0]]
    log = released(cases, ASKED, 2.0)
    assert "lone wolf" not in log.table["org:resource"].unique().to_list()
    assert set(log.table["org:resource"].drop_nulls().unique()) <= {"ann", "bob", "eve", OTHER}


def test_public_values_need_no_selection() -> None:
    attribute = read_attributes(("org:resource=ann|bob|eve|zoe",))[0]
    assert attribute == DeclaredAttribute("org:resource", "text", ("ann", "bob", "eve", "zoe"))
    assert not any("names" in name for name in attribute.steps)
    log = released(office(300), ("org:resource=ann|bob|eve|zoe",), 20.0)
    assert {"ann", "bob", "eve"} <= set(log.table["org:resource"].drop_nulls().unique())


def test_numbers_without_spikes_follow_their_distribution() -> None:
    cases: list[list[Event]] = [
        [(activity, at, who, 10.0 + (37 * i) % 4000) for activity, at, who, _ in case]
        for i, case in enumerate(office(4000))
    ]
    log = released(cases, ("case:amount:integer",), 20.0)
    assert log.table.schema["case:amount"] == pl.Int64
    amounts = log.table["case:amount"]
    for quantile in (0.1, 0.5, 0.9):
        assert amounts.quantile(quantile) == pytest.approx(10 + 4000 * quantile, rel=0.15)


def test_attributes_go_with_durations_and_with_each_other() -> None:
    """Slow cases are about large amounts, and the kind follows from the amount."""
    cases: list[list[Event]] = []
    for case in office(2000):
        amount = 250.0 if case[2][1] - case[0][1] > 60 else 50.0
        cases.append([(activity, at, who, amount) for activity, at, who, _ in case])
    asked = ("case:amount:number", "case:kind", "weight:number")
    mechanism = Whole(epsilon=60, variants="travas", attributes=asked)
    drawn = mechanism.release(log_of(cases)).artefact
    assert isinstance(drawn, EventLog)
    hours = pl.col("time:timestamp").max() - pl.col("time:timestamp").min()
    each = drawn.table.group_by("case:concept:name").agg(
        hours.dt.total_hours().alias("hours"), pl.col("case:amount", "case:kind").first()
    )
    slow = each["hours"] > 60
    large = (each["case:amount"] > 99).fill_null(value=False)
    kind = (each["case:kind"] == "large").fill_null(value=False)
    assert (large == slow).to_numpy().mean() > 0.8
    assert (kind == large).to_numpy().mean() > 0.85
    weights = drawn.table.group_by("concept:name").agg(pl.col("weight").median())
    middle = dict(weights.iter_rows())
    assert middle["register"] < 30
    assert middle["check"] > 100


@pytest.mark.parametrize(
    ("attribute", "message"),
    [("colour", "no column 'colour'"), ("org:resource:number", "not numbers")],
)
def test_columns_that_do_not_fit_are_refused(attribute: str, message: str) -> None:
    with pytest.raises(LogError, match=message):
        Whole(attributes=(attribute,)).check(log_of(office(5)))


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


def test_one_line_in_python() -> None:
    done = discreet.release(
        log_of(office(400)), "travas", epsilon=8, times=True, no_ledger=True, fidelity="strict",
        attributes=["org:resource", "case:amount:number"],
    )  # fmt: skip
    assert isinstance(done.artefact, EventLog)
    assert done.artefact.table.columns[3:] == ["org:resource", "case:amount"]
    assert done.parameters["variants"] == "travas"
