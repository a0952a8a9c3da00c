from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.variants import Variants
from discreet.mechanisms.blocks.contributions import (
    FALLBACK_BOUND,
    LARGEST_SIZE,
    Contributions,
    Norm,
    edges,
    near_pairs,
    private_bound,
)
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness

CASES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=60).map(tuple)


@given(CASES, st.integers(1, 30), st.sampled_from(["l1", "l2"]), st.sampled_from([1, 7, 1024]))
def test_no_case_adds_more_than_the_bound(
    case: tuple[str, ...], bound: int, norm: Norm, grid: int
) -> None:
    variants = Variants.from_counts({case: 1})
    for counted in (Contributions.of_follows(variants), Contributions.of_near(variants, 3)):
        steps = counted.bounded(bound, norm, 1, grid)
        assert (steps >= 0).all()
        if norm == "l1":
            assert steps.sum() <= bound * grid
        else:
            assert (steps**2).sum() <= bound * grid * grid
        small = (counted.times if norm == "l1" else counted.times**2).sum() <= bound
        assert not small or (steps == counted.times * grid).all()


@given(st.dictionaries(CASES, st.integers(1, 9), min_size=1, max_size=5), CASES)
def test_what_a_case_adds_does_not_depend_on_the_others(
    log: dict[tuple[str, ...], int], case: tuple[str, ...]
) -> None:
    def total(counts: dict[tuple[str, ...], int]) -> dict[tuple[str, str], int]:
        variants = Variants.from_counts(counts)
        counted = Contributions.of_follows(variants)
        steps = counted.bounded(5, "l2", len(variants), 16) * variants.counts[counted.owner]
        names = (*variants.activities, "|")
        found: dict[tuple[str, str], int] = {}
        for key, step in zip(counted.key.tolist(), steps.tolist(), strict=True):
            pair = names[key // len(names)], names[key % len(names)]
            found[pair] = found.get(pair, 0) + step
        return found

    more = dict(log)
    more[case] = more.get(case, 0) + 1
    before, after, alone = total(log), total(more), total({case: 1})
    assert all(after[pair] == before.get(pair, 0) + alone.get(pair, 0) for pair in after)


def test_scaling_keeps_the_flow_balanced() -> None:
    variants = Variants.from_counts({tuple("abcabcabd"): 1})
    counted = Contributions.of_follows(variants)
    noise = CountNoise.laplace(4, 1e6)
    counts = counted.noisy_counts(variants.counts, 4, "l1", noise, Randomness.system())
    matrix = counts.reshape(5, 5)
    assert matrix.sum(axis=0) == pytest.approx(matrix.sum(axis=1), abs=0.02)


def test_the_private_bound_is_the_quantile_and_each_case_has_one_bin() -> None:
    sizes = np.arange(1, 101)
    rng = Randomness.system()
    little, much = CountNoise.laplace(1, 1000), CountNoise.laplace(1, 1)
    found = private_bound(sizes, np.full(100, 50), 0.9, little, rng)
    assert 90 <= found <= 112
    assert private_bound(np.array([10**9]), np.array([5]), 0.9, little, rng) == LARGEST_SIZE
    nobody = np.zeros(0, int)
    empty = [private_bound(nobody, nobody, 0.9, much, rng) for _ in range(40)]
    assert FALLBACK_BOUND in empty
    assert list(edges()) == sorted(set(edges()))


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=6).map(tuple), st.integers(1, 3))
def test_near_pairs_are_those_within_the_distance(case: tuple[str, ...], distance: int) -> None:
    variants = Variants.from_counts({case: 1})
    mark = len(variants.activities)
    names = ("⊤", *case, "⊥")
    expected = Counter(
        (names[i], names[j])
        for i in range(len(names))
        for j in range(i + 1, min(i + distance, len(names) - 1) + 1)
        if (i, j) != (0, len(names) - 1)
    )
    source, target, _ = near_pairs(variants, distance)
    found = Counter(
        (
            "⊤" if s == mark else variants.activities[s],
            "⊥" if t == mark else variants.activities[t],
        )
        for s, t in zip(source.tolist(), target.tolist(), strict=True)
    )
    assert found == expected
