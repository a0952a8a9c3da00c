from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.follows import Follows
from discreet.log.samples import sample_log
from discreet.mechanisms import sapa as walks
from discreet.mechanisms.sapa import SaPa, balanced, walk_out
from discreet.models.similarity import relative_log_similarity
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from tests.conftest import RealLogs, read_once
from tests.mechanisms.neighbours import loss_at_least

GRAPHS = st.integers(1, 5).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 9), min_size=size + 1, max_size=size + 1),
        min_size=size + 1,
        max_size=size + 1,
    )
)


def graph(rows: list[list[int]]) -> Follows:
    matrix = np.array(rows, dtype=np.int64)
    matrix[-1, -1] = 0
    return Follows(tuple("abcdefgh"[: len(rows) - 1]), matrix)


@given(GRAPHS)
def test_the_play_out_takes_no_step_more_often_than_it_was_counted(rows: list[list[int]]) -> None:
    follows = graph(rows)
    traces = walk_out(follows, Randomness.system())
    counted = Counter({(s, t): n for s, t, n in follows})
    used = Counter({(s, t): n for s, t, n in Follows.of_variants(traces)})
    assert all(counted[pair] >= n for pair, n in used.items())
    assert traces.cases <= follows.cases


@settings(deadline=None)
@given(GRAPHS)
def test_balancing_makes_every_walk_end(rows: list[list[int]]) -> None:
    even = balanced(graph(rows))
    assert (even.counts >= 0).all()
    assert (even.counts[:-1].sum(axis=1) == even.counts[:, :-1].sum(axis=0)).all()
    traces = walk_out(even, Randomness.system())
    assert traces.cases == even.cases


def test_a_balanced_graph_stays_as_it_is() -> None:
    follows = Follows.of_variants(sample_log("hospital", cases=300, seed=1).variants)
    assert balanced(follows) == follows
    traces = walk_out(follows, Randomness.system())
    assert traces.cases == 300


def test_steps_are_drawn_in_proportion_to_their_counts() -> None:
    # ⊤ → a (1), a → b (3), a → c (1), b → ⊥ (1), c → ⊥ (1): one trace
    follows = graph([[0, 3, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 0]])
    rng = Randomness.system()
    runs = 2000
    found = Counter(next(iter(walk_out(follows, rng)))[0] for _ in range(runs))
    assert set(found) == {("a", "b"), ("a", "c")}
    assert abs(found[("a", "c")] / runs - 0.25) < 6.5 * np.sqrt(0.25 * 0.75 / runs)


def test_huge_noise_is_scaled_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "MOST_STEPS", 100)
    follows = graph([[0, 10**9], [10**9, 0]])
    assert 30 <= walk_out(follows, Randomness.system()).cases <= 50


def test_dead_ends_are_left_by_going_back() -> None:
    # ⊤ → a (2), a → b (1), a → ⊥ (1); nothing leads out of b
    follows = graph([[0, 1, 1], [0, 0, 0], [2, 0, 0]])
    for _ in range(20):
        traces = walk_out(follows, Randomness.system()).to_dict()
        assert traces in ({("a",): 1}, {("a",): 2}, {})
        assert ("a", "b") not in traces


def test_strict_promises_the_budget() -> None:
    promise = SaPa(epsilon=1, delta=1e-6, alphabet=("a",), max_distance=2).guarantee()
    assert promise.status == "proved"
    assert promise.holds == Budget(1.0, 1e-6)
    assert promise.parts[0].name == "which pairs are near"
    assert sum(part.epsilon for part in promise.parts) <= 1
    assert sum(part.delta for part in promise.parts) <= 1e-6
    published = SaPa(fidelity="published", epsilon=1).guarantee()
    assert published.status == "refuted"
    assert published.holds is None


def test_published_gives_away_a_new_pair_and_strict_does_not() -> None:
    base, case = {("a", "b", "c"): 30}, ("a", "c", "b")

    def shows(released: object) -> bool:
        follows = Follows.of_variants(released)  # type: ignore[arg-type]
        return any((source, target) == ("c", "b") for source, target, _ in follows)

    published = SaPa(fidelity="published", epsilon=1)
    assert loss_at_least(published, base, case, shows, 700) > 1
    strict = SaPa(epsilon=1, alphabet=("a", "b", "c"), bound=4)
    assert loss_at_least(strict, base, case, shows, 300) <= 1


@pytest.mark.parametrize("distance", [1, 2, 4])
@pytest.mark.parametrize("walk", ["balanced", "backtracking"])
def test_strict_keeps_the_size_of_a_large_log(distance: int, walk: str) -> None:
    log = sample_log("hospital", cases=4000, seed=1)
    chosen = SaPa(epsilon=10, alphabet=log.activities, max_distance=distance, playout=walk)  # type: ignore[arg-type]
    released = chosen.release(log).artefact
    assert 0.7 * log.cases < released.cases < 1.1 * log.cases
    assert relative_log_similarity(log.variants, released) > 0.6


@pytest.mark.parametrize(
    ("name", "similarity", "alike"), [("Sepsis", 0.66, 0.773), ("CoSeLoG_receipt", 0.76, 0.970)]
)
def test_published_reproduces_the_authors_code(
    name: str, similarity: float, alike: float, real_logs: RealLogs
) -> None:
    known, path = real_logs[name]
    log = read_once(path)
    chosen = SaPa(fidelity="published", epsilon=1)
    found = [relative_log_similarity(log.variants, chosen.release(log).artefact) for _ in range(3)]
    assert sum(found) / 3 == pytest.approx(alike if known.generated else similarity, abs=0.03)
