"""The tables of neighbours: same questions, and no more apart than was paid for."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.arrays import Floats, Integers
from discreet.log.cases import AMOUNT, KEY
from discreet.log.summing import sums_over
from discreet.mechanisms.blocks.contributions import GRID, Contributions
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Gaussian
from discreet.wholelogs import Whole, naming, profiles, tables, values, work
from discreet.wholelogs.attributes import MOST_VOTES, Observed
from discreet.wholelogs.completing import complete
from discreet.wholelogs.courses import Source
from discreet.wholelogs.declaring import Attribute
from discreet.wholelogs.naming import Names
from tests.wholelogs.logs import Event, log_of, office

Question = tuple[str, int, int]


class Replay:
    """Records every question of a run with its exact table; answers those of a second run alike."""

    def __init__(self) -> None:
        self.questions: list[list[Question]] = [[], []]
        self.tables: list[list[Integers]] = [[], []]
        self.answers: list[tuple[Floats, float]] = []
        self.named: dict[str, tuple[pl.Series, dict[Any, int]]] = {}
        self.rhos: list[Fraction] = []
        self.scores: list[list[tuple[Choosing, int, list[int]]]] = [[], []]
        self.run = 0

    def noisy_sum(
        self, source: Source, entries: Any, size: int, bound: int, step: Gaussian, rng: Randomness
    ) -> tuple[Floats, float]:
        exact = np.zeros(size, dtype=np.int64)
        answer = source.total(tables.added_by(entries, size, bound, GRID))
        exact[answer[KEY].to_numpy()] = answer[AMOUNT].to_numpy()
        place = len(self.questions[self.run])
        self.questions[self.run].append((step.name, size, bound))
        self.tables[self.run].append(exact)
        noise = step.noise(bound)
        drawn = noise.draw(size, rng)  # also in the second run: what is drawn later must be alike
        if self.run == 0:
            self.rhos.append(step.rho)
            self.answers.append((exact / GRID + drawn, noise.deviation))
        return self.answers[place]

    def names(self, source: Source, attribute: Attribute, spending: Any, rng: Randomness) -> Names:
        """Names are those of the first run, whose values the second has or lacks."""
        step = spending.find(f"names of {attribute.column}", Gaussian)
        votes = source.total(naming.votes_for(attribute, rng.bits(63), GRID))
        weights = dict(votes.iter_rows())
        self.questions[self.run].append((step.name, 0, 1))
        if self.run == 0:
            self.named[step.name] = votes.filter(pl.col(AMOUNT) > 5 * GRID)[KEY], weights
            self.rhos.append(step.rho)
            self.answers.append((np.zeros(0), 1.0))
        named, before = self.named[step.name]
        apart = [before.get(v, 0) - weights.get(v, 0) for v in {*before, *weights}]
        self.tables[self.run].append(np.array(apart, dtype=np.int64) * self.run)
        if self.run == 0:
            self.tables[0][-1] = np.zeros(1, dtype=np.int64)
        return Names(named, np.array([before[value] / GRID for value in named.to_list()]), 1.0)

    def choose(
        self, step: Choosing, scores: list[int], sensitivity: int, *, monotone: bool,
        rng: Randomness,
    ) -> int:  # fmt: skip
        """The choice of the first run; what it costs is counted where the scores are compared."""
        assert not monotone
        self.scores[self.run].append((step, sensitivity, scores))
        return len(self.scores[self.run]) % len(scores)


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
        epsilon=4,
        attributes=("org:resource", "case:amount:number", "case:kind", "weight:number"),
        zone=zone, begun="start_timestamp",
    )  # fmt: skip
    replay = Replay()
    for module in (tables, profiles, values, work):
        monkeypatch.setattr(module, "noisy_sum", replay.noisy_sum)
    monkeypatch.setattr(Names, "find", replay.names)
    monkeypatch.setattr(Choosing, "choose", lambda step, *a, **k: replay.choose(step, *a, **k))
    released = log_of(cases).variants
    assert mechanism.spending is not None
    for replay.run, one in enumerate((log_of([*cases, further(0)]), log_of(cases))):
        complete(
            sums_over(one),
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
    choices = Fraction(0)
    for (step, sensitivity, more), (_, _, fewer) in zip(*replay.scores, strict=True):
        assert max(abs(a - b) for a, b in zip(more, fewer, strict=True)) <= sensitivity
        choices += step.rho
    assert len(replay.scores[0]) == 2
    account = mechanism.spending.named("times and attributes")
    assert account.rho is not None
    assert 0 < lost <= account.rho
    assert sum(replay.rhos) + choices <= account.rho


@given(
    many=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    bound=st.integers(1, 50),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=20, deadline=None)
def test_a_case_adds_no_more_than_its_bound(many: list[int], bound: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = np.repeat(np.arange(len(many)), many)
    key = rng.integers(0, 7, len(case))
    hits = Contributions.of(case, key, 7)
    added = hits.bounded(bound, "l2", len(many), GRID)
    squares = np.zeros(len(many), dtype=np.int64)
    np.add.at(squares, hits.owner, added**2)
    assert (squares <= bound * GRID**2).all()


@pytest.mark.parametrize("votes", [1, MOST_VOTES])
def test_threshold_of_names_keeps_lone_values_back(votes: int) -> None:
    step = Whole(attributes="org:resource").step("names of org:resource", Gaussian)
    noise = float(step.noise(1).size)
    for many in range(1, votes + 1):
        least = math.ceil(naming.naming_threshold(step, votes) - 1 / math.sqrt(many))
        reach = least + np.arange(0, 40_000)
        weights = np.exp(-(reach.astype(np.float64) ** 2) / (2 * noise))
        assert many * weights.sum() / np.sqrt(2 * np.pi * noise) <= step.failing


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_votes_are_few_and_distinct(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, 12)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = rng.integers(-1, 15, offsets[-1])
    observed = Observed(codes, pl.Series(range(15)))
    instants = rng.integers(0, 10**15, offsets[-1])
    owner, value = observed.votes(offsets, instants, seed)
    for case, (begin, end) in enumerate(pairwise(offsets.tolist())):
        own = set(codes[begin:end].tolist()) - {-1}
        voted = value[owner == case].tolist()
        assert len(voted) == len(set(voted)) == min(len(own), MOST_VOTES)
        assert set(voted) <= own
        alone = Observed(codes[begin:end], observed.values)
        same = alone.votes(np.array([0, end - begin]), instants[begin:end], seed)[1]
        assert same.tolist() == voted, "which values a case votes for depends on other cases"


def test_shares_add_up_and_never_cost_more() -> None:
    for attributes in ((), ("a",), ("a", "case:b:number", "c=x|y", "case:d:boolean")):
        for epsilon in (0.1, 1.0, 10.0):
            promise = Whole(epsilon=epsilon, attributes=attributes).guarantee()
            assert promise.holds is not None
            assert promise.holds.epsilon == pytest.approx(epsilon, rel=0.011)
            assert promise.holds.epsilon <= epsilon
            assert promise.holds.delta <= 1e-6
