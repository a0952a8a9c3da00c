"""How likely a mutant is missed is computed, not hoped for."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from discreet.audits.measuring import TURNS, breaks, certain_runs
from discreet.audits.power import chance_of_missing, chance_to_break
from discreet.privacy.guarantee import Budget

BUDGET = Budget(1, 0.01)


def test_the_chance_to_break_is_a_sum_over_all_counts() -> None:
    likely, other, seen, runs = 0.9, 0.05, 12, 72
    expected = sum(
        binom.pmf(hits, seen, likely) * binom.pmf(rare, seen, other)
        for hits in range(seen + 1)
        for rare in range(seen + 1)
        if breaks((hits / seen, rare / seen), runs, BUDGET)
    )
    assert 0.1 < expected < 0.9
    assert chance_to_break(likely, other, seen, runs, BUDGET) == pytest.approx(expected)


def test_what_is_certain_is_hardly_ever_missed() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        against = Budget(epsilon)
        runs = certain_runs(epsilon)
        assert breaks((1.0, 0.0), runs, against)
        assert chance_of_missing((1.0, 0.0), runs, against) < 1e-9
    assert chance_of_missing((0.9, 0.1), TURNS[1].runs(1.0), BUDGET) < 1e-6


def test_what_the_budget_allows_is_missed() -> None:
    assert chance_of_missing((0.6, 0.25), 72, BUDGET) > 0.999
    assert not breaks((0.73, 0.27), 10_000, Budget(1))
