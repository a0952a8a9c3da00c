"""Trials: who takes part, in what time, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.advice.trials import LATE, Trial, run_trials
from discreet.log.samples import sample_log
from discreet.mechanisms.travas import TraVaS

LOG = sample_log("permits", cases=150, seed=1)


def test_scatter_is_that_of_the_runs() -> None:
    trial = Trial("x", 1.0, runs=({"similarity": 0.5}, {"similarity": 0.7}, {"fitness": 1.0}))
    assert trial.figures == {"similarity": pytest.approx(0.6), "fitness": 1.0}
    assert trial.deviation("similarity") == pytest.approx(0.02**0.5)
    assert trial.deviation("fitness") is None


def test_the_default_takes_part_and_who_is_late_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[float] = []

    def slow(self: TraVaS, *_: Any) -> None:
        drawn.append(self.epsilon)
        raise TimeoutError  # as the alarm does

    monkeypatch.setattr(TraVaS, "_draw", slow)
    monkeypatch.setattr("discreet.product.DEFAULT_MECHANISM", "utravas")
    names = ("travas", "laplace")
    found = run_trials(LOG, epsilons=(0.5, 1.0), delta=1e-3, names=names, seconds=600, times=False)
    assert drawn == [1.0, 0.5]
    by_name = {(one.name, one.epsilon): one for one in found.trials}
    assert {name for name, _ in by_name} == {"utravas", "travas", "laplace"}
    assert by_name["utravas", 1.0].runs
    assert by_name["travas", 1.0].late
    assert not by_name["laplace", 1.0].late
    assert "travas" in found.left_out[LATE]
    assert any("alphabet" in reason for reason in found.left_out)
    assert found.short_of_time


def test_who_had_no_turn_is_named_too() -> None:
    found = run_trials(LOG, epsilons=(1.0,), delta=1e-3, names=("travas",), seconds=0)
    assert "travas" in found.left_out[LATE]
    assert found.short_of_time


def test_the_best_comes_first_at_each_budget() -> None:
    found = run_trials(LOG, epsilons=(0.1, 4.0), delta=1e-3, names=("travas",), seconds=600)
    assert [one.epsilon for one in found.trials] == [0.1, 0.1, 4.0, 4.0]
    for budget in (0.1, 4.0):
        scores = [one.score or 0.0 for one in found.trials if one.epsilon == budget]
        assert scores == sorted(scores, reverse=True)
    assert {"similarity", "follows_total_variation"} <= set(found.references)
    assert not found.left_out
    assert not found.short_of_time
