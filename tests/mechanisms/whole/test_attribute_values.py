from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet.log.events import EventLog
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.attribute_values import clear_values_alone, share_given
from discreet.mechanisms.whole.distributions import NoisyRow
from discreet.mechanisms.whole.noisy_tables import LearntTable
from discreet.utility.attributes import MEASURES
from tests.mechanisms.whole.logs import log_of, office, released

ASKED = ("org:resource", "case:amount:number")


def test_values_by_activity_and_missing_ones_are_kept() -> None:
    raw, log = log_of(office(3000)), released(office(3000), 20.0, attributes=ASKED)
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
    log = released(office(3000), 20.0, attributes=ASKED)
    assert log.table.schema["case:amount"] == pl.Float64
    values = log.table.group_by("case:concept:name").agg(pl.col("case:amount").n_unique())
    assert values["case:amount"].max() == 1
    amounts = log.table["case:amount"].drop_nulls()
    assert amounts.is_in([50.0, 100.0, 250.0]).to_numpy().mean() > 0.95
    assert (amounts == 100).to_numpy().mean() == pytest.approx(0.5, abs=0.1)


def test_resources_keep_working_on_a_case() -> None:
    log = released(office(3000), 20.0, attributes=ASKED)
    pairs = log.table.filter(pl.col("concept:name").is_in(["register", "check"]))
    both = pairs.group_by("case:concept:name").agg(pl.col("org:resource"))
    same = both.filter(pl.col("org:resource").list.len() == 2).select(
        pl.col("org:resource").list.get(0) == pl.col("org:resource").list.get(1)
    )
    assert same.to_series().fill_null(value=False).to_numpy().mean() > 0.6


def test_presence_is_none_or_all_where_that_explains_the_counts() -> None:
    seen = np.array(
        [
            [50.0, 0.5, -1.0, 2.0],
            [0.7, 10.0, 5.0, 30.0],
            [20.0, 10.0, 5.0, 5.0],
            [0.5, 1.0, 0.0, 0.0],
        ]
    )
    shares = np.maximum(seen, 0) / np.maximum(seen, 0).sum(axis=1, keepdims=True)
    assert share_given(seen, shares).tolist() == [0.0, 1.0, 0.5, 1.0]


def test_a_row_of_few_values_has_none_of_the_others() -> None:
    few, many = np.array([900.0, 12, -9, 5]), np.array([300.0, 200, 250, 150])
    first = np.arange(4)
    rows = [NoisyRow(0, 4, float(noisy.sum()), [(first, noisy, 20.0)]) for noisy in (few, many)]
    fitted = np.maximum([few, many], 1.0)
    shares = fitted / fitted.sum(axis=1, keepdims=True)
    found = clear_values_alone(LearntTable(shares, rows))
    assert found[0].tolist() == [1, 0, 0, 0]
    assert found[1].tolist() == shares[1].tolist()


def test_an_attribute_that_is_never_there_stays_missing() -> None:
    log = log_of(office(60))
    empty = EventLog.from_table(
        log.table.with_columns(
            pl.lit(None, pl.String).alias("note"), pl.lit(None, pl.Float64).alias("score")
        )
    )
    asked = "note,score:number"
    drawn = Whole(epsilon=100_000, variants="travas", attributes=asked).release(empty)
    assert isinstance(drawn.artefact, EventLog)
    for column in ("note", "score"):
        # Noise of .03 may pass for a value in one of 100 rows, and then for two of its events.
        assert drawn.artefact.table[column].null_count() > 0.95 * drawn.artefact.events


def test_a_huge_budget_leaves_no_bias_of_events() -> None:
    """What is left of numbers is one for another in the same cell of the grid."""
    log = log_of(office(2000))
    asked = ("org:resource", "weight:number")
    drawn = Whole(epsilon=100_000, variants="travas", attributes=asked).release(log).artefact
    assert isinstance(drawn, EventLog)
    for measure in ("values", "values_by_activity"):
        assert MEASURES[measure][0](log, drawn, "org:resource") < 0.01
        assert MEASURES[measure][0](log, drawn, "weight") < 0.03
