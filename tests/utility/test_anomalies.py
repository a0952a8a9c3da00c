from __future__ import annotations

import pytest

from discreet.log.samples import sample_log
from discreet.log.variants import Variants

pytest.importorskip("sklearn", reason="the isolation forest needs scikit-learn")

from discreet.utility.anomalies import Normality


def test_real_behaviour_is_normal_and_noise_is_not() -> None:
    log = sample_log("hospital", cases=1000, seed=4).variants
    forest = Normality(log)
    assert forest.share(log) > 0.7
    labels = log.activities
    noise = Variants.from_counts({tuple(reversed(labels)) * 2: 5, tuple(labels[::2]) * 3: 5})
    assert forest.share(noise) < 0.2
    assert forest.share(Variants.empty()) == 0.0


def test_shares_are_of_cases() -> None:
    log = Variants.from_counts({("a", "b"): 990, ("c", "d", "c", "d"): 10})
    mixed = Variants.from_counts({("a", "b"): 3, ("c", "d", "c", "d"): 1})
    assert Normality(log).share(mixed) == pytest.approx(0.75)


def test_unknown_activities_are_ignored() -> None:
    log = Variants.from_counts({("a", "b"): 990, ("c", "d"): 10})
    assert Normality(log).share(Variants.from_counts({("x", "y"): 2})) in (0.0, 1.0)
