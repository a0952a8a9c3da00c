"""What every mechanism shares: declarations, units, seeds, advice."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import numpy as np
import pytest

from discreet.log.samples import PERSON, sample_log
from discreet.mechanisms.base import bound_individuals
from discreet.mechanisms.registry import mechanism, mechanism_class, mechanism_names
from discreet.mechanisms.travas import TraVaS
from discreet.parameters import ParameterError
from discreet.privacy.randomness import Randomness


@pytest.mark.parametrize("name", mechanism_names())
def test_every_mechanism_declares_itself_fully(name: str) -> None:
    owner = mechanism_class(name)
    assert owner.name == name
    assert owner.summary
    assert owner.paper
    assert owner.returns
    assert len(owner.__doc__ or "") > 200, "the proof stands in the docstring"
    for parameter in owner.parameters().values():
        assert parameter.help
        json.dumps(parameter.default)
        assert parameter.check(parameter.default) == parameter.default


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be ≥ 0.0001"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"epsilon": "1"}, "epsilon must be a number, not '1'"),
        ({"epsilon": True}, "epsilon must be a number"),
        ({"delta": 1}, "delta must be > 0 and < 1"),
        ({"fidelity": "loose"}, "one of strict, published"),
        ({"cases_per_individual": 1.5}, "whole number"),
        ({"gamma": 1}, "travas has no parameter 'gamma'"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        mechanism("travas", **parameters)


def test_an_unknown_mechanism_gets_a_suggestion() -> None:
    with pytest.raises(ParameterError, match="did you mean 'travas'"):
        mechanism("travaas")


def test_a_seed_makes_it_repeatable_and_not_private() -> None:
    log = sample_log("permits", cases=500, seed=1)
    one, two = (TraVaS().release(log, insecure_seed=7) for _ in range(2))
    assert one.artefact == two.artefact
    assert one.log().frame.equals(two.log().frame)
    assert not one.guarantee.private
    assert TraVaS().release(log).guarantee.private


def test_individuals_are_bounded_by_their_own_cases_only() -> None:
    log = dataclasses.replace(sample_log("loans", cases=2000, seed=2), individual=PERSON)
    before = Counter(log.individual_of_case.tolist())
    kept = bound_individuals(log, 2, Randomness.system())
    people = kept.table[PERSON][kept.order[kept.offsets[:-1]]].to_list()
    after = Counter(people)
    assert sorted(after.values()) == sorted(min(2, n) for n in before.values())
    assert set(kept.case_ids) <= set(log.case_ids)


def test_which_cases_of_an_individual_are_kept_is_uniform() -> None:
    log = dataclasses.replace(sample_log("loans", cases=40, seed=2), individual="one")
    table = log.table.with_columns(one=np.zeros(log.events, dtype=int))
    log = dataclasses.replace(log, table=table)
    kept = Counter(
        name
        for _ in range(2000)
        for name in bound_individuals(log, 1, Randomness.system()).case_ids
    )
    assert sum(kept.values()) == 2000
    expected = 2000 / 40
    assert sum((kept[name] - expected) ** 2 / expected for name in log.case_ids) < 120


def test_the_individual_unit_divides_the_budget() -> None:
    chosen = TraVaS(epsilon=1, delta=1e-6, cases_per_individual=3)
    guarantee = chosen.guarantee()
    assert guarantee.unit == "individual"
    assert guarantee.holds is not None
    assert (guarantee.holds.epsilon, guarantee.holds.delta) == (1, 1e-6)
    assert chosen.case_budget.epsilon == pytest.approx(1 / 3)
    assert chosen.case_budget.delta < 1e-6 / 3
    assert guarantee.parts[0].epsilon == chosen.case_budget.epsilon


def test_the_individual_unit_needs_a_column() -> None:
    with pytest.raises(ValueError, match="--individual"):
        TraVaS(cases_per_individual=3).release(sample_log("loans", cases=10, seed=1))


def test_advice_is_for_the_steward_and_not_in_the_release() -> None:
    log = sample_log("permits", cases=200, seed=1)
    chosen = TraVaS(delta=0.1)
    assert "more than 1/cases" in chosen.advice(log)[0]
    stated = chosen.release(log).certificate().to_dict()
    assert stated.pop("seal_sha256")
    assert "200" not in json.dumps(stated)
    (said,) = TraVaS(delta=1e-6).advice(log)
    assert "'case:person' looks as if it named people, 171 with 200 cases" in said
    assert TraVaS(delta=1e-6, cases_per_individual=2).cautions(log) == []
    people = dataclasses.replace(log, individual=PERSON)
    assert "--cases-per-individual" in TraVaS().advice(people)[0]
    assert TraVaS(cases_per_individual=2).advice(people) == []
