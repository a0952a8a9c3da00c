import math
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

from discreet.log.events import EventLog
from discreet.mechanisms.dpim import DPIM
from discreet.mechanisms.dpim.case_statistics import GRID
from discreet.mechanisms.dpim.noisy_graph import (
    CHOICE,
    FITNESS,
    candidates,
    graph_steps,
    pair_noise,
)
from discreet.models.tree import activity, flower, sequence
from discreet.privacy.guarantee import Budget
from discreet.privacy.steps import Choosing, noise_of

SHARES = (0.65, 0.25, 0.1)


def events(counts: Mapping[str, int] | Mapping[tuple[str, ...], int]) -> EventLog:
    rows = [
        (f"{sequence_}{number}", letter)
        for sequence_, count in counts.items()
        for number in range(count)
        for letter in sequence_
    ]
    table = pl.DataFrame(rows, ["case:concept:name", "concept:name"], orient="row")
    return EventLog.from_table(table)


class TestGraphMethod:
    def test_candidates_read_nothing_but_the_noisy_matrix(self) -> None:
        square = np.zeros((3, 3))
        square[2, 0] = square[0, 1] = square[1, 2] = 100.0
        found = candidates(("a", "b"), square, 5.0)
        assert sequence(activity("a"), activity("b")) in found
        assert flower(("a", "b")) in found

    def test_noise_scales_follow_from_the_parameters(self) -> None:
        pure = graph_steps(Budget(1.0), SHARES)
        assert float(pair_noise(pure, 8).size) / GRID == pytest.approx(2 * 8 / 0.65)
        assert float(noise_of(pure.named(FITNESS), 1).size) == pytest.approx(1 / 0.1)
        gaussian = graph_steps(Budget(1.0, 1e-6), SHARES)
        rho = float(gaussian.rho or 0)
        assert float(pair_noise(gaussian, 8).size) / GRID**2 == pytest.approx(8 / (0.65 * rho))
        assert gaussian.find(CHOICE, Choosing).epsilon ** 2 / 8 == pytest.approx(0.25 * rho)

    def test_neighbours_are_not_told_apart_by_more_than_epsilon(self) -> None:
        """The example of the paper: has anyone undergone surgery twice?"""
        mechanism = DPIM(epsilon=1, delta=0, alphabet=tuple("RHSD"), min_fitness=0)
        logs = (events({"RHSD": 20, "RHD": 10}), events({"RHSD": 19, "RHD": 10, "RHSSD": 1}))
        runs = 120
        outcomes = [
            [str(mechanism.release(log, insecure_seed=s).artefact.tree) for s in range(runs)]
            for log in logs
        ]
        half = runs // 2
        events_ = set(outcomes[0][:half]) | set(outcomes[1][:half])
        best = max(
            events_, key=lambda e: abs(outcomes[0][:half].count(e) - outcomes[1][:half].count(e))
        )
        hits = [outcome[half:].count(best) for outcome in outcomes]
        assert _least_epsilon(hits[0], hits[1], half) <= 1
        assert _least_epsilon(hits[1], hits[0], half) <= 1


def _least_epsilon(hits: int, others: int, runs: int) -> float:
    """A lower bound on ε that is wrong with probability below 1e-6 (Clopper and Pearson)."""
    alpha = 5e-7
    low = beta.ppf(alpha, hits, runs - hits + 1) if hits else 0.0
    high = beta.ppf(1 - alpha, others + 1, runs - others) if others < runs else 1.0
    return math.log(low / high) if low else 0.0
