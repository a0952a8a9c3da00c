from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.variants import Variants
from discreet.mechanisms.headtail import candidates, votes
from discreet.mechanisms.headtail.votes import Estimate
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness


@given(st.lists(st.floats(-50, 50, allow_nan=False), min_size=1, max_size=30), st.floats(0.1, 200))
def test_projection_is_the_nearest_point_of_the_simplex(values: list[float], total: float) -> None:
    noisy = np.array(values)
    found = votes.onto_simplex(noisy, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    kept = found > 0
    shift = (noisy - found)[kept]
    assert np.ptp(shift) < 1e-6  # all that stay give up the same
    assert (noisy[~kept] <= shift[0] + 1e-6).all()  # and the others had no more than that


@given(st.lists(st.floats(0, 50, allow_nan=False), min_size=1, max_size=30))
def test_whole_numbers_keep_the_sum(values: list[float]) -> None:
    weights = np.array(values)
    counts = votes.whole(weights)
    assert abs(counts.sum() - weights.sum()) <= 0.5 + 1e-6
    assert (np.abs(counts - weights) < 1 + 1e-9).all()


def test_estimates_combine_by_inverse_variance() -> None:
    both = Estimate(10, 1).combined(Estimate(20, 2))
    assert both.value == pytest.approx(12)
    assert both.deviation == pytest.approx((1 + 1 / 4) ** -0.5)


def test_ties_go_to_the_first_of_the_support(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = Variants.from_counts({("a", "b"): 1, ("a", "c"): 1, ("z",): 1})
    cases = Variants.from_counts({("a", "d"): 5, ("a", "c"): 2, ("z", "z"): 1})
    monkeypatch.setattr(votes, "BLOCK", 3)  # one row at a time
    nearest = dict(zip([s for s, _ in cases], votes.nearest(cases, chosen).tolist(), strict=True))
    assert nearest == {("a", "d"): 0, ("a", "c"): 1, ("z", "z"): 2}


def test_a_case_moves_one_vote_by_one() -> None:
    chosen = Variants.from_counts({("a", "b"): 1, ("a", "c"): 1})
    counts: dict[tuple[str, ...], int] = {("a", "b", "x"): 3, ("a", "c"): 2}
    before = Variants.from_counts(counts)
    after = Variants.from_counts(counts | {("c",): 1})
    noise = CountNoise.laplace(1, 1.0)
    tallies = [
        votes.noisy_votes(log, chosen, noise, Randomness.seeded(5)) for log in (before, after)
    ]
    assert np.abs(tallies[1] - tallies[0]).sum() == 1


def test_predicted_votes_help_where_votes_drown_and_do_no_harm_where_not() -> None:
    rng = np.random.default_rng(3)
    true = rng.gamma(0.5, 20, size=300)
    noisy = np.rint(true + rng.laplace(0, 15, size=300)).astype(np.int64)
    apart = np.full(300, 0.2)
    weighed = votes.weighed(noisy, true, apart, 15.0, true.sum())
    assert weighed.sum() == pytest.approx(true.sum())
    assert weighed.min() >= 0
    alone = votes.onto_simplex(noisy.astype(np.float64), true.sum())
    assert np.abs(weighed - true).sum() < np.abs(alone - true).sum()
    clear = votes.weighed(np.rint(true).astype(np.int64), np.ones(300), apart, 0.01, true.sum())
    assert np.abs(clear - true).max() < 1


def test_what_would_move_far_stays_nearer_to_the_middle_of_what_is_likely() -> None:
    noisy = np.repeat([0, 12, 40], [20, 20, 2])
    posterior = votes.Posterior.of(noisy, np.full(42, 8.0), 3.0)
    middle = posterior.quantiles(np.full(42, 0.5))
    assert (posterior.quantiles(np.full(42, 0.2)) <= middle).all()
    assert 0 <= middle[0] < middle[20] < middle[40]
    gaps = np.full(42, 0.1)
    gaps[20] = 0.9
    few = posterior.likeliest(gaps, 0.7 * middle.sum())
    many = posterior.likeliest(gaps, 1.3 * middle.sum())
    assert few.sum() == pytest.approx(0.7 * middle.sum())
    assert few[20] > few[21]
    assert many[20] < many[21]


def test_logs_are_joined_over_all_their_activities() -> None:
    one = Variants.from_counts({("a", "c"): 2, ("c",): 1})
    two = Variants.from_counts({("b",): 5, ("a", "c"): 3})
    both, (first, second) = votes.joined(one, two)
    assert both.to_dict() == {("a", "c"): 5, ("b",): 5, ("c",): 1}
    assert [both.sequence(i) for i in first] == [s for s, _ in one]
    assert [both.sequence(i) for i in second] == [s for s, _ in two]
    halves = candidates.mixed(one, two, 0.9)
    assert halves.to_dict()[("c",)] == pytest.approx(0.3 * halves.cases, rel=1e-3)
