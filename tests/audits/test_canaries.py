"""One run: the bound is near the truth for a plain mechanism, never above it, and has teeth."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.arrays import Booleans, Floats
from discreet.audits import audit
from discreet.audits.canaries import audit_canaries, audit_one_run
from discreet.audits.subjects import find_pair as pair
from discreet.audits.subjects import subjects_of
from discreet.log.neighbours import Case, make_log
from discreet.mechanisms.travas import TraVaS, UTraVaS
from discreet.parameters import ParameterError
from discreet.privacy.accounting import zcdp_epsilon
from discreet.privacy.guarantee import Budget
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.randomness import Randomness
from tests.audits.bugs import RawSupport

CANARIES = 20_000


def noisy_counts(epsilon: float) -> Callable[[Booleans], Floats]:
    """Each canary has a count of its own with noise for ε: exactly ε-DP per canary."""

    def run(included: Booleans) -> Floats:
        noise = discrete_laplace(1 / Fraction(epsilon), len(included), Randomness.system())
        return (included + noise).astype(np.float64)

    return run


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_bound_approaches_the_truth_from_below(epsilon: float) -> None:
    found = audit_one_run(noisy_counts(epsilon), CANARIES, Budget(epsilon))
    assert not found.contradicts
    assert 0.75 * epsilon < found.epsilon
    assert found.correct <= found.guesses <= CANARIES


def test_noise_at_half_scale_is_caught_in_one_run() -> None:
    found = audit_one_run(noisy_counts(2.0), CANARIES, Budget(1.0, 1e-7))
    assert found.contradicts
    assert found.epsilon > 1.5


def test_a_training_by_noisy_gradients() -> None:
    """A linear model: each canary's clipped gradient is a direction of its own."""

    def trained(spread: float) -> Callable[[Booleans], Floats]:
        def run(included: Booleans) -> Floats:
            random = np.random.default_rng()
            weights = np.zeros(len(included))
            for _ in range(10):
                weights += included + random.normal(0, spread, len(included))
            return weights

        return run

    budget = Budget(zcdp_epsilon(10 / (2 * 10.0**2), 1e-7), 1e-7)
    assert not audit_one_run(trained(10.0), CANARIES, budget).contradicts
    assert audit_one_run(trained(1.0), CANARIES, budget).contradicts


def test_canary_cases_in_a_log() -> None:
    log = make_log([Case(("a", "b"))] * 30)
    canaries = [("a", "b", *f"{number:09b}") for number in range(300)]
    sound = audit_canaries(TraVaS(epsilon=1, delta=1e-6), log, canaries)
    assert not sound.contradicts
    leaking = audit_canaries(RawSupport(epsilon=1, delta=1e-6), log, canaries)
    assert leaking.contradicts
    assert leaking.epsilon > 2.5


def test_a_pair_with_canaries_is_audited_in_one_run() -> None:
    """How mechanisms that train a model are audited by name."""
    assert [chosen.name for chosen in subjects_of("travag")[-1].pairs()] == ["canaries"]
    assert "canaries" not in [chosen.name for chosen in subjects_of("travas")[0].pairs()]
    sound = audit(TraVaS(epsilon=1, delta=1e-6), pairs=[pair("canaries")])
    assert sound.verdict == "consistent"
    assert [found.runs for found in sound.pairs] == [1]
    leaking = audit(RawSupport(epsilon=1, delta=1e-6), pairs=[pair("canaries")])
    assert leaking.verdict == "violated"
    assert leaking.epsilon > 1


def test_what_cannot_be_audited_is_refused() -> None:
    log = make_log([Case(("a",))])
    with pytest.raises(ParameterError, match="makes no promise"):
        audit_canaries(UTraVaS(fidelity="published", runs=2), log, [("a",), ("b",)])
    with pytest.raises(ParameterError, match="at least 2 canaries"):
        audit_one_run(noisy_counts(1.0), 1, Budget(1.0))
    with pytest.raises(ParameterError, match="one score per canary"):
        audit_one_run(lambda included: np.zeros(3), 10, Budget(1.0))
