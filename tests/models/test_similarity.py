from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.log.variants import Variants
from discreet.models.edits import edit_distances
from discreet.models.similarity import (
    cases_in_place,
    log_similarity,
    relative_log_similarity,
)
from tests.models.small_logs import cheapest, levenshtein, log_of, small_logs


def brute_force(left: Variants, right: Variants) -> float:
    cost = [[levenshtein(a, b) / max(len(a), len(b), 1) for b, _ in right] for a, _ in left]
    return 1 - cheapest(list(left.counts / left.cases), list(right.counts / right.cases), cost)


@given(small_logs, small_logs)
@settings(max_examples=75, deadline=None)
def test_agrees_with_a_linear_program(left: Variants, right: Variants) -> None:
    assert relative_log_similarity(left, right) == pytest.approx(brute_force(left, right), abs=1e-7)


@given(small_logs, small_logs)
@settings(max_examples=50, deadline=None)
def test_blocks_are_a_lower_bound_and_say_so(left: Variants, right: Variants) -> None:
    exact = relative_log_similarity(left, right)
    cut = log_similarity(left, right, limit=4)
    assert cut.value <= exact + 1e-9
    assert cut.exact == (len(left) * len(right) <= 4)


def test_equal_variants_need_not_stay_in_place() -> None:
    """The relative edit distance has no triangle inequality: ab, aba, ba. In place it costs 1/2."""
    left, right = log_of(ab=1, aba=1), log_of(aba=1, ba=1)
    assert relative_log_similarity(left, right) == pytest.approx(1 - 1 / 3)
    assert log_similarity(left, right).exact


def test_equal_distributions_score_one_whatever_the_size() -> None:
    assert relative_log_similarity(log_of(abc=2, ab=1), log_of(abc=200, ab=100)) == 1.0


def test_disjoint_alphabets_score_zero() -> None:
    assert relative_log_similarity(log_of(abc=5, ab=2), log_of(xyz=3, xy=9)) == 0.0


def test_disjoint_variants_score_what_their_strings_share() -> None:
    assert relative_log_similarity(log_of(abcd=7), log_of(abcx=2)) == pytest.approx(0.75)


def test_empty_logs() -> None:
    empty = Variants.empty()
    assert relative_log_similarity(empty, empty) == 1.0
    assert relative_log_similarity(empty, log_of(a=1)) == 0.0
    assert relative_log_similarity(log_of(_=3), log_of(_=1)) == 1.0


def test_more_than_256_activities() -> None:
    many = Variants.from_counts({(f"a{i}", f"a{i + 1}"): 1 for i in range(400)})
    distances = edit_distances(many, many)
    assert np.array_equal(np.diag(distances), np.zeros(400))
    assert distances[0, 1] == 1.0
    assert distances[0, 2] == 1.0


def test_very_many_cases() -> None:
    """Whole masses near 2⁵⁰: the solver's tolerances must not depend on the number of cases."""
    left = Variants.from_counts({tuple(f"{i:09b}"): 40_000 + 7 * i for i in range(300)})
    right = Variants.from_counts({tuple(f"{i:09b}"): 50_000 + i * i for i in range(100, 400)})
    found = log_similarity(left, right)
    assert found.exact
    shares = log_similarity(
        left.take(np.arange(300), np.maximum(left.counts // 100, 1)),
        right.take(np.arange(300), np.maximum(right.counts // 100, 1)),
    )
    assert found.value == pytest.approx(shares.value, abs=1e-3)


@given(small_logs, small_logs, small_logs.map(lambda log: next(iter(log))[0]))
@settings(max_examples=50, deadline=None)
def test_one_case_more_puts_at_most_two_in_place(
    log: Variants, released: Variants, added: tuple[str, ...]
) -> None:
    """What private choices rest on, with no tolerance."""
    larger = Variants.from_counts([*log, (added, 1)])
    assert 0 <= cases_in_place(larger, released) - cases_in_place(log, released) <= 2
    assert 0 <= cases_in_place(log, released) <= log.cases


def test_cases_in_place_is_the_similarity_of_so_many_cases() -> None:
    log, released = log_of(ab=3, abc=2, b=1), log_of(abc=3, ca=4)
    expected = log.cases * relative_log_similarity(log, released)
    assert float(cases_in_place(log, released)) == pytest.approx(expected, abs=1e-6)
    assert cases_in_place(log, Variants.empty()) == cases_in_place(Variants.empty(), log) == 0


def test_a_distribution_of_very_many_cases_is_weighed_by_itself() -> None:
    log, many = log_of(ab=1, c=1), log_of(ab=3_000_000, c=1_000_000, abc=1)
    assert cases_in_place(log, many) == pytest.approx(2 - 0.5, abs=1e-5)
    with pytest.raises(OverflowError, match="cases"):
        cases_in_place(log_of(a=1 << 33), many)


def test_variants_that_nobody_follows_are_no_log() -> None:
    nobody, somebody = Variants.from_counts({("a",): 0}), Variants.from_counts({("a",): 3})
    assert relative_log_similarity(nobody, somebody) == 0
    assert relative_log_similarity(somebody, nobody) == 0
    assert relative_log_similarity(nobody, nobody) == 1
