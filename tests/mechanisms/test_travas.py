"""TraVaS and uTraVaS: what they show, what they promise, and where the published one fails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.log.events import EventLog
from discreet.log.expansion import expand
from discreet.log.variants import Variants
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.travas import TraVaS, UTraVaS, expected_hidden_count
from discreet.models.similarity import relative_log_similarity
from discreet.privacy.partition import OptimalSelection, TruncatedSelection
from discreet.privacy.randomness import Randomness
from tests.conftest import RealLogs, read_once


def log_of(counts: dict[tuple[str, ...], int]) -> EventLog:
    variants = Variants.from_counts(counts)
    names = [str(i) for i in range(variants.cases)]
    return expand(variants, np.arange(variants.cases), names)


@pytest.mark.parametrize("fidelity", ["strict", "published"])
def test_frequent_variants_come_through_and_rare_ones_do_not(fidelity: str) -> None:
    log = log_of({("a", "b"): 5000, ("a", "c"): 3000, ("secret",): 1})
    release = mechanism("travas", epsilon=1, delta=1e-12, fidelity=fidelity).release(log)
    shown = release.artefact.to_dict()
    assert set(shown) == {("a", "b"), ("a", "c")}
    assert abs(shown["a", "b"] - 5000) < 100
    assert release.artefact.activities == ("a", "b", "c")


def test_the_strict_selection_shows_each_count_as_often_as_computed() -> None:
    selection = OptimalSelection(1.0, 0.01)
    count, runs = 5, 4000
    log = log_of({(f"x{i}",): count for i in range(runs)})
    shown = len(TraVaS(epsilon=1, delta=0.01).release(log).artefact)
    chance = float(selection.probability(count))
    assert 0.05 < chance < 0.95
    assert stats.binomtest(shown, runs, chance).pvalue > 1e-9


def test_the_guarantee_answers_before_data() -> None:
    guarantee = TraVaS(epsilon=0.5, delta=1e-5).guarantee()
    assert guarantee.status == "proved"
    assert guarantee.conditions == ()
    assert guarantee.neighbours == "add-remove"
    assert guarantee.holds is not None
    assert (guarantee.holds.epsilon, guarantee.holds.delta) == (0.5, 1e-5)


def test_an_empty_result_is_a_release() -> None:
    release = TraVaS(epsilon=1, delta=1e-9).release(log_of({("a",): 1, ("b",): 1}))
    assert len(release.artefact) == 0
    assert "empty" in release.describe()


def test_large_epsilon_keeps_nearly_everything() -> None:
    log = log_of({("a",): 5, ("b",): 7})
    assert TraVaS(epsilon=100_000, delta=1e-12).release(log).artefact.to_dict() == {
        ("a",): 5,
        ("b",): 7,
    }


def test_utravas_of_one_run_is_travas_as_published() -> None:
    log = log_of({("a",): 50, ("b",): 7})
    travas = TraVaS(epsilon=1, delta=0.01, fidelity="published")
    utravas = UTraVaS(epsilon=1, delta=0.01)
    assert (
        travas.release(log, insecure_seed=5).artefact
        == utravas.release(log, insecure_seed=5).artefact
    )


def test_hidden_counts_are_estimated_as_in_the_paper() -> None:
    selection = TruncatedSelection(1.0, 0.01)
    k = selection.threshold
    mass = {x: np.exp(-abs(x)) for x in range(-k, k + 1)}
    pairs = [(j, mass[x]) for j in range(1, 2 * k + 1) for x in range(-k, k - j + 1)]
    expected = sum(j * m for j, m in pairs) / sum(m for _, m in pairs)
    assert expected_hidden_count(1.0, k) == pytest.approx(expected)


def test_utravas_averages_its_runs() -> None:
    log = log_of({("a",): 10_000, ("b",): 8000})
    shown = UTraVaS(epsilon=1, delta=1e-3, runs=5).release(log).artefact.to_dict()
    assert abs(shown[("a",)] - 10_000) < 200
    assert abs(shown[("b",)] - 8000) < 200


def test_utravas_with_a_private_choice_states_all_its_parts() -> None:
    chosen = UTraVaS(epsilon=2, delta=1e-3, runs=4, choose="private")
    guarantee = chosen.guarantee()
    assert guarantee.status == "proved"
    assert len(guarantee.parts) == 5
    assert sum(part.epsilon for part in guarantee.parts) <= 2
    assert sum(part.delta for part in guarantee.parts) <= 1e-3
    assert len(chosen.release(log_of({("a",): 500, ("b",): 300})).artefact) == 2


def test_the_score_of_the_private_choice_is_monotone_with_sensitivity_two() -> None:
    """One more case raises |L|·similarity by between 0 and 2, whatever the candidate."""
    generator = np.random.default_rng(3)

    def sequence() -> tuple[str, ...]:
        return tuple(generator.choice(list("abc"), size=generator.integers(1, 5)))

    for _ in range(60):
        counts = {sequence(): int(generator.integers(1, 4)) for _ in range(4)}
        candidate = Variants.from_counts(
            {sequence(): int(generator.integers(1, 4)) for _ in range(3)}
        )
        extra = sequence()
        more = counts | {extra: counts.get(extra, 0) + 1}
        before, after = Variants.from_counts(counts), Variants.from_counts(more)
        rise = after.cases * relative_log_similarity(
            after, candidate
        ) - before.cases * relative_log_similarity(before, candidate)
        assert -1e-9 <= rise <= 2 + 1e-9


def test_published_utravas_is_refuted_by_its_counterexample() -> None:
    """Each of twelve unique cases is shown about four times as often as δ allows."""
    counts = {("a",): 12} | {("x",) * 9 + (f"y{i}",): 1 for i in range(12)}
    variants = Variants.from_counts(counts)
    log = expand(variants, np.arange(24), [str(i) for i in range(24)])
    published = UTraVaS(epsilon=1, delta=0.01, runs=8, fidelity="published")
    assert published.guarantee().status == "refuted"
    assert published.guarantee().holds is None
    rng = Randomness.seeded(1)
    runs = 400
    shown = [
        sum(len(sequence) > 1 for sequence, _ in published._draw(log, rng)) for _ in range(runs)
    ]
    # Shown variants of one run are dependent, the runs are not.
    rates = np.array(shown) / 12
    assert rates.mean() - 5 * rates.std() / np.sqrt(runs) > 0.01


@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "similarity", "alike"),
    [
        ("Sepsis", 1, 0.01, 0.58, 0.594),
        ("Sepsis", 0.1, 0.01, 0.62, 0.644),
        ("Sepsis", 1, 0.001, 0.48, 0.419),
        ("BPIC2013_incidents", 1, 0.01, 0.88, 0.924),
        ("BPIC2013_incidents", 0.1, 0.01, 0.87, 0.901),
        ("BPIC2013_incidents", 1, 0.001, 0.86, 0.905),
    ],
)
def test_published_reproduces_the_papers_outputs(
    real_logs: RealLogs, name: str, epsilon: float, delta: float, similarity: float, alike: float
) -> None:
    known, path = real_logs[name]
    log = read_once(path)
    chosen = TraVaS(epsilon=epsilon, delta=delta, fidelity="published")
    runs, spread = (40, 0.07) if name == "Sepsis" else (12, 0.025)
    scores = [
        relative_log_similarity(log.variants, chosen.release(log).artefact) for _ in range(runs)
    ]
    assert np.mean(scores) == pytest.approx(alike if known.generated else similarity, abs=spread)
