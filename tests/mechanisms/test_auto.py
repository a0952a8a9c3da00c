from __future__ import annotations

from pathlib import Path

import pytest

from discreet.log.samples import sample_log
from discreet.mechanisms.auto import Auto
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.headtail import HeadTail
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.travas import TraVaS
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.verification import check_certificate


def test_it_chooses_headtail_and_says_why() -> None:
    chosen, reason = Auto(epsilon=0.5, delta=1e-5, alphabet=("b", "a")).choice
    assert chosen == HeadTail(epsilon=0.5, delta=1e-5, alphabet=("a", "b"))
    assert "rare cases" in reason


def test_it_chooses_travas_where_nothing_may_be_invented() -> None:
    chosen, reason = Auto(want="real-variants", cases_per_individual=3).choice
    assert chosen == TraVaS(cases_per_individual=3)
    assert "invents nothing" in reason


def test_it_chooses_laplace_without_delta_at_little_epsilon() -> None:
    chosen, reason = Auto(epsilon=0.1, delta=0, alphabet=("a", "b")).choice
    assert chosen == Laplace(epsilon=0.1, delta=0, alphabet=("a", "b"))
    assert "noisy prefixes" in reason
    for epsilon, delta in ((1.0, 0.0), (0.1, 1e-6)):
        other = Auto(epsilon=epsilon, delta=delta, alphabet=("a", "b"))
        assert isinstance(other.choice[0], HeadTail)
    shared = Auto(epsilon=1.0, delta=0, alphabet=("a", "b"), cases_per_individual=5)
    assert isinstance(shared.choice[0], Laplace)  # what counts is the budget of a case
    assert shared.guarantee().holds == Budget(1.0, 0.0)


@pytest.mark.parametrize("given", [{}, {"want": "real-variants"}, {"cases_per_individual": 2}])
def test_the_guarantee_is_that_of_the_choice(given: dict[str, object]) -> None:
    auto = Auto(**given)  # type: ignore[arg-type]
    assert auto.guarantee() == auto.choice[0].guarantee()


def test_impossible_wishes_are_explained() -> None:
    with pytest.raises(ParameterError, match="real variants cannot be shown"):
        Auto(delta=0, want="real-variants")
    with pytest.raises(ParameterError, match="--alphabet FILE"):
        Auto(delta=0)


def test_the_released_file_names_the_choice_and_can_be_checked(tmp_path: Path) -> None:
    log = sample_log("permits", cases=300, seed=1)
    for want, name in (("likeness", "headtail"), ("real-variants", "travas")):
        path = tmp_path / f"{want}.csv"
        mechanism("auto", want=want).release(log).write(path)
        certificate, findings = check_certificate(path)
        assert all(finding.outcome == "holds" for finding in findings)
        assert certificate.notes[0].startswith(f"{name} was chosen:")


def test_the_chosen_mechanism_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Mechanism] = []
    for kind in (HeadTail, Laplace, TraVaS):
        monkeypatch.setattr(kind, "check", lambda self, log: asked.append(self))
    log = sample_log("permits", cases=10, seed=1)
    for given in ({}, {"want": "real-variants"}):
        auto = Auto(**given)  # type: ignore[arg-type]
        auto.check(log)
        assert asked[-1] is auto.choice[0]
