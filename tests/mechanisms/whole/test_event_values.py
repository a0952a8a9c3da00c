from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.events import EventLog
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.attribute_values import (
    clear_values_alone,
    rows_of_frequent,
    share_given,
)
from discreet.mechanisms.whole.distributions import NoisyRow, choose_by_row
from discreet.mechanisms.whole.noisy_tables import LearntTable
from discreet.privacy.randomness import Randomness
from discreet.utility.attributes import MEASURES
from tests.mechanisms.whole.logs import log_of, office


@given(
    many=st.lists(st.integers(0, 40), min_size=1, max_size=5),
    columns=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=30, deadline=None)
def test_drawing_keeps_the_shares_of_each_row(many: list[int], columns: int, seed: int) -> None:
    weights = np.random.default_rng(seed).random((len(many), columns)) + 1e-9
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(many)), many))
    chosen = choose_by_row(weights, rows, Randomness.seeded(seed))
    found = np.zeros_like(weights)
    np.add.at(found, (rows, chosen), 1)
    wanted = weights / weights.sum(axis=1, keepdims=True) * np.array(many)[:, None]
    assert (np.abs(found - wanted) < 2).all()


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


def test_rare_activities_share_a_row() -> None:
    assert rows_of_frequent(np.array([3.0, 50, 2, 90]), 10.0).tolist() == [2, 0, 2, 1]
    assert rows_of_frequent(np.array([3.0, 2]), 10.0).tolist() == [0, 0]


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
