"""Mechanisms with extreme parameters: what they compute beforehand is bounded, or refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

import discreet
from discreet.log.events import CASE
from discreet.mechanisms import travas
from discreet.mechanisms.registry import mechanism, mechanism_class, mechanism_names
from discreet.parameters import ParameterError
from discreet.privacy import noise, partition

LOG = discreet.sample_log("permits", cases=40, seed=1)
LOG = replace(LOG, individual=CASE)
"""Every case is a person's only one."""

EPSILONS = (1e-4, 1e-3, 1.0, 500.0)
DELTAS = (1e-300, 1e-6)
CASES = (None, 5, 500, 10_000)

TRAINED = {"ddpm", "sequence", "travag"}
"""The noise of a training is searched for, in a number of steps that no parameter changes."""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the tables are that are asked for; none that needs long is made."""
    lengths: list[int] = []
    made, hidden = partition.optimal_table, travas.expected_hidden_count
    powers = noise._powers

    def table(epsilon: float, delta: float) -> Any:
        lengths.append(partition.table_length(epsilon, delta))
        return made(1.0, 0.01) if lengths[-1] > 2000 else made(epsilon, delta)

    def mean(epsilon: float, k: int) -> float:
        lengths.append(2 * k)
        return hidden(1.0, 10) if k > 2000 else hidden(epsilon, k)

    def digits(x: Any, count: int | None, bits: int) -> Any:
        found = powers(x, count, bits)
        lengths.append(len(found[0]))
        return found

    monkeypatch.setattr(partition, "optimal_table", table)
    monkeypatch.setattr(travas, "expected_hidden_count", mean)
    monkeypatch.setattr(noise, "_powers", digits)
    return lengths


@pytest.mark.parametrize("name", sorted(set(mechanism_names()) - TRAINED))
def test_tables_are_bounded_or_refused(name: str, tables: list[int]) -> None:
    known = mechanism_class(name).parameters()
    told: list[str] = []
    for epsilon, delta, cases in product(EPSILONS, DELTAS, CASES):
        given: dict[str, Any] = {"epsilon": epsilon, "cases_per_individual": cases}
        given |= {"delta": delta} if "delta" in known else {}
        given |= {"alphabet": LOG.activities} if "alphabet" in known else {}
        given |= {"rules": "learn"} if "rules" in known else {}
        try:
            mechanism(name, **given).check(LOG)
        except ParameterError as error:
            told.append(str(error))
    assert all("epsilon" in words or "delta" in words for words in told)
    assert len(told) < len(EPSILONS) * len(DELTAS) * len(CASES)
    assert max(tables, default=0) <= partition.LONGEST


@pytest.mark.parametrize("fidelity", ["strict", "published"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "cases"), [(1e-3, 1e-6, 500), (1e-4, 1e-90, 5), (1e-4, 1e-300, 10_000)]
)
def test_too_little_for_many_cases_of_a_person_is_refused_when_travas_is_built(
    fidelity: str, epsilon: float, delta: float, cases: int, tables: list[int]
) -> None:
    with pytest.raises(ParameterError, match=r"larger epsilon, or allow fewer cases per individ"):
        mechanism(
            "travas",
            epsilon=epsilon,
            delta=delta,
            cases_per_individual=cases,
            fidelity=fidelity,
        )
    assert not tables


@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "words"),
    [
        ("df-laplace", 1e-3, 1e-300, "more noise than 64 bits hold"),
        ("headtail", 700.0, 1e-300, "delta 1e-300 is too small to divide over 500 cases"),
    ],
)
def test_what_could_not_be_drawn_is_refused_before(
    name: str, epsilon: float, delta: float, words: str
) -> None:
    """These passed the check and failed once they were paid for."""
    given = {"alphabet": LOG.activities} if name == "df-laplace" else {}
    with pytest.raises(ParameterError, match=words):
        mechanism(name, epsilon=epsilon, delta=delta, cases_per_individual=500, **given).check(LOG)
