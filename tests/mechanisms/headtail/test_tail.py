from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail
from discreet.mechanisms.headtail.loglinear import weights_of
from discreet.mechanisms.headtail.spending import NO_HEAD
from discreet.mechanisms.headtail.tail import thinned
from discreet.privacy.randomness import Randomness
from discreet.privacy.transcript import transcript


def test_a_thinned_log_keeps_each_case_by_a_coin_of_its_own() -> None:
    log = Variants.from_counts({("a",): 40_000, ("b",): 10_000, ("c",): 1})
    kept = thinned(log, 0.25, Randomness.seeded(4)).to_dict()
    assert kept[("a",)] == pytest.approx(10_000, abs=500)  # six deviations
    assert kept[("b",)] == pytest.approx(2500, abs=260)
    assert thinned(log, 1.0, Randomness.seeded(4)) is log


@pytest.mark.parametrize(("length", "fewest", "most"), [(6, 12, 12), (48, 20, 28)])
def test_longer_cases_are_told_by_more_public_activities(
    length: int, fewest: int, most: int
) -> None:
    """Of cases that are all unlike no activity stands out; how many are used is up to us."""
    labels = tuple(f"{code:02d}" for code in range(60))
    orders = np.random.default_rng(1).permuted(np.tile(np.arange(60), (3000, 1)), axis=1)
    offsets = length * np.arange(3001)
    log, _ = Variants.of_cases(labels, orders[:, :length].astype(np.int32).ravel(), offsets)
    mechanism = HeadTail(epsilon=0.05, alphabet=labels)
    following = f"{NO_HEAD}: what follows"
    with transcript(until=following) as answers:
        mechanism._draw(SimpleNamespace(variants=log), Randomness.seeded(5))  # type: ignore[arg-type]
    size = answers[following][0].size
    used = [many for many in range(61) if size in ((many + 1) ** 2, weights_of(many))]
    assert len(used) == 1
    assert fewest <= used[0] <= most
