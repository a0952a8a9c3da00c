"""Spending: what steps cost together, and that promise and noise come from the same numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy.accounting import group, zcdp_epsilon, zcdp_rho
from discreet.privacy.guarantee import Budget
from discreet.privacy.partition import OptimalSelection
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan, rdp_epsilon
from discreet.privacy.reserved import ReservedSelection
from discreet.privacy.steps import (
    Choosing,
    Concentrated,
    Delegated,
    Gaussian,
    Group,
    Laplace,
    OneOf,
    Proved,
    RandomStopping,
    Renyi,
    Reserved,
    SampledGaussian,
    Selecting,
    Sequential,
    SpendingError,
    Statement,
    Step,
    gaussian,
    noise_of,
    promised,
)
from discreet.privacy.transcript import transcript

ASKED = Budget(1.0, 1e-6)


def test_a_sum_is_exact_and_never_rounded_down() -> None:
    tenths = Sequential("all", tuple(Laplace(f"step {i}", 0.1) for i in range(10)))
    exact = 10 * Fraction(0.1)
    assert exact > 1
    assert Fraction(tenths.spent.epsilon) >= exact
    with pytest.raises(SpendingError, match="more than"):
        promised(tenths, ASKED, Statement("because"))


def test_noise_and_cost_of_a_step_are_one_number() -> None:
    step = Laplace("counts", 0.5)
    assert step.noise(3).size == 6
    assert replace(step, epsilon=1.0).noise(3).size == 3
    assert replace(step, epsilon=1.0).spent == Budget(1.0)
    wide = Gaussian("counts", 0.125)
    assert wide.noise(2).size == 8
    assert wide.rho == Fraction(1, 8)
    sampled = SampledGaussian("sums", TrainingPlan(Fraction(1), 1, 2.0))
    assert sampled.noise(9).size == 36
    assert sampled.rho == Fraction(1, 8)


def test_zcdp_adds_up_and_is_converted_once() -> None:
    steps = (Gaussian("a", 0.01), Choosing("b", 0.2), Laplace("c", 0.1), Gaussian("d", 0.02, 1e-7))
    whole = Concentrated("all", steps, 1e-6)
    rho = Fraction(0.01) + Fraction(0.2) ** 2 / 8 + Fraction(0.1) ** 2 / 2 + Fraction(0.02)
    assert whole.rho == rho
    assert whole.spent.epsilon == pytest.approx(zcdp_epsilon(float(rho), 1e-6))
    assert whole.spent.delta == pytest.approx(1.1e-6)
    assert [part.rho for part in whole.stated().parts] == pytest.approx([0.01, 0.005, 0.005, 0.02])


def test_a_gaussian_step_needs_a_conversion() -> None:
    with pytest.raises(SpendingError, match="conversion"):
        _ = Sequential("all", (Gaussian("a", 0.1),)).spent
    converted = gaussian("a", ASKED)
    assert converted.spent.epsilon <= 1
    assert noise_of(converted, 4).size == 4 / (2 * Fraction(zcdp_rho(1.0, 1e-6)))


def test_renyi_composes_sampled_steps_only() -> None:
    plan = TrainingPlan(Fraction(1, 4), 20, 3.0)
    whole = Renyi("all", (SampledGaussian("a", plan),), 1e-6, 1e-7)
    assert whole.spent == Budget(rdp_epsilon([plan], 1e-6), whole.spent.delta)
    assert whole.spent.delta == pytest.approx(1.1e-6)
    with pytest.raises(SpendingError, match="only sampled"):
        Renyi("all", (Laplace("a", 1.0),), 1e-6)


def test_of_alternatives_the_dearest_counts() -> None:
    options = OneOf("either", (Laplace("a", 0.5), Proved("b", 0.3, 1e-7, "elsewhere")))
    assert options.spent == Budget(0.5, 1e-7)


def test_what_is_hidden_may_cost_what_was_reserved() -> None:
    selecting = Selecting("head", ReservedSelection(1.0, 9e-7, 0.6))
    both = Reserved("head and tail", selecting, Proved("tail", 0.6, 1e-7, "elsewhere"))
    assert both.spent.epsilon == 1.0
    assert both.spent.delta == pytest.approx(1e-6)
    with pytest.raises(SpendingError, match="reserved"):
        Reserved("head and tail", selecting, Laplace("tail", 0.61))
    plain = Selecting("head", OptimalSelection(1.0, 9e-7))
    with pytest.raises(SpendingError, match="reserves nothing"):
        Reserved("head and tail", plain, Laplace("tail", 0.1))


def test_random_stopping_costs_two_rounds_and_takes_pure_ones_only() -> None:
    assert RandomStopping("rounds", Laplace("a", 0.25)).spent == Budget(0.5)
    with pytest.raises(SpendingError, match="pure"):
        _ = RandomStopping("rounds", Proved("a", 0.25, 1e-9, "elsewhere")).spent


def test_individuals_cost_what_their_cases_do() -> None:
    each = Proved("release", 0.3, 1e-7, "elsewhere")
    assert Group("person", each, 3).spent == Budget(*group(0.3, 1e-7, 3))


def test_a_guarantee_changes_with_every_scale() -> None:
    def tree(look: float, rest: float) -> Step:
        return Sequential("release", (Laplace("look", look), Laplace("rest", rest)))

    whole = promised(tree(0.4, 0.6), ASKED, Statement("because"))
    assert whole.holds == Budget(1.0, 0.0)
    assert whole.claimed == ASKED
    less = promised(tree(0.5, 0.25), ASKED, Statement("because"))
    assert less.holds == Budget(0.75, 0.0)
    assert less != whole
    with pytest.raises(SpendingError, match="more than"):
        promised(tree(0.4, 0.7), ASKED, Statement("because"))


def test_a_refuted_guarantee_says_what_its_steps_cost() -> None:
    levels = Sequential("levels", tuple(Laplace(f"level {i}", 1.0) for i in range(5)))
    promise = promised(levels, ASKED, Statement("five times", "refuted", claimed=Budget(1.0)))
    assert promise.holds == Budget(5.0)
    assert promise.claimed == Budget(1.0)
    assert promised(None, ASKED, Statement("unknown", "refuted")).holds is None
    with pytest.raises(SpendingError, match="needs the steps"):
        promised(None, ASKED, Statement("because"))


def test_steps_are_told_apart_by_name() -> None:
    twice = Sequential("all", (Laplace("a", 0.1), Laplace("a", 0.1)))
    with pytest.raises(SpendingError, match="share a name: a"):
        promised(twice, ASKED, Statement("because"))
    once = Sequential("all", (Laplace("a", 0.1), Laplace("b", 0.1)))
    assert once.find("b", Laplace).epsilon == 0.1
    with pytest.raises(KeyError, match="no step 'c'"):
        once.named("c")
    with pytest.raises(KeyError, match="not a Gaussian"):
        once.find("b", Gaussian)


def test_a_delegated_release_needs_a_promise_to_build_on() -> None:
    good = promised(Laplace("a", 1.0), ASKED, Statement("because"))
    assert Delegated("candidate", good).spent == Budget(1.0)
    bad = promised(None, ASKED, Statement("unknown", "refuted"))
    with pytest.raises(SpendingError, match="no guarantee"):
        _ = Delegated("candidate", bad).spent


def test_the_certificate_shows_every_step_with_cost_and_rule() -> None:
    inner = gaussian("counts", Budget(0.5, 1e-6))
    promise = promised(
        Sequential("release", (Laplace("look", 0.5), inner)), ASKED, Statement("because")
    )
    look, counts = promise.parts
    assert promise.composition == "basic composition"
    assert "Laplace" in look.rule
    assert counts.epsilon <= 0.5
    assert "zCDP" in counts.rule
    assert counts.parts[0].rho == zcdp_rho(0.5, 1e-6)
    assert type(promise).from_dict(promise.to_dict()) == promise


def test_answers_are_noted_only_for_who_asks() -> None:
    noise = Laplace("counts", 1.0).noise()
    rng = Randomness.system()
    with transcript() as kept:
        noisy = noise.added(np.arange(5), rng)
        Choosing("choice", 1.0).choose([1, 2], 1, monotone=True, rng=rng)
    noise.added(np.arange(5), rng)
    assert [answer.tolist() for answer in kept["counts"]] == [noisy.tolist()]
    assert kept["choice"][0].tolist() in ([0], [1])
