from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.whole.released_variants import ReleasedVariants
from tests.mechanisms.whole.logs import log_of

VARIANTS = log_of(
    [[(activity, float(i), None, None) for i, activity in enumerate(word)] for word in
     ["abab"] * 3 + ["ac"] * 5 + ["b"] * 2]
).variants  # fmt: skip


def named(released: ReleasedVariants) -> dict[tuple[str, str], float]:
    labels = released.variants.activities
    return {
        (labels[source], labels[target]): count
        for source, target, count in zip(
            released.sources.tolist(), released.targets.tolist(), released.counts, strict=True
        )
    }


def test_relations_are_counted_by_the_cases_of_their_variants() -> None:
    released = ReleasedVariants.of(VARIANTS)
    assert named(released) == {("a", "b"): 6, ("b", "a"): 3, ("a", "c"): 5}
    assert released.events_by_activity().sum() == VARIANTS.counts @ VARIANTS.lengths


def test_a_pair_that_was_not_released_has_no_number() -> None:
    released = ReleasedVariants.of(VARIANTS)
    a, b, c = (VARIANTS.activities.index(label) for label in "abc")
    numbers = released.relations.number(np.array([a, c, -1, a]), np.array([b, a, b, -1]))
    assert numbers[0] >= 0
    assert numbers[1:].tolist() == [-1, -1, -1]


def test_cases_without_a_value_do_not_lower_the_bound_of_the_others() -> None:
    released = ReleasedVariants.of(VARIANTS)
    of_b = np.array([float(label == "b") for label in VARIANTS.activities])
    everything = np.ones(len(VARIANTS.activities))
    assert released.typical_events() == released.typical_events(everything)
    assert released.typical_events(of_b) == round(2 * 2**0.5)  # abab, not ac which has no b


@pytest.mark.parametrize(("share", "value"), [(0.1, 1.0), (0.5, 2.0), (1.0, 4.0)])
def test_quantiles_weigh_variants_by_their_cases(share: float, value: float) -> None:
    released = ReleasedVariants.of(VARIANTS)
    assert released.weighted_quantile(VARIANTS.lengths.astype(np.float64), share) == value
