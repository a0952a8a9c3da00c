from __future__ import annotations

import numpy as np
import pytest

from discreet.log.variants import Variants
from discreet.mechanisms.blocks.closest import SCORE_GRID, SENSITIVITY, closeness


@pytest.mark.parametrize("seed", range(40))
def test_one_more_case_raises_the_score_by_no_more_than_the_sensitivity(seed: int) -> None:
    """The claim the choice rests on, on random small logs."""
    random = np.random.default_rng(seed)

    def word() -> tuple[str, ...]:
        return tuple(random.choice(list("abc"), size=random.integers(1, 5)))

    counts = {word(): int(random.integers(1, 6)) for _ in range(4)}
    released = Variants.from_counts({word(): int(random.integers(1, 6)) for _ in range(3)})
    added = word()
    small = Variants.from_counts(counts)
    large = Variants.from_counts([*counts.items(), (added, 1)])
    assert 0 <= closeness(large, released) - closeness(small, released) <= SENSITIVITY


def test_a_choice_of_ten_million_cases_and_one_more() -> None:
    """Both mechanisms score by the same exact integers, however large the log."""
    log = Variants.from_counts({("a", "b"): 7_000_000, ("a",): 2_999_999, ("b", "c"): 1})
    larger = Variants.from_counts([*log, (("c",), 1)])
    for released in (log, Variants.from_counts({("a", "b"): 3, ("c", "a"): 1})):
        assert 0 <= closeness(larger, released) - closeness(log, released) <= SENSITIVITY
    assert closeness(log, log) >= (log.cases - 200) * SCORE_GRID
