from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.log.errors import LogError
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.closest import CHOICE_SHARE
from discreet.mechanisms.choice import Choice
from discreet.mechanisms.registry import mechanism
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget


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


@pytest.mark.parametrize("name", ["ddpm", "sequence"])
def test_a_candidate_that_cannot_run_is_refused_before_anything_is_booked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sample_log("hospital", cases=50, seed=1)
    rivals = mechanism("choice", candidates=f"travas,{name}", epsilon=1)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("s", Budget(2, 1e-5))
        with pytest.raises(ParameterError, match="needs torch"):
            ledger.release(rivals, log, source="s")
        assert ledger.account("s").releases == 0


def test_a_candidate_without_times_is_refused_before_it_draws() -> None:
    log = sample_log("hospital", cases=50, seed=1)
    timeless = replace(log, table=log.table.drop("time:timestamp"))
    rivals = mechanism("choice", candidates="travas,amun")
    with pytest.raises(LogError, match="no timestamps"):
        rivals.check(timeless)
    rivals.check(log)


def test_candidates_have_variants() -> None:
    with pytest.raises(ParameterError, match="df-laplace returns a follows"):
        Choice(candidates="travas,df-laplace", alphabet=("a",))
