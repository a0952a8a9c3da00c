"""The tables of neighbours: same questions, and no more apart than was paid for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.arrays import Floats, Integers
from discreet.mechanisms.blocks.contributions import GRID, Contributions
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian
from discreet.wholelogs import Whole, profiles, tables, values, work
from discreet.wholelogs.attributes import Observed
from discreet.wholelogs.completing import complete
from discreet.wholelogs.declaring import Attribute
from tests.wholelogs.logs import Event, log_of, office

Question = tuple[str, int, int]


class Replay:
    """Records every question of a run with its exact table; answers those of a second run alike."""

    def __init__(self) -> None:
        self.questions: list[list[Question]] = [[], []]
        self.tables: list[list[Integers]] = [[], []]
        self.answers: list[tuple[Floats, float]] = []
        self.named: list[tuple[pl.Series, tuple[Floats, float]]] = []
        self.rhos: list[Fraction] = []
        self.run = 0

    def noisy_sum(
        self, case: Integers, key: Integers, size: int, cases: int, bound: int, step: Gaussian,
        rng: Randomness,
    ) -> tuple[Floats, float]:  # fmt: skip
        exact = np.zeros(size, dtype=np.int64)
        hits = Contributions.of(case, key, size)
        np.add.at(exact, hits.key, hits.bounded(bound, "l2", cases, GRID))
        place = len(self.questions[self.run])
        self.questions[self.run].append((step.name, size, bound))
        self.tables[self.run].append(exact)
        if self.run == 0:
            self.rhos.append(step.rho)
            noise = step.noise(bound)
            noisy = exact / GRID + noise.draw(size, rng)
            self.answers.append((noisy, noise.deviation))
        return self.answers[place]

    def names(
        self, observed: Observed, one: Integers, attribute: Attribute, spending: Any,
        rng: Randomness,
    ) -> tuple[pl.Series, Integers, tuple[Floats, float]]:  # fmt: skip
        """Names are those of the first run, whose values the second has or lacks."""
        step = spending.find(f"names of {attribute.column}", Gaussian)
        counts = np.bincount(one[one >= 0], minlength=len(observed.values))
        by_value = dict(zip(observed.values.to_list(), counts.tolist(), strict=True))
        place = sum(name == step.name for name, _, _ in self.questions[self.run])
        assert place == 0
        self.questions[self.run].append((step.name, 0, 1))
        if self.run == 0:
            kept = observed.values.filter(pl.Series(counts > 5))
            self.named.append((kept, (np.zeros(len(kept)), 1.0)))
            self.rhos.append(step.rho)
            self.tables[0].append(np.zeros(0, dtype=np.int64))
            self.answers.append((np.zeros(0), 1.0))
            self.counts = getattr(self, "counts", {}) | {step.name: by_value}
        else:
            self.tables[1].append(np.zeros(0, dtype=np.int64))
            before = self.counts[step.name]
            apart = [abs(before.get(v, 0) - by_value.get(v, 0)) for v in {*before, *by_value}]
            assert sum(apart) <= 1
        named, seen = self.named[
            [n for n, _, _ in self.questions[self.run] if n.startswith("names")].index(step.name)
        ]
        number = {value: i for i, value in enumerate(named.to_list())}
        codes = [number.get(value, len(named)) for value in observed.values.to_list()]
        return named, np.array(codes, dtype=np.int64), seen


def century(_: int) -> list[Event]:
    """A case from long before the stretch to long after it."""
    return [("register", -700_000.0, "zoe", 1e15), ("check", 600_000.0, None, -3.0)]


def endless(_: int) -> list[Event]:
    """Eight hundred events."""
    return [(["check", "decide"][i % 2], 17.0 * i, f"r{i}", 0.01) for i in range(800)]


def alone(_: int) -> list[Event]:
    """A value and an activity that nobody else has."""
    return [("unheard of", 1.0, "nobody", 12.34), ("register", 1.0, "nobody", 12.34)]


@pytest.mark.parametrize("further", [century, endless, alone])
@pytest.mark.parametrize("zone", ["UTC", "Australia/Lord_Howe"])
def test_one_case_more_costs_what_is_stated(
    further: Any, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = office(400)
    mechanism = Whole(
        epsilon=4, attributes=("org:resource", "case:amount:number"), zone=zone,
        begun="start_timestamp",
    )  # fmt: skip
    replay = Replay()
    for module in (tables, profiles, values, work):
        monkeypatch.setattr(module, "noisy_sum", replay.noisy_sum)
    monkeypatch.setattr(values, "_names", replay.names)
    monkeypatch.setattr(Observed, "of_one_event", lambda self, offsets, rng: self.of_cases(offsets))
    released = log_of(cases).variants
    assert mechanism.spending is not None
    for replay.run, one in enumerate((log_of([*cases, further(0)]), log_of(cases))):
        complete(
            one,
            released,
            mechanism.asked,
            mechanism.begun,
            zone,
            mechanism.spending,
            Randomness.seeded(3),
        )
    assert replay.questions[0] == replay.questions[1]
    lost = Fraction(0)
    for (_, _, bound), rho, with_it, without in zip(
        replay.questions[0], replay.rhos, *replay.tables, strict=True
    ):
        apart = int(((with_it - without) ** 2).sum())
        assert apart <= bound * GRID**2
        lost += rho * apart / (bound * GRID**2) if apart else 0
    account = mechanism.spending.named("times and attributes")
    assert account.rho is not None
    assert 0 < lost <= account.rho
    assert sum(replay.rhos) <= account.rho


@given(
    many=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    bound=st.integers(1, 50),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_a_case_adds_no_more_than_its_bound(many: list[int], bound: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = np.repeat(np.arange(len(many)), many)
    key = rng.integers(0, 7, len(case))
    hits = Contributions.of(case, key, 7)
    added = hits.bounded(bound, "l2", len(many), GRID)
    squares = np.zeros(len(many), dtype=np.int64)
    np.add.at(squares, hits.owner, added**2)
    assert (squares <= bound * GRID**2).all()


def test_threshold_of_names_keeps_lone_values_back() -> None:
    step = Whole(attributes="org:resource").step("names of org:resource", Gaussian)
    threshold = values.naming_threshold(step)
    reach = np.arange(0, 40_000) + threshold - 1
    weights = np.exp(-(reach.astype(np.float64) ** 2) / (2 * float(step.noise(1).size)))
    normal = np.sqrt(2 * np.pi * float(step.noise(1).size))
    assert weights.sum() / normal <= step.failing


def test_shares_add_up_and_never_cost_more() -> None:
    for attributes in ((), ("a",), ("a", "case:b:number", "c=x|y", "case:d:boolean")):
        for epsilon in (0.1, 1.0, 10.0):
            promise = Whole(epsilon=epsilon, attributes=attributes).guarantee()
            assert promise.holds is not None
            assert promise.holds.epsilon == pytest.approx(epsilon, rel=0.011)
            assert promise.holds.epsilon <= epsilon
            assert promise.holds.delta <= 1e-6
