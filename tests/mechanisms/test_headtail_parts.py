"""The parts of headtail: chain, n-grams, support, votes."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.distances.similarity import relative_log_similarity
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.alphabet import projected
from discreet.mechanisms.headtail import HeadTail, candidates, coverage, ngrams, pruning, votes
from discreet.mechanisms.headtail.candidates import Language
from discreet.mechanisms.headtail.lengths import Lengths
from discreet.mechanisms.headtail.loglinear import weights_of
from discreet.mechanisms.headtail.ngrams import MOST_LABELS, Tables, found_activities
from discreet.mechanisms.headtail.spending import FEW_HIDDEN, MANY_HIDDEN, NO_HEAD, reserved
from discreet.mechanisms.headtail.tail import thinned
from discreet.mechanisms.headtail.votes import Estimate
from discreet.models.inductive import inductive_miner
from discreet.models.replay import replay
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Laplace
from discreet.privacy.transcript import transcript


def some_tables() -> Tables:
    return Tables(Gaussian("", 0.01, 1e-7), Gaussian("", 0.01), 4)


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


def test_support_takes_the_centres_first() -> None:
    pool = Variants.from_counts(
        {("a", "a", "a"): 10, ("a", "a", "b"): 4, ("x", "y", "z"): 8, ("x", "y", "y"): 3}
    )
    chosen = candidates.central(pool, Variants.empty(), cases=25, deviation=1000)
    assert {s for s, _ in chosen} == {s for s, _ in pool}  # LEAST_CELLS, however much the noise
    shown = Variants.from_counts({("a", "a", "a"): 10})
    assert ("a", "a", "a") not in candidates.central(pool, shown, 25, 0.1).to_dict()


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
    found = candidates._greedy(apart, weight, np.ones(40, dtype=np.float32), 400, 0.0)
    assert found[:15] == expected[:15]


def test_recombination_follows_the_graph_of_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "UNSEEN_STEPS", 0.0)
    head = Variants.from_counts({("a", "b", "c"): 9, ("a", "d", "c"): 1, ("b", "d"): 5})
    found = candidates.recombined(head, 1000, np.random.default_rng(1), clear_model=False)
    steps = {("a", "b"), ("b", "c"), ("a", "d"), ("d", "c"), ("b", "d")}
    for sequence, _ in found:
        assert sequence[0] in "ab"
        assert sequence[-1] in "cd"
        assert set(pairwise(sequence)) <= steps
    assert ("a", "b", "d", "c") in found.to_dict()


def test_a_slip_leaves_out_repeats_or_swaps_one_event() -> None:
    head = Variants.from_counts({("a", "b", "c"): 9, ("d",): 1})
    found = candidates.slipped(head, 2000, np.random.default_rng(1))
    swapped = {"bac", "acb", "abc"}  # the last event has none to be swapped with
    slips = {"bc", "ac", "ab", "aabc", "abbc", "abcc", "dd", "d"} | swapped
    assert {"".join(sequence) for sequence, _ in found} == slips


def test_phases_double() -> None:
    assert candidates.phases(np.arange(10)).tolist() == [0, 1, 2, 3, 3, 4, 4, 4, 4, 5]


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


def test_a_thinned_log_keeps_each_case_by_a_coin_of_its_own() -> None:
    log = Variants.from_counts({("a",): 40_000, ("b",): 10_000, ("c",): 1})
    kept = thinned(log, 0.25, Randomness.seeded(4)).to_dict()
    assert kept[("a",)] == pytest.approx(10_000, abs=500)  # six deviations
    assert kept[("b",)] == pytest.approx(2500, abs=260)
    assert thinned(log, 1.0, Randomness.seeded(4)) is log


def test_lengths() -> None:
    log = Variants.from_counts({("a",) * 8: 9000, ("a",) * 30: 1000, ("b",): 10})
    lengths = Lengths.of(log, CountNoise.laplace(1, 1.0), Randomness.seeded(1))
    assert lengths.total.value == pytest.approx(10_010, abs=40)
    assert lengths.longest == 32
    assert 5 < lengths.mean < 10
    sampled = Variants.from_counts({("a",) * 8: 10, ("a",) * 30: 90})
    weighed = lengths.matched(sampled).to_dict()
    assert weighed[("a",) * 8] > weighed[("a",) * 30] / 4  # was a ninth


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
    monkeypatch.setattr(candidates, "ENOUGH_CLEAR", 4)
    head = Variants.from_counts({("a", *middle, "e"): 9 for middle in ("bc", "cb", "bd", "db")})
    model = inductive_miner(head)
    found = candidates.recombined(head, 500, np.random.default_rng(2), clear_model=True)
    assert len(found) >= 4
    assert replay(model, found).variant_fitness.min() == pytest.approx(1)


def test_the_way_follows_the_probe() -> None:
    def gone(frequent: int, rare: int, epsilon: float = 0.04, *, public: bool = False) -> str:
        return coverage.chosen_way(frequent, rare, CountNoise.laplace(1, epsilon), 0.007, public)

    assert gone(900, 100) == FEW_HIDDEN
    assert gone(10, 2990) == NO_HEAD
    assert gone(80_000, 20_000) == MANY_HIDDEN
    # Few cases leave nothing to learn: a head is looked for even if it covers little.
    assert gone(80, 320, 10.0) == FEW_HIDDEN
    # Where activities are public a poor model has names for them, so a head must cover more.
    assert gone(20, 180, 10.0) != NO_HEAD
    assert gone(20, 180, 10.0, public=True) == NO_HEAD
    assert gone(60, 140, 10.0, public=True) != NO_HEAD
    # A probe that says nothing leaves the middle likely, whatever it seems to show.
    assert gone(10, 990, 1e-6) == gone(500, 500, 1e-6)


def test_a_model_is_learned_beside_a_head_if_the_hidden_cases_say_more() -> None:
    assert coverage.worth_learning(clear=20, covered=0.7)
    assert not coverage.worth_learning(clear=2, covered=0.7)
    assert coverage.worth_learning(clear=2, covered=0.1)


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


def test_pruning_leaves_out_what_blurs_the_model() -> None:
    head = Variants.from_counts({("a", "b", "c", "d"): 500, ("a", "b", "d"): 300})
    rare = {("d", "c", "b", "a"): 2, ("c", "a", "d", "b"): 2, ("a", "b", "c", "c", "d"): 40}
    release = Variants.from_counts([*head, *rare.items()])
    found = pruning.pruned(release, head)
    assert found.cases == release.cases
    assert {s for s, _ in head} <= {s for s, _ in found}
    assert ("d", "c", "b", "a") not in found.to_dict()

    def clearness(variants: Variants) -> float:
        return replay(inductive_miner(variants, 0.2), release).precision

    assert clearness(found) > clearness(release)
    kept, moved = pruning.Judge(release, head).kept(
        np.array([s in found.to_dict() for s, _ in release])
    )
    assert kept == found
    assert moved @ release.counts < 0.01


def test_pruning_hardly_touches_real_variants() -> None:
    head = Variants.from_counts({("a", "b"): 5, ("b", "a"): 4, ("c",): 3, ("a", "c", "b"): 1})
    assert pruning.pruned(head, head) == head
    often: dict[tuple[str, ...], int] = {
        ("a", "b", "c", "d", "e"): 5000,
        ("a", "c", "b", "d", "e"): 3000,
    }
    odd = {("e", "c", "b", "d", "a"): 10, ("d", "b", "c", "a"): 10, ("c", "e", "a", "d"): 10}
    release = Variants.from_counts(often | odd)
    found = pruning.pruned(release, release)
    assert found.cases == release.cases
    assert set(often) <= set(found.to_dict())
    judge = pruning.Judge(release, release)
    _, moved = judge.kept(np.array([s in found.to_dict() for s, _ in release]))
    assert moved @ release.counts <= pruning.SHOWN
    assert len(found) < len(release)


@pytest.mark.parametrize("seed", range(3))
def test_a_clear_model_costs_no_more_than_is_said(seed: int) -> None:
    """What is left of a release, here one of much disorder, is as like it as MOVED says."""
    rng = np.random.default_rng(seed)
    rows = [("".join(rng.choice(list("abcd"), size=5)), int(rng.integers(1, 4))) for _ in range(12)]
    release = Variants.from_counts([*rows, ("abcd", 60), ("acbd", 40)])
    found = pruning.pruned(release, Variants.empty(release.activities))
    assert found.cases == release.cases
    assert len(found) < len(release)
    assert relative_log_similarity(release, found) >= 1 - pruning.MOVED - 1e-9


def test_many_activities_are_left_as_they_are() -> None:
    """A model of so many is not looked at, and looking for one would take minutes."""
    rows = [((f"a{number}", f"a{number + 1}"), 1 + number % 3) for number in range(100)]
    release = Variants.from_counts(rows)
    assert pruning.pruned(release, Variants.empty(release.activities)) is release


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


@pytest.mark.parametrize("clear_model", [False, True])
def test_the_note_says_which_variants_are_rather_hidden(clear_model: bool) -> None:
    chosen = HeadTail(epsilon=1, delta=1e-6, clear_model=clear_model)
    note = chosen._notes()[0]
    least = int(re.search("fewer than ([0-9]+) cases", note)[1])  # type: ignore[index]
    ways = [reserved(chosen._selecting(way)) for way in (FEW_HIDDEN, MANY_HIDDEN)]
    assert all(way.probability(least - 1) < 0.5 for way in ways)
    assert any(way.probability(least) >= 0.5 for way in ways)
    closed = HeadTail(epsilon=1, delta=0, alphabet=("a", "b"))
    assert not any("fewer than" in one for one in closed._notes())
