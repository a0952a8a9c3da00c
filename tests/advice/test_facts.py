"""What is said of people and of rare variants is what counting by hand gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.advice.facts import Visible, people_of, rarity_of, visible_by
from discreet.log.events import ACTIVITY, CASE, EventLog
from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism
from discreet.privacy.steps import Selecting
from discreet.product import variants_of


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


@pytest.mark.parametrize("name", ["travas", "headtail", "whole"])
def test_a_variant_is_seen_from_the_count_that_is_said(name: str) -> None:
    """By the mechanism itself: one case less, and it is hidden more often than not."""
    log = sample_log("permits", cases=300, seed=1)
    found = seen(log, name)
    chosen = variants_of(mechanism(name, epsilon=1.0, delta=1e-3))
    assert chosen.spending is not None
    steps = [step for step in chosen.spending.walk() if isinstance(step, Selecting)]
    probability = [step.selection.probability for step in steps]  # type: ignore[attr-defined]
    assert max(shown(found.count) for shown in probability) >= 0.5
    assert max(shown(found.count - 1) for shown in probability) < 0.5
    counts = log.variants.counts
    assert found.variants == np.count_nonzero(counts >= found.count)
    assert seen(log, name, cases_per_individual=3).count > found.count
    assert seen(log, name, epsilon=2.0).count < found.count


def seen(log: EventLog, name: str, **parameters: Any) -> Visible:
    found = visible_by(log, mechanism(name, **{"epsilon": 1.0, "delta": 1e-3, **parameters}))
    assert found is not None
    return found


def test_advice_answers_for_the_variants_of_a_whole_log() -> None:
    """They have half of the budget, and so a variant is seen from nearly twice as many cases."""
    log = sample_log("permits", cases=300, seed=1)
    whole = mechanism("whole", epsilon=1.0, delta=1e-6)
    found = visible_by(log, whole)
    assert found is not None
    assert found.count == 31
    note = f"a variant of fewer than {found.count} cases is rather hidden than shown"
    assert note in whole._notes()
    assert visible_by(log, mechanism("headtail", delta=0.0, alphabet=log.activities)) is None
