from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from discreet.log.events import ACTIVITY, CASE, EventLog
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.models.similarity import relative_log_similarity
from discreet.utility.difference import absolute_log_difference
from discreet.utility.evaluation import GROUPS, USUAL, evaluate
from discreet.utility.published import (
    absolute_difference_as_travas,
    as_written,
    by_appearance,
    similarity_by_index,
)
from tests.conftest import FOLDER, read_once
from tests.models.small_logs import cheapest, levenshtein, log_of, small_logs

RELEASES = FOLDER.parent / "published" / "travas-releases.parquet"
"""The releases of TraVaS's authors, where they are at hand."""


def test_a_case_without_a_partner_costs_the_largest_distance_and_ten() -> None:
    """ab stays twice; one abc and one ab are left, at 1; of three cases two cost 1 + 10."""
    log, release = log_of(ab=2, abc=3), log_of(ab=3)
    assert absolute_difference_as_travas(log, release).cost == 1 + 2 * 11
    assert absolute_difference_as_travas(release, log).cost == 1 + 2 * 11
    assert absolute_log_difference(log, release).cost == 1 + 2 * 3


def test_the_price_of_a_missing_case_depends_on_an_unrelated_variant() -> None:
    log = log_of(ab=4)
    near, far = log_of(ac=1), log_of(cccccccc=1)
    assert absolute_difference_as_travas(log, near).cost == 1 + 3 * 11
    assert absolute_difference_as_travas(log, far).cost == 8 + 3 * 18


def test_parts_of_a_log_cost_ten_a_case_whatever_its_length() -> None:
    """The authors leave out 10,500 on Sepsis and 75,540 on BPIC 2013: releases of no case."""
    log = log_of(abcabcabcabc=10, ab=1)
    assert absolute_difference_as_travas(log, log_of(ab=1)).cost == 10 * 10
    assert absolute_difference_as_travas(log, Variants.empty()).cost == 11 * 10


def fined(left: Variants, right: Variants) -> float:
    """The authors' rule as a linear program over single variants."""
    a, b = left.to_dict(), right.to_dict()
    for sequence in a.keys() & b.keys():
        both = min(a[sequence], b[sequence])
        a[sequence] -= both
        b[sequence] -= both
    a, b = ({s: n for s, n in x.items() if n} for x in (a, b))
    cost = [[float(levenshtein(s, t)) for t in b] for s in a]
    fine = max((max(row, default=0.0) for row in cost), default=0.0) + 10
    cost = [[*row, fine] for row in cost] + [[fine] * len(b) + [0.0]]
    surplus = sum(a.values()) - sum(b.values())
    source = [*map(float, a.values()), max(-surplus, 0.0)]
    return cheapest(source, [*map(float, b.values()), max(surplus, 0.0)], cost)


@given(small_logs, small_logs)
@settings(max_examples=75, deadline=None)
def test_the_edits_rule_agrees_with_a_linear_program(left: Variants, right: Variants) -> None:
    found = absolute_difference_as_travas(left, right)
    assert found.exact
    assert found.cost == pytest.approx(fined(left, right), abs=1e-6)


def test_disjoint_logs_are_equal_by_index() -> None:
    log, release = log_of(ab=3, cd=1), log_of(xx=3, yyy=1)
    assert relative_log_similarity(log, release) == 0
    assert similarity_by_index(log, release).value == 1


def test_similarity_by_index_by_hand() -> None:
    """Shares ¾, ¼ and ¼, ¾: ¼ + ¼ stay for nothing, and ½ goes from ab to dd at 1."""
    assert similarity_by_index(log_of(ab=3, cc=1), log_of(ac=1, dd=3)).value == 0.5


def test_similarity_by_index_can_be_too_low() -> None:
    """A third of abc stays, a third goes from xy to b for nothing; so abc must become xy at 1."""
    log, release = log_of(abc=2, xy=1), log_of(abc=1, b=1, xy=1)
    assert similarity_by_index(log, release).value == pytest.approx(2 / 3)
    assert relative_log_similarity(log, release) == pytest.approx(1 - 2 / 9)


def test_similarity_by_index_depends_on_the_order_in_a_file() -> None:
    log, release = log_of(abc=2, xy=1), log_of(abc=1, b=1, xy=1)
    other = release.take(np.array([0, 2, 1]))
    assert relative_log_similarity(log, other) == relative_log_similarity(log, release)
    assert similarity_by_index(log, other).value == pytest.approx(1 - 2 / 9)


def test_empty_logs_by_index() -> None:
    assert similarity_by_index(log_of(ab=1), Variants.empty()).value == 0
    assert similarity_by_index(Variants.empty(), Variants.empty()).value == 1


def test_the_orders_of_the_authors_files() -> None:
    cases, steps = ["1", "1", "2", "3", "3", "4"], ["b", "a", "a", "b", "a", "c"]
    log = EventLog.from_table(pl.DataFrame({CASE: cases, ACTIVITY: steps}))
    assert [s for s, _ in by_appearance(log)] == [("b", "a"), ("a",), ("c",)]
    release = Variants.from_counts({("a",): 1, ("b", "a"): 2, ("x", "y"): 1, ("z",): 1})
    order = [s for s, _ in as_written(by_appearance(log), release)]
    assert order == [("b", "a"), ("a",), ("z",), ("x", "y")]


def test_only_asked_for_by_name() -> None:
    log = sample_log("hospital", cases=60, seed=3)
    assert set(GROUPS) - set(USUAL) == {"published"}
    assert "similarity_by_index" not in evaluate(log, log.variants, measures=("similarity",)).names
    found = evaluate(log, log.variants, measures=("published",))
    assert found["similarity_by_index"] == 1
    assert found["absolute_difference_as_travas"] == 0


@pytest.mark.skipif(not RELEASES.is_file(), reason=f"{RELEASES} is not at hand")
@pytest.mark.parametrize(
    ("mechanism", "file", "edits", "similarity", "stored", "exact"),
    [
        ("TraVaS", "single", 165_110.5, 0.5661, 0.5663, 0.577),
        ("uTraVaS", "multi", 140_792.1, 0.6300, 0.6302, 0.625),
        ("sacofa", "sacofa", 90_215.9, 0.7657, 0.7658, 0.677),
        ("benchmark", "benchmark", 6_912_318.4, 0.8031, 0.8031, 0.477),
    ],
)
def test_the_authors_figures_on_their_releases_of_sepsis(
    mechanism: str, file: str, edits: float, similarity: float, stored: float, exact: float
) -> None:
    """Means of ten at ε = 1, δ = .01. Edits to the last digit; their solver rounds shares."""
    log = by_appearance(read_once(FOLDER / "Sepsis.xes.gz"))
    found = pl.read_parquet(RELEASES).filter(log="Sepsis", mechanism=mechanism)
    releases = [written(found.filter(file=f"variants_{file}_1_0.01_{run}")) for run in range(10)]
    costs = [absolute_difference_as_travas(log, one).cost for one in releases]
    assert sum(costs) / 10 == pytest.approx(edits, abs=1e-6)
    by_index = sum(similarity_by_index(log, one).value for one in releases) / 10
    assert by_index == pytest.approx(similarity, abs=1e-4)
    assert by_index == pytest.approx(stored, abs=3e-4)
    assert sum(relative_log_similarity(log, one) for one in releases) / 10 == pytest.approx(
        exact, abs=1e-3
    )


def written(rows: pl.DataFrame) -> Variants:
    """A release with its variants in the order of its file."""
    pairs = [(tuple(v.split(",")), n) for v, n in rows.select("variant", "count").iter_rows()]
    release = Variants.from_counts(pairs)
    position = {sequence: i for i, (sequence, _) in enumerate(release)}
    return release.take(np.array([position[sequence] for sequence, _ in pairs]))
