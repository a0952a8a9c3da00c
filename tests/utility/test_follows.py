from __future__ import annotations

import pytest

from discreet.log.follows import Follows
from discreet.log.variants import Variants
from discreet.utility.follows import follows_distance
from tests.models.small_logs import log_of


def test_equal_and_disjoint() -> None:
    log = log_of(abc=3, ac=2)
    same = follows_distance(log, log)
    assert (same.total_variation, same.percentage_error) == (0.0, 0.0)
    apart = follows_distance(log_of(ab=1), log_of(xy=1))
    assert (apart.total_variation, apart.percentage_error) == (1.0, 1.0)


def test_shares_ignore_size_and_counts_do_not() -> None:
    found = follows_distance(log_of(ab=10), log_of(ab=5))
    assert found.total_variation == 0.0
    assert found.percentage_error == pytest.approx(0.5)


def test_by_hand() -> None:
    # ⊤a, ab, b⊥ of 2 cases against ⊤a, a⊥ of 1: shares 1/3 each against 1/2 each.
    found = follows_distance(log_of(ab=2), log_of(a=1))
    assert found.total_variation == pytest.approx((1 / 6 + 1 / 3 + 1 / 3 + 1 / 2) / 2)
    assert found.percentage_error == pytest.approx((1 / 2 + 1 + 1) / 3)


def test_a_released_graph_can_be_measured() -> None:
    log = log_of(abc=3, ac=2)
    assert follows_distance(log, Follows.of_variants(log)).percentage_error == 0.0


def test_empty() -> None:
    assert follows_distance(log_of(ab=2), Variants.empty()).total_variation == 1.0
    assert follows_distance(Variants.empty(), Variants.empty()).percentage_error == 0.0
