from __future__ import annotations

import pytest

from discreet.utility.attributes import value_distance, value_distance_by_activity
from discreet.utility.evaluation import evaluate
from tests.mechanisms.whole.logs import Event, log_of, office


def renamed(cases: list[list[Event]], old: str, new: str) -> list[list[Event]]:
    return [[(a, at, new if who == old else who, n) for a, at, who, n in case] for case in cases]


def test_values_that_were_renamed_are_seen() -> None:
    cases = office(300)
    log, other = log_of(cases), log_of(renamed(cases, "eve", "adam"))
    share = sum(who == "eve" for case in cases for _, _, who, _ in case) / log.events
    assert value_distance(log, log, "org:resource") == 0.0
    assert value_distance(log, other, "org:resource") == pytest.approx(share)
    assert value_distance_by_activity(log, other, "org:resource") == pytest.approx(share)
    swapped = log_of(renamed(renamed(renamed(cases, "ann", "x"), "bob", "ann"), "x", "bob"))
    assert value_distance_by_activity(log, swapped, "org:resource") < 0.1


def test_numbers_are_compared_in_bins() -> None:
    cases = office(300)
    log = log_of(cases)
    other = log_of([[(a, at, w, None if n is None else 9e9) for a, at, w, n in c] for c in cases])
    assert value_distance(log, log, "case:amount") == 0.0
    assert value_distance(log, other, "case:amount") > 0.3
    figures = evaluate(log, other, measures=("attributes",))
    assert figures["values(case:amount)"] > 0.3
