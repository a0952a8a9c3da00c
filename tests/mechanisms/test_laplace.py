import math
from pathlib import Path

import pytest

from discreet.log.samples import sample_log
from discreet.mechanisms.blocks.prefix_tree import NoisyPrefixTree
from discreet.mechanisms.laplace import (
    LENGTH_SHARE,
    LaplaceTree,
    best_form,
    prefix_tree,
    refuse_explosion,
)
from discreet.mechanisms.registry import mechanism
from discreet.models.similarity import relative_log_similarity
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.steps import noise_of
from discreet.releasing.verification import check_certificate
from tests.conftest import RealLogs, read_once
from tests.mechanisms.neighbours import Small, loss_at_least

LABELS = ("a", "b")
BASE = {("b",): 5}
CASE = ("a", "a", "a")


def shows_case(released: object) -> bool:
    return CASE in released.to_dict()  # type: ignore[attr-defined]


def test_strict_promises_exactly_the_budget() -> None:
    promise = LaplaceTree(epsilon=0.7, delta=1e-7, alphabet=LABELS).guarantee()
    assert promise.status == "proved"
    assert promise.holds == Budget(0.7, 1e-7)
    assert sum(part.epsilon for part in promise.parts) <= 0.7
    assert sum(part.delta for part in promise.parts) <= 1e-7
    assert [part.name for part in promise.parts] == ["histogram of lengths", "prefix tree"]
    assert promise.parts[0].epsilon == pytest.approx(LENGTH_SHARE * 0.7)
    fixed = LaplaceTree(epsilon=0.7, alphabet=LABELS, max_length=4).guarantee()
    assert [part.epsilon for part in fixed.parts] == [0.7]


def test_published_promises_the_number_of_levels_times_epsilon() -> None:
    promise = LaplaceTree(fidelity="published", epsilon=1, max_length=23).guarantee()
    assert promise.status == "refuted"
    assert promise.claimed == Budget(1.0)
    assert promise.holds == Budget(23.0)
    assert not promise.private
    people = LaplaceTree(
        fidelity="published", epsilon=1, max_length=23, cases_per_individual=2
    ).guarantee()
    assert people.holds is not None
    assert people.holds.epsilon == pytest.approx(23, rel=1e-9)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="max_length"):
        LaplaceTree(fidelity="published")
    with pytest.raises(ParameterError, match="delta above 0"):
        LaplaceTree(alphabet=LABELS, form="gaussian")
    tree = NoisyPrefixTree(sample_log("hospital", cases=20, seed=1).variants)
    tree.open = tree.open.repeat(1_000_000)
    with pytest.raises(ParameterError, match="min_count"):
        refuse_explosion(tree)


def test_published_costs_more_than_it_claims() -> None:
    published = LaplaceTree(
        fidelity="published", epsilon=1, max_length=3, min_count=1, alphabet=LABELS
    )
    loss = loss_at_least(published, BASE, CASE, shows_case, 1000)
    assert 1 < loss <= 3


@pytest.mark.parametrize("form", ["levels", "privtree", "gaussian"])
def test_strict_is_not_contradicted_by_the_same_event(form: str) -> None:
    strict = LaplaceTree(
        epsilon=1,
        delta=1e-6 if form == "gaussian" else 0,
        max_length=3,
        min_count=1,
        alphabet=LABELS,
        form=form,  # type: ignore[arg-type]
    )
    assert loss_at_least(strict, BASE, CASE, shows_case, 400) <= 1


def test_the_form_is_chosen_by_public_facts() -> None:
    pure, approximate = prefix_tree("auto", Budget(1.0)), prefix_tree("auto", Budget(1.0, 1e-6))
    assert best_form(pure, 20, 10).name == "PrivTree"
    assert best_form(pure, 2, 5000).name == "all levels: Laplace"
    gaussian = best_form(approximate, 20, 500)
    assert gaussian.name == "all levels: Gaussian"
    (levels,) = prefix_tree("levels", Budget(0.5)).steps
    assert noise_of(levels, 7).size == 14
    assert noise_of(gaussian, 8).deviation == pytest.approx(math.sqrt(8) * 5.0, rel=0.1)


@pytest.mark.parametrize("form", ["levels", "gaussian", "privtree"])
def test_a_large_log_keeps_its_frequent_variants(form: str) -> None:
    log = sample_log("hospital", cases=3000, seed=1)
    chosen = LaplaceTree(
        epsilon=20,
        delta=1e-6,
        alphabet=log.activities,
        form=form,  # type: ignore[arg-type]
        max_length=40,
    )
    released = chosen.release(log).artefact
    assert relative_log_similarity(log.variants, released) > 0.7
    assert abs(released.cases - log.cases) < 0.05 * log.cases


def test_an_empty_tree_is_a_valid_release(tmp_path: Path) -> None:
    log = sample_log("hospital", cases=30, seed=1)
    chosen = LaplaceTree(epsilon=0.01, alphabet=log.activities, form="levels", min_count=10**9)
    release = chosen.release(log)
    assert len(release.artefact) == 0
    assert "empty" in release.describe()
    release.write(tmp_path / "empty.xes")
    _, findings = check_certificate(tmp_path / "empty.xes")
    assert all(finding.outcome == "holds" for finding in findings)


@pytest.mark.parametrize("name", ["laplace", "sacofa", "df-laplace", "sapa"])
@pytest.mark.parametrize("alphabet", [("a",), "from-log"])
@pytest.mark.parametrize("counts", [{}, {("a",): 1}, {("x", "y"): 3}])
def test_logs_of_next_to_nothing_are_released(
    name: str, alphabet: tuple[str, ...] | str, counts: dict[tuple[str, ...], int]
) -> None:
    extra = {"rules": "learn"} if name == "sacofa" else {}
    for budget in ({}, {"delta": 1e-6}, {"epsilon": 1e5}):
        chosen = mechanism(name, alphabet=alphabet, **budget, **extra)
        released = chosen.release(Small(counts)).artefact  # type: ignore[arg-type]
        assert set(released.activities) <= {"a", "x", "y"}


@pytest.mark.parametrize(
    ("name", "length", "least", "similarity", "alike"),
    [("Sepsis", 23, 4, 0.63, 0.70), ("BPIC2013_incidents", 25, 8, 0.86, 0.913)],
)
def test_published_reproduces_the_authors_code(
    name: str, length: int, least: int, similarity: float, alike: float, real_logs: RealLogs
) -> None:
    known, path = real_logs[name]
    log = read_once(path)
    chosen = LaplaceTree(fidelity="published", epsilon=1, max_length=length, min_count=least)
    found = [relative_log_similarity(log.variants, chosen.release(log).artefact) for _ in range(3)]
    assert sum(found) / 3 == pytest.approx(alike if known.generated else similarity, abs=0.04)


def test_no_budget_makes_a_real_log_explode(small_real_log: tuple[object, Path]) -> None:
    log = read_once(small_real_log[1])
    for epsilon in (0.01, 0.1, 1, 10):
        for form in ("auto", "levels"):
            chosen = LaplaceTree(epsilon=epsilon, alphabet="from-log", form=form)
            assert len(chosen.release(log).artefact) < 20_000
