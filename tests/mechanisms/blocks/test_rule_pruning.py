from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.blocks.rule_pruning import harm_drawn, let_in
from discreet.privacy.randomness import Randomness


def test_harm_is_drawn_as_the_exponential_mechanism_says() -> None:
    rng = Randomness.system()
    runs, rate, most = 3000, 0.5, 4
    drawn = np.array([harm_drawn(rate, most, rng) for _ in range(runs)])  # type: ignore[arg-type]
    weights = np.exp(-rate * np.arange(most + 1))
    for harm, chance in enumerate(weights / weights.sum()):
        assert abs((drawn == harm).mean() - chance) < 6.5 * np.sqrt(chance * (1 - chance) / runs)


@settings(deadline=None)
@given(st.lists(st.integers(1, 3), max_size=20))
def test_candidates_are_let_in_until_their_harm_is_reached(harm: list[int]) -> None:
    chosen = let_in(np.array(harm, dtype=np.int64), 0.01, Randomness.seeded(len(harm)))  # type: ignore[arg-type]
    assert len(set(chosen.tolist())) == len(chosen)
    assert all(a != b for a, b in pairwise(sorted(chosen.tolist())))
    spent = np.cumsum(np.array(harm)[chosen]) if len(chosen) else np.zeros(0)
    assert (spent[:-1] <= len(harm)).all()
