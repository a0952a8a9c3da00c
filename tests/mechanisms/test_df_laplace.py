from pathlib import Path

import pytest

from discreet.log.follows import Follows
from discreet.log.samples import sample_log
from discreet.mechanisms.df_laplace import DFLaplace
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.releasing.verification import check_certificate
from tests.mechanisms.neighbours import loss_at_least


def test_strict_promises_the_budget() -> None:
    promise = DFLaplace(epsilon=0.5, delta=1e-6, alphabet=("a", "b")).guarantee()
    assert promise.status == "proved"
    assert promise.holds == Budget(0.5, 1e-6)
    assert sum(part.epsilon for part in promise.parts) <= 0.5
    published = DFLaplace(fidelity="published", epsilon=0.5).guarantee()
    assert published.status == "refuted"
    assert published.holds is None
    with pytest.raises(ParameterError, match="l2 needs delta"):
        DFLaplace(alphabet=("a",), norm="l2")


def repeats_a(released: object) -> bool:
    return isinstance(released, Follows) and any(
        source == target == "a" and count >= 5 for source, target, count in released
    )


def test_published_gives_away_a_long_case_and_strict_does_not() -> None:
    base, case = {("b",): 20}, ("a",) * 8
    published = DFLaplace(fidelity="published", epsilon=1, alphabet=("a", "b"))
    assert loss_at_least(published, base, case, repeats_a, 300) > 1
    for extra in ({}, {"delta": 1e-6}):
        strict = DFLaplace(epsilon=1, alphabet=("a", "b"), bound=3, min_count=1, **extra)  # type: ignore[arg-type]
        assert loss_at_least(strict, base, case, repeats_a, 300) <= 1


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_much_budget_gives_back_the_counts(norm: str) -> None:
    log = sample_log("hospital", cases=500, seed=1)
    chosen = DFLaplace(epsilon=1e5, delta=1e-6, norm=norm, bound=1000, alphabet=log.activities)  # type: ignore[arg-type]
    assert chosen.release(log).artefact == Follows.of_variants(log.variants)


@pytest.mark.parametrize("suffix", [".json", ".csv", ".dot", ".mmd", ".svg"])
def test_the_graph_is_written_with_its_certificate(suffix: str, tmp_path: Path) -> None:
    log = sample_log("hospital", cases=300, seed=1)
    release = DFLaplace(epsilon=5, alphabet=log.activities).release(log)
    target = tmp_path / f"graph{suffix}"
    release.write(target)
    certificate, findings = check_certificate(target)
    assert certificate.artefact == Follows.kind
    assert all(finding.outcome == "holds" for finding in findings)
    if suffix == ".json":
        assert Follows.from_json(target.read_text()) == release.artefact


def test_tiny_budgets_work_too() -> None:
    log = sample_log("hospital", cases=100, seed=1)
    for delta in (0.0, 1e-9):
        released = DFLaplace(epsilon=1e-4, delta=delta, alphabet=log.activities).release(log)
        assert isinstance(released.artefact, Follows)
