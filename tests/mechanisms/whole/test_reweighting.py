from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.whole.reweighting import (
    SimulationPlan,
    matching_factors,
    normalised_weights,
)


def test_weights_bring_durations_to_their_table_and_keep_the_waits() -> None:
    """Two alternatives a case, one short and one long; three quarters are to be long."""
    cases = 400
    plan = SimulationPlan(
        2 * np.arange(cases + 1),
        np.tile([-1, 0], cases),
        np.zeros(2 * cases, dtype=np.int64),
    )
    parts = np.tile([0, 1], (cases, 1))
    short, long = np.tile([2, 0], cases), np.tile([2, 1], cases)  # 2 is the first of a case
    tau, phi = matching_factors(
        plan, parts, np.array([0.25, 0.75]) * cases, np.stack([short, long]),
        np.array([0.25, 0.75]) * cases,
    )  # fmt: skip
    taken = normalised_weights(tau[parts] + np.stack([phi[short[1::2]], phi[long[1::2]]], axis=1))
    assert taken.mean(axis=0) == pytest.approx([0.25, 0.75], abs=0.01)


def test_shares_of_alternatives_stand_any_logarithms() -> None:
    found = normalised_weights(np.array([[1000.0, 1000.0], [-900.0, 0.0]]))
    assert found.tolist() == [[0.5, 0.5], [0.0, 1.0]]


def test_some_cases_keep_their_events() -> None:
    plan = SimulationPlan(np.array([0, 3, 5, 6]), np.arange(6), 10 * np.arange(6))
    part, positions = plan.take(np.array([0, 2]))
    assert positions.tolist() == [0, 1, 2, 5]
    assert part.lengths.tolist() == [3, 1]
    assert part.profiles.tolist() == [0, 10, 20, 50]
