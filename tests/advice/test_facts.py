"""What is said of people and of rare variants is what counting by hand gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from discreet.advice.facts import people_of, rarity_of, visible_at
from discreet.log.events import ACTIVITY, CASE, EventLog
from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism


def log_of(traces: dict[str, int], owners: list[str]) -> EventLog:
    cases = [trace for trace, many in traces.items() for _ in range(many)]
    rows = [(f"c{i}", step, owners[i]) for i, trace in enumerate(cases) for step in trace]
    table = pl.DataFrame(rows, schema=[CASE, ACTIVITY, "person"], orient="row")
    return EventLog.from_table(table, individual="person")


LOG = log_of({"ab": 4, "a": 2, "b": 1}, ["p", "p", "p", "p", "q", "q", "r"])


def test_people() -> None:
    found = people_of(LOG)
    assert found is not None
    assert (found.people, found.cases, found.most) == (3, 7, 4)
    kept = {one.cases_per_individual: (one.cases_kept, one.people_whole) for one in found.bounds}
    assert kept[1] == pytest.approx((3 / 7, 1 / 3))
    assert kept[2] == pytest.approx((5 / 7, 2 / 3))
    assert kept[3] == pytest.approx((6 / 7, 2 / 3))
    assert kept[5] == (1.0, 1.0)
    assert max(kept) == 5
    assert people_of(replace(LOG, individual=None)) is None


def test_rarity() -> None:
    found = {one.count: (one.variants, round(7 * one.cases, 9)) for one in rarity_of(LOG)}
    assert found[1] == (1, 1.0)
    assert found[2] == (2, 3.0)
    assert found[5] == (3, 7.0)
    assert max(found) == 5


def test_a_variant_is_seen_from_the_count_that_is_said() -> None:
    """By the mechanism itself: one case less, and it is hidden more often than not."""
    log = sample_log("permits", cases=300, seed=1)
    found = visible_at(log, 1.0, 1e-3)
    travas = mechanism("travas", epsilon=1.0, delta=1e-3)
    from discreet.privacy.partition import OptimalSelection

    selection = travas.selection  # type: ignore[attr-defined]
    assert isinstance(selection, OptimalSelection)
    assert selection.probability(found.count) >= 0.5 > selection.probability(found.count - 1)
    counts = log.variants.counts
    assert found.variants == np.count_nonzero(counts >= found.count)
    assert visible_at(log, 1.0, 1e-3, 3).count > found.count
    assert visible_at(log, 2.0, 1e-3).count < found.count
