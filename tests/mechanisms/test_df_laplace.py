from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.follows import Follows
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.contributions import (
    FALLBACK_BOUND,
    LARGEST_SIZE,
    Contributions,
    Norm,
    edges,
    private_bound,
)
from discreet.mechanisms.df_laplace import DFLaplace
from discreet.parameters import ParameterError
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.verification import check_certificate
from tests.mechanisms.neighbours import loss_at_least

CASES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=60).map(tuple)


@given(CASES, st.integers(1, 30), st.sampled_from(["l1", "l2"]), st.sampled_from([1, 7, 1024]))
def test_no_case_adds_more_than_the_bound(
    case: tuple[str, ...], bound: int, norm: Norm, grid: int
) -> None:
    variants = Variants.from_counts({case: 1})
    for counted in (Contributions.of_follows(variants), Contributions.of_near(variants, 3)):
        steps = counted.bounded(bound, norm, 1, grid)
        assert (steps >= 0).all()
        if norm == "l1":
            assert steps.sum() <= bound * grid
        else:
            assert (steps**2).sum() <= bound * grid * grid
        small = (counted.times if norm == "l1" else counted.times**2).sum() <= bound
        assert not small or (steps == counted.times * grid).all()


@given(st.dictionaries(CASES, st.integers(1, 9), min_size=1, max_size=5), CASES)
def test_what_a_case_adds_does_not_depend_on_the_others(
    log: dict[tuple[str, ...], int], case: tuple[str, ...]
) -> None:
    def total(counts: dict[tuple[str, ...], int]) -> dict[tuple[str, str], int]:
        variants = Variants.from_counts(counts)
        counted = Contributions.of_follows(variants)
        steps = counted.bounded(5, "l2", len(variants), 16) * variants.counts[counted.owner]
        names = (*variants.activities, "|")
        found: dict[tuple[str, str], int] = {}
        for key, step in zip(counted.key.tolist(), steps.tolist(), strict=True):
            pair = names[key // len(names)], names[key % len(names)]
            found[pair] = found.get(pair, 0) + step
        return found

    more = dict(log)
    more[case] = more.get(case, 0) + 1
    before, after, alone = total(log), total(more), total({case: 1})
    assert all(after[pair] == before.get(pair, 0) + alone.get(pair, 0) for pair in after)


def test_scaling_keeps_the_flow_balanced() -> None:
    variants = Variants.from_counts({tuple("abcabcabd"): 1})
    counted = Contributions.of_follows(variants)
    noise = CountNoise.laplace(4, 1e6)
    counts = counted.noisy_counts(variants.counts, 4, "l1", noise, Randomness.system())
    matrix = counts.reshape(5, 5)
    assert matrix.sum(axis=0) == pytest.approx(matrix.sum(axis=1), abs=0.02)


def test_the_private_bound_is_the_quantile_and_each_case_has_one_bin() -> None:
    sizes = np.arange(1, 101)
    rng = Randomness.system()
    little, much = CountNoise.laplace(1, 1000), CountNoise.laplace(1, 1)
    found = private_bound(sizes, np.full(100, 50), 0.9, little, rng)
    assert 90 <= found <= 112
    assert private_bound(np.array([10**9]), np.array([5]), 0.9, little, rng) == LARGEST_SIZE
    nobody = np.zeros(0, int)
    empty = [private_bound(nobody, nobody, 0.9, much, rng) for _ in range(40)]
    assert FALLBACK_BOUND in empty
    assert list(edges()) == sorted(set(edges()))


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
