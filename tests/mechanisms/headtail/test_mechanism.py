from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.log.events import EventLog
from discreet.log.expansion import expand
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail, candidates
from discreet.mechanisms.headtail.spending import (
    FEW_HIDDEN,
    MANY_HIDDEN,
    NO_HEAD,
    reserved,
    spending,
)
from discreet.mechanisms.headtail.tail import UNDISCLOSED
from discreet.mechanisms.travas import TraVaS
from discreet.models.inductive import inductive_miner
from discreet.models.replay import replay
from discreet.models.similarity import relative_log_similarity
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Reserved, SpendingError
from discreet.privacy.transcript import transcript
from discreet.releasing.verification import check_certificate
from tests.conftest import RealLogs, read_once


def log_of(counts: dict[tuple[str, ...], int]) -> EventLog:
    variants = Variants.from_counts(counts)
    return expand(variants, np.arange(variants.cases), [str(i) for i in range(variants.cases)])


def labels(variants: Variants) -> set[str]:
    return {label for sequence, _ in variants for label in sequence}


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0])
def test_guarantee_is_proved_and_its_steps_add_up(epsilon: float) -> None:
    mechanism = HeadTail(epsilon=epsilon, delta=1e-6)
    promise = mechanism.guarantee()
    assert (promise.status, promise.neighbours, promise.conditions) == ("proved", "add-remove", ())
    assert promise.holds == Budget(epsilon, 1e-6)
    spent = mechanism._spending(mechanism.case_budget).spent
    assert 0.999 * epsilon < spent.epsilon <= epsilon
    assert 0.999e-6 < spent.delta <= 1e-6


def test_a_step_that_would_cost_more_than_is_reserved_is_refused() -> None:
    tree = spending(Budget(1.0, 1e-6))
    jointly = tree.find(f"{FEW_HIDDEN}: head and tail", Reserved)
    votes = Laplace("votes", jointly.hidden.spent.epsilon * 1.001)
    with pytest.raises(SpendingError, match="reserved"):
        Reserved("head and tail", jointly.selecting, votes)


def test_every_answer_comes_from_a_step_that_is_paid_for() -> None:
    """Each way draws from its own steps, each no more often than it is paid for."""
    logs = {
        NO_HEAD: Variants.from_counts({(f"{i % 7}", f"{i % 11}", f"{i}"): 1 for i in range(3000)}),
        FEW_HIDDEN: Variants.from_counts({("a", "b"): 900, ("a", "c"): 90, ("b",): 3}),
        MANY_HIDDEN: Variants.from_counts(
            [(("a", "b"), 9000), *((("a", *format(i, "b")), 1) for i in range(6000))]
        ),
    }
    for way, variants in logs.items():
        mechanism = HeadTail()
        with transcript() as answers:
            mechanism._draw(SimpleNamespace(variants=variants), Randomness.seeded(1))  # type: ignore[arg-type]
        names = set(answers)
        assert {name.split(":")[0] for name in names} <= {"coverage probe", way}
        paid = {step.name for step in mechanism._spending(mechanism.case_budget).walk()}
        assert names <= paid
        ways = [f"{way}: votes", f"{way}: votes on a model"]
        assert sum(len(answers.get(name, [])) for name in ways) == 1


def test_alphabets_are_named_in_the_guarantee() -> None:
    public = HeadTail(alphabet=("b", "a", "a")).guarantee()
    assert public.status == "proved"
    assert "2 activities" in public.conditions[0]
    assert HeadTail(alphabet="from-log").guarantee().status == "conditional"


def test_individuals_pay_for_all_their_cases() -> None:
    mechanism = HeadTail(epsilon=1.0, delta=1e-6, cases_per_individual=4)
    assert mechanism.case_budget.epsilon < 0.25
    promise = mechanism.guarantee()
    assert (promise.unit, promise.holds) == ("individual", Budget(1.0, 1e-6))
    spent = mechanism._spending(mechanism.case_budget).spent
    assert spent.epsilon <= mechanism.case_budget.epsilon


def test_pure_epsilon_needs_a_public_alphabet() -> None:
    with pytest.raises(ParameterError, match="--alphabet FILE"):
        HeadTail(delta=0)
    promise = HeadTail(delta=0, alphabet=("a",)).guarantee()
    assert promise.holds == Budget(1.0, 0.0)


@pytest.mark.parametrize(
    "given", [{"delta": 1e-200}, {"epsilon": 1e-4, "cases_per_individual": 99}]
)
def test_budgets_of_nothing_but_noise_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="too little"):
        HeadTail(**given)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 50.0, 1e5])
@pytest.mark.parametrize(
    "counts",
    [
        {("a", "b"): 60, ("a", "c"): 40},
        {("a",) * 200: 100},
        {(f"{i}", f"{i + 1}"): 1 for i in range(100)},
        {("a",): 1},
    ],
)
def test_never_empty_and_never_outside_what_may_be_named(
    epsilon: float, counts: dict[tuple[str, ...], int]
) -> None:
    log = log_of(counts)
    own = {label for sequence in counts for label in sequence}
    found = HeadTail(epsilon=epsilon).release(log).artefact
    assert found.cases > 0
    assert labels(found) <= own | {UNDISCLOSED}
    for delta in (0, 1e-6):
        public = HeadTail(epsilon=epsilon, delta=delta, alphabet=("a", "q")).release(log).artefact
        assert public.cases > 0
        assert labels(public) <= {"a", "q"}


def test_with_a_large_budget_the_head_is_the_log() -> None:
    counts = {("a", "b", "c"): 500, ("a", "c", "b"): 300, ("a", "d"): 200}
    assert HeadTail(epsilon=100.0).release(log_of(counts)).artefact.to_dict() == counts


def test_a_seed_repeats_the_release_and_marks_it() -> None:
    log = sample_log("permits", cases=300, seed=1)
    releases = [HeadTail().release(log, insecure_seed=4) for _ in range(2)]
    assert releases[0].artefact == releases[1].artefact
    assert not releases[0].guarantee.private


def test_the_certificate_can_be_checked(tmp_path: Path) -> None:
    log = sample_log("permits", cases=300, seed=1)
    for mechanism in (HeadTail(), HeadTail(delta=0, alphabet=log.variants.activities)):
        path = tmp_path / f"{mechanism.delta:g}.xes"
        mechanism.release(log).write(path)
        certificate, findings = check_certificate(path)
        assert certificate.mechanism == "headtail"
        assert {finding.outcome for finding in findings} == {"holds"}


def test_audit_an_activity_of_one_case_appears_no_more_often_than_delta(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One case more with labels of its own: they may appear with probability δ at most."""
    monkeypatch.setattr(candidates, "MOST_SAMPLES", 100)
    log = log_of({("a", "b"): 30, ("a",): 3, ("secret", "a"): 1})
    rng = Randomness.system()
    delta, runs = 0.05, 250
    for epsilon in (0.5, 3.0):
        mechanism = HeadTail(epsilon=epsilon, delta=delta)
        drawn = mechanism._draw_many(log, runs, rng)
        leaks = sum("secret" in labels(found) for found in drawn)
        # Chernoff: more than this has probability below 1e-6 if the rate is δ.
        assert leaks < delta * runs + np.sqrt(3 * delta * runs * np.log(1e6))


def test_audit_no_event_of_a_neighbouring_pair_contradicts_epsilon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both directions of P ≤ e^ε·P' + δ, for the events "variant shown" and "many cases"."""
    monkeypatch.setattr(candidates, "MOST_SAMPLES", 100)
    counts: dict[tuple[str, ...], int] = {("a", "b"): 8, ("a", "c"): 3}
    neighbours = [log_of(counts), log_of(counts | {("a", "c"): 4})]
    epsilon, delta, runs = 0.7, 0.01, 250
    mechanism = HeadTail(epsilon=epsilon, delta=delta, alphabet=("a", "b", "c"))
    seen = np.zeros((2, 3))
    for side, log in enumerate(neighbours):
        for found in mechanism._draw_many(log, runs, Randomness.system()):
            count = found.to_dict().get(("a", "c"), 0)
            seen[side] += [count > 0, count > 5, found.cases > 12]
    rate = seen / runs
    slack = np.sqrt(np.log(12e6) / (2 * runs))  # Hoeffding, six comparisons, both rates
    for one, other in ((rate[0], rate[1]), (rate[1], rate[0])):
        assert (one - slack <= np.exp(epsilon) * (other + slack) + delta).all()


def test_a_public_alphabet_of_many_activities_that_hardly_occur_does_no_harm() -> None:
    """What is public may be ignored: activities that cannot be told from noise are left out."""
    log = sample_log("hospital", cases=600, seed=3)
    truth = log.variants
    padded = (*truth.activities, *(f"never {i:03d}" for i in range(380)))

    def likeness(alphabet: tuple[str, ...] | None = None) -> float:
        found = [HeadTail(alphabet=alphabet).release(log).artefact for _ in range(4)]
        return float(np.mean([relative_log_similarity(truth, release) for release in found]))

    assert likeness(padded) > likeness() - 0.1


def test_a_clear_model_is_clearer() -> None:
    log = sample_log("loans", cases=2000, seed=2)
    scores = {}
    for clear in (False, True):
        release = HeadTail(clear_model=clear).release(log, insecure_seed=3).artefact
        found = replay(inductive_miner(release, 0.2), log.variants)
        scores[clear] = found.precision
        assert release.cases == pytest.approx(2000, rel=0.1)
    assert scores[True] >= scores[False]


@pytest.mark.parametrize(
    ("name", "floor", "alike"),
    [
        ("Sepsis", 0.71, 0.76),
        ("BPIC2013_closed_problems", 0.95, 0.96),
        ("BPIC2020_PrepaidTravelCost", 0.938, 0.94),
    ],
)
def test_real_logs_at_epsilon_one(
    real_logs: RealLogs, name: str, floor: float, alike: float
) -> None:
    """Also without a public alphabet, and far above partition selection alone."""
    known, path = real_logs[name]
    log = read_once(path)
    ours = np.mean(
        [relative_log_similarity(log.variants, HeadTail().release(log).artefact) for _ in range(3)]
    )
    other = relative_log_similarity(log.variants, TraVaS().release(log).artefact)
    assert ours > (alike if known.generated else floor)
    assert ours > other


@pytest.mark.parametrize("clear_model", [False, True])
def test_the_note_says_which_variants_are_rather_hidden(clear_model: bool) -> None:
    chosen = HeadTail(epsilon=1, delta=1e-6, clear_model=clear_model)
    note = chosen._notes()[0]
    least = int(re.search("fewer than ([0-9]+) cases", note)[1])  # type: ignore[index]
    ways = [reserved(chosen._selecting(way)) for way in (FEW_HIDDEN, MANY_HIDDEN)]
    assert all(way.probability(least - 1) < 0.5 for way in ways)
    assert any(way.probability(least) >= 0.5 for way in ways)
    closed = HeadTail(epsilon=1, delta=0, alphabet=("a", "b"))
    assert not any("fewer than" in one for one in closed._notes())
