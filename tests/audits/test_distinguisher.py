"""Choosing events and training distinguishers: they find what is there, and only help to find."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audits.distinguisher import Event, choose_event, train


@pytest.fixture
def random() -> np.random.Generator:
    """The same numbers whichever tests came before."""
    return np.random.default_rng(1)


def test_the_telling_column_value_and_direction_are_found(random: np.random.Generator) -> None:
    left = random.integers(0, 10, (4000, 5)).astype(float)
    right = random.integers(0, 10, (4000, 5)).astype(float)
    right[:2000, 3] = 17
    score, event = choose_event(left, right, 0.0)
    assert event.column == 3
    assert event.likelier == 1
    assert score > 3
    assert event.hits(right) == 2000
    assert event.hits(left) == 0
    assert event.describe(list("abcde")).startswith("d ")
    score, event = choose_event(right, left, 0.0)
    assert event.likelier == 0


def test_a_single_value_can_be_the_event(random: np.random.Generator) -> None:
    left, right = (random.integers(0, 9, (4000, 1)).astype(float) for _ in range(2))
    right[:1500] = 4
    _, event = choose_event(left, right, 0.0)
    assert event == Event(0, "=", 4.0, 1)


def test_delta_forgives_rare_events() -> None:
    left = np.zeros((4000, 2))
    right = np.zeros((4000, 2))
    right[:200, 0] = 1
    assert choose_event(left, right, 0.0)[0] > 1
    assert choose_event(left, right, 0.06)[0] <= 0


def test_a_threshold_lies_between_the_logs_and_the_clearest_column_is_taken() -> None:
    """Twelve runs of either log, told apart by both columns: chance would fill the narrow gap."""
    left, right = np.zeros((12, 2)), np.zeros((12, 2))
    left[:, 0], right[:, 0] = np.arange(12), np.arange(13, 25)
    right[:, 1] = 100
    _, event = choose_event(left, right, 0.0)
    assert event.column == 1
    assert event.value == 50
    assert choose_event(left, right, 0.0, range(1))[1].value in (11, 12, 13)


def test_constant_columns_and_fine_scales_are_no_trouble(random: np.random.Generator) -> None:
    left, right = np.ones((500, 3)), np.ones((500, 3))
    assert choose_event(left, right, 0.0)[0] == -np.inf
    left[:, 1], right[:, 1] = random.normal(0, 1, 500), random.normal(3, 1, 500)
    score, event = choose_event(left, right, 0.0)
    assert event.column == 1
    assert score > 1


def test_a_distinguisher_sees_what_no_single_column_shows(random: np.random.Generator) -> None:
    """Three columns with an advantage each: together they tell about three times as much."""
    left = random.integers(0, 4, (8000, 3)).astype(float)
    right = np.minimum(left + random.integers(0, 2, (8000, 3)), 3)
    scorer = train(left[:4000], right[:4000])
    single = choose_event(left[4000:], right[4000:], 0.0)[0]
    scores = [scorer.score(part[4000:])[:, None] for part in (left, right)]
    assert choose_event(scores[0], scores[1], 0.0)[0] > 1.5 * single


def test_constant_features_do_not_disturb_a_distinguisher() -> None:
    left, right = np.zeros((100, 2)), np.zeros((100, 2))
    right[:, 1] = 1
    scorer = train(left, right)
    assert scorer.score(right).min() > scorer.score(left).max()
    assert np.isfinite(scorer.score(np.full((1, 2), 1e30))).all()
