from __future__ import annotations

from typing import cast

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.events import EventLog
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.timelines import Timelines
from discreet.mechanisms.whole.traits import Trait
from tests.mechanisms.whole.logs import Event, log_of, office


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


def test_rare_classes_share_a_row_or_join_the_largest() -> None:
    drawn = np.repeat([0, 1, 2, 3], [100, 80, 30, 25])
    nobody = cast(Timelines, None)

    def raw(_: Timelines) -> Integers:
        return np.arange(5)

    together = Trait("activity", raw, drawn, 5).pooled(50)
    assert together.raw(nobody).tolist() == [0, 1, 2, 2, 2]
    assert together.expected.tolist() == [100, 80, 55]
    joined = Trait("activity", raw, drawn[:180], 5).pooled(50)
    assert joined.raw(nobody).tolist() == [0, 1, 0, 0, 0]
    assert joined.expected.tolist() == [100, 80]
