"""Drawing from tables, and shares from noisy counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.mechanisms.whole.distributions import choose_by_row, nearest
from discreet.privacy.randomness import Randomness


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


def test_rows_are_drawn_by_their_weights() -> None:
    weights = np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    drawn = choose_by_row(weights, np.repeat([0, 1, 2], 3000), Randomness.seeded(0))
    assert stats.binomtest(int((drawn[:3000] == 1).sum()), 3000, 0.75).pvalue > 1e-7
    assert stats.chisquare(np.bincount(drawn[3000:6000], minlength=3)).pvalue > 1e-7
    assert (drawn[6000:] == 2).all()


@given(
    st.lists(st.tuples(st.floats(-50, 1000), st.floats(0.01, 10)), min_size=1, max_size=20),
    st.floats(1, 5000),
)
@settings(max_examples=30, deadline=None)
def test_the_nearest_shares_are_shares(cells: list[tuple[float, float]], total: float) -> None:
    counts, precision = (np.array(column) for column in zip(*cells, strict=True))
    shares = nearest(counts, precision, total, 0.02)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)
    order = np.argsort(counts * precision)
    assert (np.diff((shares > 0)[order].astype(int)) >= 0).all()  # the least sure ones go first


def test_sure_counts_are_kept() -> None:
    counts = np.array([500.0, 300.0, 200.0, 0.0])
    shares = nearest(counts, np.full(4, 100.0), 1000.0, 0.02)
    assert shares == pytest.approx(counts / 1000, abs=1e-3)
