"""The log-linear model: what it learns, and that a case changes a step by no more than the clip."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.arrays import Floats, Integers
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import loglinear
from discreet.mechanisms.headtail.candidates import PHASES
from discreet.mechanisms.headtail.loglinear import (
    CLIP,
    FINE,
    GRID,
    HALF,
    LONGEST,
    ONCE,
    Examples,
    LogLinear,
    trained,
)
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian

LETTERS = ("a", "b", "c")
SIZE = (3 * len(LETTERS) + 3 + PHASES, len(LETTERS) + 1)

logs = st.dictionaries(
    st.lists(st.sampled_from(LETTERS), min_size=1, max_size=12).map(tuple),
    st.integers(1, 9),
    min_size=1,
    max_size=6,
)


def over_letters(counts: dict[tuple[str, ...], int]) -> Variants:
    """The log, its codes those of LETTERS whichever of them occur."""
    codes = np.array([LETTERS.index(e) for s in counts for e in s], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in counts])]).astype(np.int64)
    return Variants(LETTERS, codes, offsets, np.array(list(counts.values()), dtype=np.int64))


def some_weights(seed: int) -> Integers:
    return np.random.default_rng(seed).integers(-2000, 2000, size=SIZE)


def stepped(counts: dict[tuple[str, ...], int], weights: Integers, earlier: int = ONCE) -> Integers:
    """The sum of one step, in blocks so small that cases meet in one and in several."""
    with patch.object(loglinear, "BLOCK", 20):
        blocks = Examples.blocks(over_letters(counts), earlier)
    total: Integers = np.sum([block.clipped_sum(weights) for block in blocks], axis=0)
    return total


@given(logs, st.lists(st.sampled_from(LETTERS), min_size=1, max_size=60), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_one_case_changes_a_step_by_the_clip_at_most(
    counts: dict[tuple[str, ...], int], case: list[str], seed: int
) -> None:
    """Exactly what the case gives alone, whoever else is there, and no longer than CLIP."""
    weights = some_weights(seed)
    more = {**counts, tuple(case): counts.get(tuple(case), 0) + 1}
    change = stepped(more, weights) - stepped(counts, weights)
    assert (change == stepped({tuple(case): 1}, weights)).all()
    assert sum(int(x) ** 2 for x in change.ravel()) <= CLIP**2


@given(logs, st.lists(st.sampled_from(LETTERS), min_size=9, max_size=60), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_a_case_like_many_others_changes_it_no_more(
    counts: dict[tuple[str, ...], int], case: list[str], seed: int
) -> None:
    weights, many = some_weights(seed), {**counts, tuple(case): 20}
    for trace in many:
        more = {**many, trace: many[trace] + 1}
        change = stepped(more, weights) - stepped(many, weights)
        assert sum(int(x) ** 2 for x in change.ravel()) <= CLIP**2


def test_a_very_long_case_changes_it_no_more() -> None:
    change = stepped({("a", "b", "a", "c") * 5000: 1}, some_weights(1))
    assert sum(int(x) ** 2 for x in change.ravel()) <= CLIP**2
    assert Examples.of(over_letters({("a",) * 5000: 1}), ONCE).observed[0].sum() == GRID * LONGEST


def likelihood(sequence: str, weights: Floats) -> float:
    """The logarithm of its chance by the model, step by step, as the walk sees it."""
    mark, total = len(LETTERS), 0.0
    history = [mark, *(LETTERS.index(letter) for letter in sequence), mark]
    for step, following in enumerate(history[1:], start=1):
        sharpened = LogLinear(LETTERS, weights).chances(np.array([history[:step]]))[0]
        chances = sharpened ** (1 / loglinear.SHARPEN)
        total += float(np.log(chances[following] / chances.sum()))
    return total


@pytest.mark.parametrize("sequence", ["aba", "c", "cabacbaac"])
def test_a_gradient_is_that_of_the_log_likelihood(sequence: str) -> None:
    """Of the model that is walked through, so both see the same features."""
    examples = Examples.of(over_letters({tuple(sequence): 1}), ONCE)
    weights = some_weights(2) // 8
    total = examples.summed @ examples.gradients(weights)
    here = weights / FINE
    for place in np.ndindex(SIZE):
        step = np.zeros(SIZE)
        step[place] = 1e-5
        slope = (likelihood(sequence, here + step) - likelihood(sequence, here - step)) / 2e-5
        assert total[place] / (GRID * ONCE) == pytest.approx(slope, abs=0.02)


def test_features_tell_last_before_seen_and_phase() -> None:
    rows = Examples.of(over_letters({("a", "b", "a"): 1}), ONCE).features.toarray()
    mark = len(LETTERS)
    rows = rows[np.argsort(rows[:, -PHASES:].argmax(axis=1))]
    assert (rows[:, 0] == 1).all()
    assert [row[1 : mark + 2].tolist().index(2) for row in rows] == [mark, 0, 1, 0]
    assert [row[mark + 2 : 2 * mark + 3].tolist().index(2) for row in rows] == [mark, mark, 0, 1]
    seen = rows[:, 2 * mark + 3 : -PHASES]
    assert seen.tolist() == [[0, 0, 0], [2, 0, 0], [2, 2, 0], [2, 2, 0]]
    assert [row[-PHASES:].tolist().index(2) for row in rows] == [0, 1, 2, 3]


def test_earlier_activities_may_count_half() -> None:
    log = over_letters({("a", "b", "a"): 1})
    whole, half = (Examples.of(log, earlier).features.toarray() for earlier in (ONCE, HALF))
    seen = slice(2 * len(LETTERS) + 3, -PHASES)
    assert (whole[:, seen] == 2 * half[:, seen]).all()
    whole[:, seen] = half[:, seen] = 0
    assert (whole == half).all()


def test_steps_with_the_same_past_are_one_context() -> None:
    """However many variants and activities there are; other pasts stay apart."""
    labels = tuple(f"activity {i:02d}" for i in range(70))
    codes = np.array([0, 69, 1, 0, 69, 2, 0, 68, 1], dtype=np.int32)
    log = Variants(labels, codes, np.array([0, 3, 6, 9]), np.ones(3, dtype=np.int64))
    assert Examples.of(log, ONCE).features.shape[0] == 1 + 1 + 2 + 3


def test_no_case_at_all_is_a_step_of_noise() -> None:
    model = trained(Variants.empty(LETTERS), 100.0, 3.0, Gaussian("", 1.0), Randomness.seeded(3))
    assert model.weights.shape == SIZE
    assert np.isfinite(model.weights).all()


@pytest.mark.parametrize("cases", [100.0, 1000.0, 1e9])
def test_steps_are_as_large_as_the_noise_allows_but_not_larger_than_a_limit(cases: float) -> None:
    """Without a case the weights are noise alone; the mean over half of the steps spreads less."""
    nobody = Variants.empty(tuple("abcdefghijklmnop"))
    model = trained(nobody, cases, 5.0, Gaussian("", 0.01), Randomness.seeded(7))
    spread = float(model.weights.std())
    if cases < 1e6:
        assert 0.5 * loglinear.NOISE < spread < loglinear.NOISE
    else:
        assert spread < 1e-3


def test_with_hardly_any_noise_it_learns_what_happens_once() -> None:
    """In any order, each once: what a chain of the last two activities cannot tell."""
    orders = ["abcd", "acbd", "bacd", "bcad", "cabd", "cbad"]
    truth = Variants.from_counts({tuple(order): 1000 for order in orders})
    model = trained(truth, 6000.0, 4.0, Gaussian("", 1e6), Randomness.seeded(5))
    sampled = model.sample(8, 4000, np.random.default_rng(1))
    assert sum(sampled.to_dict().get(s, 0) for s, _ in truth) > 0.9 * sampled.cases


def test_it_is_learned_where_the_cases_stand_out_from_its_noise() -> None:
    assert loglinear.learnable(16, 1000, 14, 0.006)
    assert not loglinear.learnable(16, 1000, 14, 0.0001)  # nothing to learn
    assert not loglinear.learnable(400, 3000, 20, 1.0)  # too many weights
    assert not loglinear.learnable(16, 1e6, 14, 0.006)  # too much work
