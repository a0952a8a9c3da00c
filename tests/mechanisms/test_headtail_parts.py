"""The parts of headtail: chain, n-grams, support, votes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.variants import Variants
from discreet.mechanisms.headtail import candidates, ngrams, support, tidy, votes
from discreet.mechanisms.headtail.language import Language
from discreet.mechanisms.headtail.ngrams import Lengths, NGramNoise
from discreet.mechanisms.headtail.prediction import head_is_better
from discreet.mechanisms.headtail.votes import Estimate
from discreet.models.inductive import inductive_miner
from discreet.models.replay import replay
from discreet.privacy.guarantee import Budget
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
    tallies = [votes.noisy_votes(log, chosen, 1.0, Randomness.seeded(5)) for log in (before, after)]
    assert np.abs(tallies[1] - tallies[0]).sum() == 1


def test_support_takes_the_centres_first() -> None:
    pool = Variants.from_counts(
        {("a", "a", "a"): 10, ("a", "a", "b"): 4, ("x", "y", "z"): 8, ("x", "y", "y"): 3}
    )
    chosen = support.central(pool, Variants.empty(), cases=25, deviation=1000)
    assert {s for s, _ in chosen} == {s for s, _ in pool}  # LEAST cells, however much the noise
    shown = Variants.from_counts({("a", "a", "a"): 10})
    assert ("a", "a", "a") not in support.central(pool, shown, 25, 0.1).to_dict()


def test_greedy_equals_exhaustive_greedy() -> None:
    generator = np.random.default_rng(4)
    apart = generator.random((40, 40)).astype(np.float32)
    apart = ((apart + apart.T) / 2).astype(np.float32)
    np.fill_diagonal(apart, 0)
    weight = generator.random(40).astype(np.float32)
    left = np.ones(40, dtype=np.float32)
    expected = []
    for _ in range(40):
        gains = np.maximum(left[None] - apart, 0) @ weight
        if gains.max() <= 1e-9:
            break
        expected.append(int(gains.argmax()))
        left = np.minimum(left, apart[expected[-1]])
    found = support._greedy(apart, weight, np.ones(40, dtype=np.float32), 0.0)
    assert found[:15] == expected[:15]


def test_recombination_follows_the_graph_of_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "ALONE", 0.0)
    head = Variants.from_counts({("a", "b", "c"): 9, ("a", "d", "c"): 1, ("b", "d"): 5})
    found = candidates.recombined(head, 1000, np.random.default_rng(1))
    steps = {("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("b", "d")}
    for sequence, _ in found:
        assert sequence[0] in "ab"
        assert sequence[-1] in "cd"
        assert set(pairwise(sequence)) <= steps
    assert ("a", "b", "d", "c") in found.to_dict()


def test_phases_double() -> None:
    assert candidates.phases(np.arange(10)).tolist() == [0, 1, 2, 3, 3, 4, 4, 4, 4, 5]


def test_with_hardly_any_noise_the_chain_learns_what_depends_on_phase_and_past() -> None:
    # "a" is followed by "b" at first and by "c" later; the end depends on the one before.
    truth = Variants.from_counts({("a", "b", "a", "c"): 6000, ("x", "a", "b"): 3000})
    noise = NGramNoise(Budget(60.0, 1e-6), "l2", 5, (0.1, 0.3, 0.3, 0.3))
    counts = np.array([9000.0, 9000.0, 6000.0, 3000.0])
    chain = ngrams.learned(truth, counts, 9000, noise, Randomness.seeded(1))
    sampled = chain.sample(8, 4000, np.random.default_rng(1))
    assert sum(sampled.to_dict().get(s, 0) for s, _ in truth) > 0.95 * sampled.cases


def test_activities_are_found_above_a_threshold_only() -> None:
    counts = {("often", "seldom"): 1, ("often",): 3000}
    log = Variants.from_counts(counts)
    noise = NGramNoise(Budget(1.0, 1e-6), "l2", 4, (0.2, 0.8))
    for norm, bound in (("l2", 4), ("l1", 4)):
        noise = NGramNoise(Budget(1.0, 1e-6), norm, bound, (0.2, 0.8))  # type: ignore[arg-type]
        found = ngrams.found_activities(log, False, noise, Randomness.seeded(2))
        assert set(found) == {"often"}
        assert len(ngrams.found_activities(log, True, noise, Randomness.seeded(2))) == 2


def test_an_activity_of_one_case_passes_with_less_than_its_share_of_delta() -> None:
    """Monte Carlo with a large δ: each case may bring LABELS activities, all of them its own."""
    budget = Budget(1.0, 0.5)
    log = Variants.from_counts({tuple(f"{i:02d}" for i in range(60)): 1})
    for norm in ("l1", "l2"):
        noise = NGramNoise(budget, norm, 10, (0.5, 0.5))
        source = Randomness.seeded(3)
        runs = 1500
        leaks = sum(bool(ngrams.found_activities(log, False, noise, source)) for _ in range(runs))
        allowed = budget.delta * ngrams.UNSEEN
        assert leaks / runs < allowed + 5 * np.sqrt(allowed / runs)


def test_lengths() -> None:
    log = Variants.from_counts({("a",) * 8: 9000, ("a",) * 30: 1000, ("b",): 10})
    lengths = Lengths.of(log, 1.0, Randomness.seeded(1))
    assert lengths.total.value == pytest.approx(10_010, abs=40)
    assert lengths.longest == 32
    assert 5 < lengths.mean < 10
    sampled = Variants.from_counts({("a",) * 8: 10, ("a",) * 30: 90})
    weighed = lengths.matched(sampled).to_dict()
    assert weighed[("a",) * 8] > weighed[("a",) * 30] / 4  # was a ninth


def test_more_tables_where_the_noise_allows() -> None:
    def depth(cases: float, budget: Budget) -> int:
        return len(NGramNoise.suited(budget, True, 10, cases, 10).shares) - 1

    small, large = Budget(0.1, 1e-6), Budget(2.0, 1e-6)
    assert depth(100, small) == 1
    assert depth(100_000, large) == 3
    assert NGramNoise.suited(Budget(1.0, 0.0), True, 10, 1e5, 10).norm == "l1"
    for budget in (small, large, Budget(1.0, 0.0)):
        assert sum(NGramNoise.suited(budget, False, 10, 1e4, 10).shares) == pytest.approx(1)


def test_a_case_of_many_activities_adds_no_more_than_its_share_of_chances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the noise, a single case cannot bring more of its own activities into play."""
    monkeypatch.setattr(ngrams.NGramNoise, "unseen_threshold", -math.inf)
    own = tuple(f"own {i:03}" for i in range(3 * ngrams.LABELS))
    cases = Variants.from_counts({own: 1, ("common",): 50})
    noise = ngrams.NGramNoise(Budget(1.0, 1e-6), "l2", 8, (0.2, 0.8))
    named = ngrams.found_activities(cases, False, noise, Randomness.system())
    assert set(named) == {*own[: ngrams.LABELS], "common"}


def test_a_language_allows_what_its_tree_does() -> None:
    tree = inductive_miner({("a", "b", "d"): 5, ("a", "c", "d"): 3})
    spoken = Language(tree, ("a", "b", "c", "d", "z"))
    start = spoken.allowed(np.array([0]))[0]
    assert start.tolist() == [True, False, False, False, False, False]
    after = spoken.after(np.array([0]), np.array([0]))
    assert spoken.allowed(after)[0].tolist() == [False, True, True, False, False, False]
    done = spoken.after(spoken.after(after, np.array([2])), np.array([3]))
    assert spoken.allowed(done)[0].tolist() == [False] * 5 + [True]


def test_recombinations_stay_within_the_model_of_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "CLEAR", 4)
    head = Variants.from_counts({("a", *middle, "e"): 9 for middle in ("bc", "cb", "bd", "db")})
    model = inductive_miner(head)
    found = candidates.recombined(head, 500, np.random.default_rng(2))
    assert len(found) >= 4
    assert replay(model, found).variant_fitness.min() == pytest.approx(1)


def test_the_mode_follows_the_predicted_error() -> None:
    def head(frequent: int, rare: int, look: float = 0.04) -> bool:
        return head_is_better(frequent, rare, look, 1.0, 0.002)

    assert head(900, 100)
    assert not head(10, 990)
    # A look that says nothing leaves the middle likely, whatever it seems to show.
    assert head(10, 990, look=1e-6) == head(500, 500, look=1e-6)
    # Without a head few cases, or many activities, leave nothing to learn.
    assert not head_is_better(100, 9900, 0.04, 1.0, 0.01)
    assert head_is_better(100, 9900, 1e-9, 1.0, 1e-9)


def test_tidying_leaves_out_what_blurs_the_model() -> None:
    head = Variants.from_counts({("a", "b", "c", "d"): 500, ("a", "b", "d"): 300})
    rare = {("d", "c", "b", "a"): 2, ("c", "a", "d", "b"): 2, ("a", "b", "c", "c", "d"): 40}
    release = Variants.from_counts([*head, *rare.items()])
    found = tidy.tidied(release, head)
    assert found.cases == release.cases
    assert {s for s, _ in head} <= {s for s, _ in found}
    assert ("d", "c", "b", "a") not in found.to_dict()

    def clearness(variants: Variants) -> float:
        return replay(inductive_miner(variants, 0.2), release).precision

    assert clearness(found) > clearness(release)
    kept, moved = tidy.Judge(release, head).kept(
        np.array([s in found.to_dict() for s, _ in release])
    )
    assert kept == found
    assert moved @ release.counts < 0.01


def test_tidying_hardly_touches_real_variants() -> None:
    head = Variants.from_counts({("a", "b"): 5, ("b", "a"): 4, ("c",): 3, ("a", "c", "b"): 1})
    assert tidy.tidied(head, head) == head
    often: dict[tuple[str, ...], int] = {
        ("a", "b", "c", "d", "e"): 5000,
        ("a", "c", "b", "d", "e"): 3000,
    }
    odd = {("e", "c", "b", "d", "a"): 10, ("d", "b", "c", "a"): 10, ("c", "e", "a", "d"): 10}
    release = Variants.from_counts(often | odd)
    found = tidy.tidied(release, release)
    assert found.cases == release.cases
    assert set(often) <= set(found.to_dict())
    judge = tidy.Judge(release, release)
    _, moved = judge.kept(np.array([s in found.to_dict() for s, _ in release]))
    assert moved @ release.counts <= tidy.SHOWN
    assert len(found) < len(release)


def test_many_activities_are_left_as_they_are() -> None:
    """A model of so many is not looked at, and looking for one would take minutes."""
    rows = [((f"a{number}", f"a{number + 1}"), 1 + number % 3) for number in range(100)]
    release = Variants.from_counts(rows)
    assert tidy.tidied(release, Variants.empty(release.activities)) is release
