from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.blocks.contributions import GRID, Contributions
from discreet.mechanisms.whole.noisy_tables import rows_of_frequent


def test_rare_activities_share_a_row() -> None:
    assert rows_of_frequent(np.array([3.0, 50, 2, 90]), 10.0).tolist() == [2, 0, 2, 1]
    assert rows_of_frequent(np.array([3.0, 2]), 10.0).tolist() == [0, 0]


@given(
    many=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    bound=st.integers(1, 50),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=20, deadline=None)
def test_a_case_adds_no_more_than_its_bound(many: list[int], bound: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = np.repeat(np.arange(len(many)), many)
    key = rng.integers(0, 7, len(case))
    contributions = Contributions.of(case, key, 7)
    added = contributions.bounded(bound, "l2", len(many), GRID)
    squares = np.zeros(len(many), dtype=np.int64)
    np.add.at(squares, contributions.owner, added**2)
    assert (squares <= bound * GRID**2).all()
