from __future__ import annotations

import pytest
from hypothesis import given, settings

from discreet.log.variants import Variants
from discreet.utility.difference import absolute_log_difference
from tests.models.small_logs import cheapest, levenshtein, log_of, small_logs


def brute_force(left: Variants, right: Variants) -> float:
    """Every case to every case or to a buffer that is as large as need be, on both sides."""
    cost = [[float(levenshtein(a, b)) for b, _ in right] + [float(len(a))] for a, _ in left]
    cost.append([*(float(len(b)) for b, _ in right), 0.0])
    source = [*left.counts.tolist(), right.cases]
    target = [*right.counts.tolist(), left.cases]
    return cheapest(source, target, cost)


@given(small_logs, small_logs)
@settings(max_examples=75, deadline=None)
def test_agrees_with_a_linear_program(left: Variants, right: Variants) -> None:
    found = absolute_log_difference(left, right)
    assert found.exact
    assert found.cost == pytest.approx(brute_force(left, right), abs=1e-6)


@given(small_logs, small_logs)
@settings(max_examples=50, deadline=None)
def test_blocks_are_an_upper_bound(left: Variants, right: Variants) -> None:
    exact = absolute_log_difference(left, right)
    assert absolute_log_difference(left, right, limit=4).cost >= exact.cost - 1e-9


def test_equal_logs_differ_by_nothing() -> None:
    assert absolute_log_difference(log_of(abc=4, ab=2), log_of(abc=4, ab=2)).cost == 0


def test_size_counts_where_similarity_does_not_see_it() -> None:
    assert absolute_log_difference(log_of(abc=10), log_of(abc=4)).cost == 6 * 3


def test_an_empty_release_costs_every_event() -> None:
    log = log_of(abc=10, ab=1)
    assert absolute_log_difference(log, Variants.empty()).cost == log.events
