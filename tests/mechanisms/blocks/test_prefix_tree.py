import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.variants import Variants
from discreet.mechanisms.blocks import prefix_tree
from discreet.mechanisms.blocks.prefix_tree import (
    NoisyPrefixTree,
    Semantics,
    grow_by_levels,
    grow_privtree,
    privtree_noise,
    round_to_total,
)
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, laplace_or_gaussian, least_noise

Log = dict[tuple[str, ...], int]
LOGS = st.dictionaries(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(tuple),
    st.integers(1, 30),
    min_size=1,
    max_size=8,
)


def grown(log: Log, depth: int) -> tuple[NoisyPrefixTree, list[Log]]:
    """A tree that keeps what occurs, and its raw counts by prefix and level."""
    tree = NoisyPrefixTree(Variants.from_counts(log))
    seen = []
    while tree.depth < depth and len(tree.open):
        raw = tree.raw_counts()
        chosen = np.flatnonzero(raw)
        every = np.ones(len(chosen), dtype=bool)
        tree.grow(chosen, raw[chosen], every, every)
        rows = tree.sequences()[-1]
        names = (*tree.activities, "⊥")
        seen.append(
            {tuple(names[c] for c in row): int(n) for row, n in zip(rows, raw[chosen], strict=True)}
        )
    return tree, seen


@given(LOGS, st.integers(1, 6))
def test_raw_counts_are_those_of_the_prefixes(log: Log, depth: int) -> None:
    _, seen = grown(log, depth)
    for length, found in enumerate(seen, start=1):
        expected: Counter[tuple[str, ...]] = Counter()
        for sequence, count in log.items():
            marked = (*sequence, "⊥")
            if len(marked) >= length:
                expected[marked[:length]] += count
        assert found == dict(expected)


@given(LOGS, st.integers(1, 6))
def test_a_tree_without_noise_gives_the_log_cut_at_its_length(log: Log, depth: int) -> None:
    tree, _ = grown(log, depth)
    expected: Counter[tuple[str, ...]] = Counter()
    for sequence, count in log.items():
        expected[sequence[:depth]] += count
    assert tree.variants(tree.settled(depth)).to_dict() == dict(expected)


@given(LOGS, st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), st.integers(1, 5))
def test_a_case_adds_one_to_at_most_one_prefix_on_each_level(
    log: Log, case: tuple[str, ...], depth: int
) -> None:
    more = dict(log)
    more[case] = more.get(case, 0) + 1
    labels = ("a", "b", "c")

    def whole(counts: Log) -> list[npt.NDArray[Any]]:
        """All candidates of all levels: nothing is pruned."""
        given_log = Variants.from_counts(counts)
        code = np.array([labels.index(label) for label in given_log.activities], dtype=np.int32)
        full = Variants(labels, code[given_log.codes], given_log.offsets, given_log.counts)
        tree = NoisyPrefixTree(full)
        levels = []
        for _ in range(depth):
            raw = tree.raw_counts()
            levels.append(raw)
            every = np.ones(len(raw), dtype=bool)
            tree.grow(np.arange(len(raw)), raw, every, every)
        return levels

    changes = [after - before for before, after in zip(whole(log), whole(more), strict=True)]
    assert sum(int(abs(change).sum()) for change in changes) <= depth
    assert all(abs(change).sum() <= 1 for change in changes)


@settings(max_examples=20, deadline=None)
@given(LOGS, st.sampled_from(["levels", "privtree"]), st.integers(1, 6))
def test_huge_budgets_give_back_the_log(log: Log, form: str, depth: int) -> None:
    rng = Randomness.system()
    variants = Variants.from_counts(log)
    if form == "levels":
        tree = grow_by_levels(variants, depth, CountNoise.laplace(depth, 5000), Semantics(), rng)
    else:
        splits, leaves = Laplace("splits", 5000 * 2 / 3), Laplace("leaves", 5000 / 3)
        tree = grow_privtree(variants, depth, splits, leaves, Semantics(), rng)
    expected: Counter[tuple[str, ...]] = Counter()
    for sequence, count in log.items():
        expected[sequence[:depth]] += count
    released = tree.variants(tree.settled(depth)).to_dict()
    assert sum(released.values()) <= sum(log.values())
    rare = 2 * depth  # the bias of a PrivTree cuts off what is rarer
    for sequence, count in released.items():
        if all(n > rare for n in log.values()) or form == "levels":
            assert expected[sequence] == count


@pytest.mark.parametrize("form", ["levels", "privtree"])
def test_growth_stays_within_its_public_bound(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_tree, "MOST_CANDIDATES", 300)
    wide = CountNoise.laplace(1000, 1)
    monkeypatch.setattr(prefix_tree, "privtree_noise", lambda symbols, splits: (wide, 1))
    rng = Randomness.seeded(1)
    variants = Variants.from_counts({tuple("abcdefgh"): 10, tuple("hgfedcba"): 3})
    if form == "levels":
        noise = CountNoise.laplace(12, 0.01)
        tree = grow_by_levels(variants, 12, noise, Semantics(min_count=1), rng)
    else:
        splits, leaves = Laplace("splits", 0.01 * 2 / 3), Laplace("leaves", 0.01 / 3)
        tree = grow_privtree(variants, 12, splits, leaves, Semantics(min_count=1), rng)
    assert tree.depth == 12
    widths = [int((level.symbol != tree.end).sum()) for level in tree.levels]
    assert max(widths[:-1]) * tree.symbols <= 300 * (1 if form == "levels" else tree.symbols)
    assert tree.variants(tree.settled(12)).cases > 0


def log_split(biased: int, scale: float) -> float:
    """ln P[biased + X > 0] for discrete Laplace noise X."""
    q = math.exp(-1 / scale)
    if biased > 0:
        return math.log1p(-(q**biased) / (1 + q))
    return (biased - 1) / scale - math.log1p(q)


@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=25),
    st.integers(2, 40),
    st.sampled_from([0.1, 0.5, 1.0, 2.0, 8.0]),
)
def test_all_splits_of_a_privtree_cost_no_more_than_epsilon(
    counts: list[int], symbols: int, epsilon: float
) -> None:
    noise, bias = privtree_noise(symbols, Laplace("splits", epsilon))
    scale = noise.size
    loss = 0.0
    for depth, count in enumerate(sorted(counts, reverse=True), start=1):
        without = max(-bias, count - depth * bias)
        with_case = max(-bias, count + 1 - depth * bias)
        up = log_split(with_case, float(scale)) - log_split(without, float(scale))
        # P[b + X ≤ 0] = P[−b + X > −1] by symmetry
        stay = log_split(1 - without, float(scale)) - log_split(1 - with_case, float(scale))
        assert stay <= epsilon * (1 + 1e-9)
        loss += up
        assert loss <= epsilon * (1 + 1e-9)


def test_the_privtree_bound_is_nearly_attained() -> None:
    noise, bias = privtree_noise(5, Laplace("splits", 1.0))
    scale = noise.size
    worst = 0.0
    for start in range(-bias + 1, 1):
        biased = [start + bias * i for i in range(30)]
        worst = max(
            worst,
            sum(log_split(b, float(scale)) - log_split(b - 1, float(scale)) for b in biased),
        )
    assert 0.85 < worst <= 1


def test_rounding_keeps_the_total() -> None:
    shares = np.array([0.4, 0.0, 2.5, 1.1])
    assert round_to_total(shares, 4).tolist() == [0, 0, 3, 1]
    assert round_to_total(shares, 4).sum() == 4
    assert round_to_total(shares, 4)[1] == 0
    assert round_to_total(np.zeros(3), 0).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "noise", [CountNoise.laplace(7, 0.5), CountNoise.gaussian(49, 0.01), CountNoise.laplace(1, 20)]
)
def test_thresholds_let_about_one_empty_candidate_pass(noise: CountNoise) -> None:
    candidates = 50_000
    least = noise.threshold(candidates, invented=100)
    passed = int((noise.draw(candidates, Randomness.system()) >= least).sum())
    assert passed <= 100 + 10 * math.sqrt(100)
    if noise.deviation > 1:
        assert passed >= 100 / math.exp(1 / noise.deviation) - 6.5 * math.sqrt(100)


def test_the_least_noise_is_gaussian_only_with_delta_and_where_it_helps() -> None:
    pure = laplace_or_gaussian("counts", Budget(1.0))
    either = laplace_or_gaussian("counts", Budget(1.0, 1e-6))
    assert least_noise(pure, 50, 50).kind == "laplace"
    assert least_noise(either, 50, 50).kind == "gaussian"
    assert least_noise(either, 1, 1).kind == "laplace"
