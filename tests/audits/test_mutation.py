"""Every noisy step of every mechanism is caught if it draws no noise, and passes with it.

How likely a mutant is missed is computed, not hoped for.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest
from scipy.stats import binom

from discreet.audits import measurement
from discreet.audits.forced_answers import GivenLaplace
from discreet.audits.measurement import (
    TURNS,
    Effort,
    audit_mutant,
    audit_pair,
    breaks,
    certain_runs,
    releases,
)
from discreet.audits.mutation import (
    Looked,
    alone,
    chance_of_missing,
    chance_to_break,
    measure_power,
    mutant_steps,
    noisy_leaves,
    without_noise,
)
from discreet.audits.subjects import AuditSubject, audited_names, find_pair, pairs_of, subjects_of
from discreet.mechanisms.laplace import LaplaceTree
from discreet.mechanisms.travas import VARIANTS, TraVaS, UTraVaS
from discreet.privacy.guarantee import Budget
from discreet.privacy.steps import Choosing, Delegated
from discreet.privacy.steps import Laplace as Counting

TRAINED = {"ddpm", "sequence", "travag"}
NAMES = audited_names()
SHOWN = {
    "whole": {
        "start weeks, coarse",
        "durations of cases, coarse",
        "names of case:channel",
        "trait that goes with case:channel",
    },
    "amun": {"start weeks, coarse"},
}
"""Of the steps of whole logs, whose releases take long and whose tables are drawn by one function;
the others are audited by `discreet audit whole --mutants`."""
FEW = Effort(runs=36, seconds=0.0, fewest=36, trials=6)
"""Enough that an event which is certain on one log only would be suspected, and then confirmed."""


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tiny models train fastest with one thread, and a short public warm-up is as private."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    from discreet.mechanisms.trained.travag import games as game

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(game, "COMPRESSING_STEPS", 1)
    monkeypatch.setattr(game, "STARTING_STEPS", 1)
    yield
    torch.set_num_threads(threads)


def strict(name: str) -> list[AuditSubject]:
    """A mechanism with all parameters that it declares, the published ones left out."""
    return [one for one in subjects_of(name) if one.parameters.get("fidelity") != "published"]


def looked(name: str) -> list[Looked]:
    """With their pairs; models only where they train quickly."""
    if name in TRAINED:
        pytest.importorskip("torch")
    quick = [one for one in strict(name) if name not in TRAINED or "steps" in one.parameters]
    return [(one, one.pairs()) for one in quick]


def steps() -> list[tuple[str, str]]:
    """Every mechanism with every step of its strict form that draws noise."""
    return [
        (name, leaf)
        for name in NAMES
        for leaf in mutant_steps([(one, one.pairs()[:1]) for one in strict(name)])
        if leaf in SHOWN.get(name, {leaf})
    ]


@pytest.mark.parametrize(("name", "step"), steps())
def test_a_step_without_noise_is_caught(
    name: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as certain as in a full audit, which takes as many runs again."""
    monkeypatch.setattr(measurement, "FALSE_ALARM", 1e-3)
    power = measure_power(looked(name), step)
    assert power.caught, power
    assert power.missed < 1e-6, power
    assert power.against is not None
    assert power.mutant > power.against.epsilon


@pytest.mark.parametrize("name", NAMES)
def test_with_its_noise_it_is_consistent(name: str) -> None:
    """On the most telling pair; a sound mechanism is called violated once in 10⁹ times."""
    subject, pairs = next(one for one in looked(name) if not one[0].case.given)
    found = audit_pair(subject.build(pairs[0]), pairs[0], FEW, 0.05)
    assert found.promise is not None
    assert not found.promise.contradicts


def test_every_leaf_is_noisy_or_covered() -> None:
    for name in audited_names():
        for subject in subjects_of(name):
            mechanism = subject.build(subject.pairs()[0])
            if mechanism.spending is None:
                continue
            for leaf in mechanism.spending.walk():
                if not leaf.steps and leaf.name not in noisy_leaves(mechanism):
                    assert isinstance(leaf, Delegated | GivenLaplace), leaf


def test_a_mutant_promises_the_same_and_leaves_the_mechanism_alone() -> None:
    sound = LaplaceTree(alphabet=("a", "b"), delta=0.01, max_length=3, form="privtree")
    step = "counts of its leaves"
    mutant = without_noise(sound, step)
    assert mutant.guarantee() == sound.guarantee()
    log = find_pair("one more").logs[0]
    answers = [run.answers[step] for run in releases(mutant, log, 5)]
    assert {entry for one in answers for answer in one for entry in answer.tolist()} <= {0, 8}
    assert type(sound.step(step, Counting)) is Counting


def test_a_silent_selection_shows_true_counts() -> None:
    mutant = without_noise(TraVaS(delta=0.01), VARIANTS)
    log = find_pair("one more").logs[0]
    assert {run.artefact.cases for run in releases(mutant, log, 20)} == {8}  # type: ignore[union-attr]


def test_a_choice_alone_keeps_to_its_own_cost() -> None:
    mechanism = UTraVaS(delta=0.01, runs=2, choose="private")
    pair = find_pair("tied candidates", pairs_of("utravas"))
    step = "choice of the candidate"
    lone = alone(mechanism, step, pair.logs[0])
    cost = mechanism.step(step, Choosing).spent
    sound = audit_mutant(lone, step, pair, cost, TURNS[0])
    silent = audit_mutant(without_noise(lone, step), step, pair, cost, TURNS[0])
    assert sound is not None
    assert silent is not None
    assert silent.contradicts
    assert not sound.contradicts


def test_models_are_audited_with_default_parameters_too() -> None:
    for name in sorted(TRAINED):
        assert any("steps" not in one.parameters for one in strict(name))


BUDGET = Budget(1, 0.01)


def test_the_chance_to_break_is_a_sum_over_all_counts() -> None:
    likely, other, seen, runs = 0.9, 0.05, 12, 72
    expected = sum(
        binom.pmf(hits, seen, likely) * binom.pmf(rare, seen, other)
        for hits in range(seen + 1)
        for rare in range(seen + 1)
        if breaks((hits / seen, rare / seen), runs, BUDGET)
    )
    assert 0.1 < expected < 0.9
    assert chance_to_break(likely, other, seen, runs, BUDGET) == pytest.approx(expected)


def test_what_is_certain_is_hardly_ever_missed() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        against = Budget(epsilon)
        runs = certain_runs(epsilon)
        assert breaks((1.0, 0.0), runs, against)
        assert chance_of_missing((1.0, 0.0), runs, against) < 1e-9
    assert chance_of_missing((0.9, 0.1), TURNS[1].runs(1.0), BUDGET) < 1e-6


def test_what_the_budget_allows_is_missed() -> None:
    assert chance_of_missing((0.6, 0.25), 72, BUDGET) > 0.999
    assert not breaks((0.73, 0.27), 10_000, Budget(1))
