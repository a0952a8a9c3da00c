from __future__ import annotations

import pytest

from discreet.log.variants import Variants
from discreet.mechanisms.headtail.lengths import Lengths
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness


def test_lengths() -> None:
    log = Variants.from_counts({("a",) * 8: 9000, ("a",) * 30: 1000, ("b",): 10})
    lengths = Lengths.of(log, CountNoise.laplace(1, 1.0), Randomness.seeded(1))
    assert lengths.total.value == pytest.approx(10_010, abs=40)
    assert lengths.longest == 32
    assert 5 < lengths.mean < 10
    sampled = Variants.from_counts({("a",) * 8: 10, ("a",) * 30: 90})
    weighed = lengths.matched(sampled).to_dict()
    assert weighed[("a",) * 8] > weighed[("a",) * 30] / 4  # was a ninth
