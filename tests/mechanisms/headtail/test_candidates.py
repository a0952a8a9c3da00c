from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.log.variants import Variants
from discreet.mechanisms.headtail import candidates
from discreet.mechanisms.headtail.candidates import Language
from discreet.models.inductive import inductive_miner
from discreet.models.replay import replay


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
