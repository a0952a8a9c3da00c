from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.log.variants import Variants
from discreet.mechanisms.blocks.alphabet import projected
from discreet.mechanisms.headtail import ngrams
from discreet.mechanisms.headtail.ngrams import MOST_LABELS, Tables, found_activities
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Laplace


def some_tables() -> Tables:
    return Tables(Gaussian("", 0.01, 1e-7), Gaussian("", 0.01), 4)


def test_with_hardly_any_noise_the_chain_learns_what_depends_on_phase_and_past() -> None:
    # "a" is followed by "b" at first and by "c" later; the end depends on the one before.
    truth = Variants.from_counts({("a", "b", "a", "c"): 6000, ("x", "a", "b"): 3000})
    precise = Tables(Gaussian("", 1e4), Gaussian("", 1e4), 5)
    overall = np.array([9000.0, 9000.0, 6000.0, 3000.0, 9000.0])
    chain = ngrams.learned(truth, overall, precise, 1e9, Randomness.seeded(1))
    sampled = chain.sample(8, 4000, np.random.default_rng(1))
    assert sum(sampled.to_dict().get(s, 0) for s, _ in truth) > 0.95 * sampled.cases


def test_activities_are_found_above_a_threshold_only() -> None:
    counts = {("often", "seldom"): 1, ("often",): 3000}
    log = Variants.from_counts(counts)
    found = found_activities(log, False, 8, some_tables(), Randomness.seeded(2))
    assert set(found) == {"often"}


def test_public_activities_that_cannot_be_told_from_noise_are_left_out() -> None:
    log = Variants.from_counts({("often", "seldom"): 1, ("often",): 3000})
    wide = projected(log, ("often", "seldom", *(f"never {i:03d}" for i in range(300))))
    found = found_activities(wide, True, 8, some_tables(), Randomness.seeded(2))
    assert "often" in found
    assert len(found) < 20  # of 301 others about two pass, and eight are used in any case
    pure = Tables(Laplace("", 0.5), Laplace("", 0.5), 4)
    assert "often" in found_activities(wide, True, 8, pure, Randomness.seeded(2))


def test_an_activity_of_one_case_passes_with_less_than_its_share_of_delta() -> None:
    """Monte Carlo with a large δ: each case may bring MOST_LABELS activities of its own."""
    log = Variants.from_counts({tuple(f"{i:02d}" for i in range(60)): 1})
    allowed, runs = 0.1, 1500
    noise = Tables(Gaussian("", 0.05, allowed), Gaussian("", 0.05), 10)
    rng = Randomness.seeded(3)
    leaks = sum(bool(found_activities(log, False, 8, noise, rng)) for _ in range(runs))
    assert leaks / runs < allowed + 5 * np.sqrt(allowed / runs)


def test_more_tables_where_the_noise_allows() -> None:
    """The shares of a leaf's budget add up to no more than the whole."""
    for shares in ngrams.LEVELS:
        assert sum(shares) == pytest.approx(1)
        parts = [some_tables().part(share) for share in shares]
        whole = some_tables().following.noise(some_tables().bound)
        assert sum(1 / part.size for part in parts) <= 1 / whole.size
    reach = [ngrams.reach(some_tables(), 10, cases, 10) for cases in (100, 100_000)]
    assert reach[0] < ngrams.REACH[0] < ngrams.REACH[1] < reach[1]


def test_a_case_of_many_activities_adds_no_more_than_its_share_of_chances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the noise, a single case cannot bring more of its own activities into play."""
    monkeypatch.setattr(Tables, "unseen_threshold", -math.inf)
    own = tuple(f"own {i:03}" for i in range(3 * MOST_LABELS))
    cases = Variants.from_counts({own: 1, ("common",): 50})
    named = found_activities(cases, False, 8, some_tables(), Randomness.system())
    assert set(named) == {*own[:MOST_LABELS], "common"}
