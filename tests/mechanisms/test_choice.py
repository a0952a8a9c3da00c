from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.choice import CHOICE_SHARE, SCORE_GRID, Choice
from discreet.mechanisms.parameters import ParameterError
from discreet.mechanisms.registry import mechanism
from discreet.utility.similarity import relative_log_similarity


def test_the_guarantee_adds_up() -> None:
    promise = Choice(epsilon=1.0, delta=1e-4).guarantee()
    assert promise.status == "proved"
    assert promise.holds is not None
    assert sum(part.epsilon for part in promise.parts) <= promise.holds.epsilon == 1.0
    assert sum(part.delta for part in promise.parts) <= promise.holds.delta == 1e-4
    assert promise.parts[-1].epsilon == pytest.approx(CHOICE_SHARE)


def test_the_conditions_of_candidates_become_its_own() -> None:
    with pytest.raises(ParameterError, match="alphabet"):
        Choice(candidates="travas,laplace")
    promise = Choice(candidates="travas,laplace", alphabet=("a", "b")).guarantee()
    assert promise.status == "proved"
    assert any("2 activities" in condition for condition in promise.conditions)
    taken = Choice(candidates="travas,laplace", alphabet="from-log").guarantee()
    assert taken.status == "conditional"


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ("travas", "at least two"),
        ("travas,travas", "at least two different"),
        ("travas,choice", "cannot be a candidate of itself"),
        ("travas,nothing", "there is no mechanism"),
    ],
)
def test_bad_candidates(candidates: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Choice(candidates=candidates)


def test_only_add_remove_candidates() -> None:
    from discreet.mechanisms.registry import mechanism_names

    if "dpim" in mechanism_names():
        with pytest.raises(ParameterError):
            Choice(candidates="travas,dpim")


def test_a_release_is_one_of_the_candidates_kind() -> None:
    log = sample_log("hospital", cases=800, seed=2)
    rivals = "travas,utravas"
    release = mechanism("choice", epsilon=4, delta=1e-3, candidates=rivals).release(log)
    assert isinstance(release.artefact, Variants)
    assert release.guarantee.private
    true = log.variants.to_dict()
    assert all(variant in true for variant, _ in release.artefact)


@pytest.mark.parametrize("seed", range(40))
def test_one_more_case_raises_the_score_by_no_more_than_the_sensitivity(seed: int) -> None:
    """The claim the choice rests on, on random small logs."""
    random = np.random.default_rng(seed)

    def word() -> tuple[str, ...]:
        return tuple(random.choice(list("abc"), size=random.integers(1, 5)))

    counts = {word(): int(random.integers(1, 6)) for _ in range(4)}
    released = Variants.from_counts({word(): int(random.integers(1, 6)) for _ in range(3)})
    added = word()
    small = Variants.from_counts(counts)
    large = Variants.from_counts([*counts.items(), (added, 1)])

    def score(log: Variants) -> Fraction:
        exact = relative_log_similarity(log, released) * log.cases
        return Fraction(int(exact * SCORE_GRID), SCORE_GRID)

    step = Fraction(2, SCORE_GRID)
    assert -step <= score(large) - score(small) <= 2 + step
