"""Amun as published: Algorithm 1, the paper's epsilons, times, and why it is not private."""

from __future__ import annotations

import io
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.log.dafsa import Dafsa
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.instants import HOUR, SECOND, microseconds, since_start
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.mechanisms.whole.amun import Amun
from discreet.mechanisms.whole.oversampling import (
    noisy_times,
    oversample,
    priors,
    publish,
    published_epsilon,
    ranges,
    without_rare,
    worst_prior,
)
from discreet.privacy.randomness import Randomness
from tests.conftest import RealLogs, read_once

CASES = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=15)


def log_of(words: list[str], step: int = HOUR) -> EventLog:
    rows = [
        (f"c{i}", label, i * 1000 * HOUR + place * step)
        for i, word in enumerate(words)
        for place, label in enumerate(word)
    ]
    table = pl.DataFrame(
        rows, schema={CASE: pl.String, ACTIVITY: pl.String, TIME: pl.Int64}, orient="row"
    )
    return EventLog.from_table(table.with_columns(pl.col(TIME).cast(pl.Datetime("us", "UTC"))))


def variant_set(log: EventLog) -> set[tuple[str, ...]]:
    return set(log.variants.to_dict())


@given(CASES, st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_every_transition_gets_the_cases_it_needs(words: list[str], seed: int) -> None:
    log = log_of(words)
    dafsa = Dafsa.of(log.variants)
    transition = dafsa.transition_of_event(log)
    needed = np.random.default_rng(seed).integers(1, 6, dafsa.transitions)
    copies = oversample(transition, log.offsets, needed, Randomness.seeded(seed))
    added = np.bincount(transition, weights=np.repeat(copies, np.diff(log.offsets)))
    assert (added >= needed).all()


def exact_copies(log: EventLog, needed: list[int]) -> dict[tuple[int, ...], Fraction]:
    """The distribution of Algorithm 1's result by following every choice it can make."""
    dafsa = Dafsa.of(log.variants)
    transition = dafsa.transition_of_event(log)
    paths = [
        set(transition[a:b].tolist()) for a, b in zip(log.offsets, log.offsets[1:], strict=False)
    ]
    found: Counter[tuple[int, ...]] = Counter()
    states = {(0,) * log.cases: Fraction(1)}
    while states:
        following: dict[tuple[int, ...], Fraction] = {}
        for copies, chance in states.items():
            added = [
                sum(n for n, p in zip(copies, paths, strict=True) if t in p)
                for t in range(dafsa.transitions)
            ]
            left = [t for t in range(dafsa.transitions) if added[t] < needed[t]]
            if not left:
                found[copies] += chance  # type: ignore[assignment]
                continue
            total = sum(int(dafsa.counts[t]) for t in left)
            for picked in left:
                outcomes = {copies: chance * int(dafsa.counts[picked]) / total}
                takers = [i for i, path in enumerate(paths) if picked in path]
                for _ in range(needed[picked]):
                    grown: dict[tuple[int, ...], Fraction] = {}
                    for one, weight in outcomes.items():
                        for i in takers:
                            more = (*one[:i], one[i] + 1, *one[i + 1 :])
                            grown[more] = grown.get(more, Fraction(0)) + weight / len(takers)
                    outcomes = grown
                for one, weight in outcomes.items():
                    following[one] = following.get(one, Fraction(0)) + weight
        states = following
    return dict(found)  # type: ignore[arg-type]


def test_oversampling_has_the_distribution_of_algorithm_1() -> None:
    log = log_of(["ax", "ax", "bx", "by"])
    dafsa = Dafsa.of(log.variants)
    needed = np.array([1 + t % 2 for t in range(dafsa.transitions)])
    exact = exact_copies(log, needed.tolist())
    assert sum(exact.values()) == 1
    runs = 6000
    transition = dafsa.transition_of_event(log)
    rng = Randomness.seeded(1)
    seen = Counter(
        tuple(oversample(transition, log.offsets, needed, rng).tolist()) for _ in range(runs)
    )
    assert set(seen) <= set(exact)
    common = [copies for copies, chance in exact.items() if chance * runs >= 5]
    observed = [seen[copies] for copies in common]
    expected = [float(exact[copies] * runs) for copies in common]
    rest = runs - sum(expected)
    if rest > 0:
        observed.append(runs - sum(observed))
        expected.append(rest)
    assert len(common) > 5
    assert stats.chisquare(observed, expected).pvalue > 1e-7


def test_epsilon_of_the_paper() -> None:
    for advantage in (0.1, 0.2, 0.3, 0.4):
        worst = published_epsilon(worst_prior(advantage), advantage)
        assert float(worst) == pytest.approx(2 * math.log((1 + advantage) / (1 - advantage)))
        grid = np.linspace(0.001, 0.999, 999)
        epsilon = published_epsilon(grid, advantage)
        assert np.isfinite(epsilon).all()
        assert (epsilon >= float(worst) - 1e-9).all()
    # posterior odds e^ε · prior odds exceed the prior by exactly the advantage
    prior, advantage = 0.3, 0.2
    odds = math.exp(float(published_epsilon(prior, advantage))) * prior / (1 - prior)
    assert odds / (1 + odds) - prior == pytest.approx(advantage)


def test_a_certain_prior_still_gets_noise_and_less_with_more_values() -> None:
    known = np.array([1, 2, 10, 1000, 10**6])
    epsilon = published_epsilon(np.ones(5), 0.2, known)
    assert float(epsilon[0]) == pytest.approx(2 * math.log(1.5))
    assert (np.diff(epsilon) > 0).all()
    assert np.isfinite(epsilon).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), min_size=1, max_size=40),
    st.sampled_from([0.05, 0.1, 0.5, 1.0]),
)
def test_priors_by_brute_force(events: list[tuple[int, int]], precision: float) -> None:
    group = np.array([g for g, _ in events])
    group = np.unique(group, return_inverse=True)[1]
    time = np.array([t for _, t in events]) * HOUR
    span = ranges(time, group)
    found = priors(time, group, span, precision)
    for i in range(len(events)):
        mates = time[group == group[i]]
        reach = precision * span[group[i]]
        loose = 1e-6 * span[group[i]]  # the grid on which times are compared
        inside = (np.abs(mates - time[i]) < reach - loose).sum()
        touching = (np.abs(mates - time[i]) <= reach + loose).sum()
        assert inside <= round(found[i] * len(mates)) <= touching


def test_laplace_noise_has_the_asked_scale() -> None:
    size = 20_000
    relative = np.zeros(2 * size, dtype=np.int64)
    relative[1::2] = 10**15
    scale = np.full(2 * size, 3e6)
    times = noisy_times(
        relative,
        scale,
        np.arange(0, 2 * size + 1, 2),
        np.full(size, 7 * SECOND),
        Randomness.seeded(3),
    )
    assert (times[::2] == 7 * SECOND).all()
    noise = times[1::2] - 7 * SECOND - 10**15
    assert stats.kstest(noise, stats.laplace(scale=3e6).cdf).pvalue > 1e-7


def test_copies_divide_epsilon() -> None:
    """The noise of a case grows with its copies: scale · number of instances."""
    log = log_of(["ab"] * 3, step=1000 * HOUR)
    runs = [publish(log, 0.2, 0.1, Randomness.seeded(seed)) for seed in range(600)]
    ratio, chances = [], []
    epsilon = float(published_epsilon(1.0, 0.2, 3))
    for run in runs:
        copies = np.bincount(run.origin, minlength=3)[run.origin]
        away = run.times[1::2] - run.times[::2] - 1000 * HOUR
        ratio += (np.abs(away) / copies).tolist()
        assert (copies >= 1).all()
        # |t + copies · noise| is near t if the noise is near 0, or near −2t / copies
        folded = np.exp(-epsilon * 2 / copies) * math.sinh(0.05 * epsilon)
        chances += (1 - math.exp(-0.05 * epsilon) + folded).tolist()
    share, expected = np.mean(np.array(ratio) < 0.05 * 1000 * HOUR), np.mean(chances)
    assert abs(share - expected) < 5.5 * math.sqrt(expected / len(ratio))


LOGS = ("Sepsis", "Unrineweginfectie", "BPIC2012_A", "CCC19", "BPIC2013_closed_problems")


@pytest.mark.parametrize("name", LOGS)
def test_real_logs_keep_their_variants_and_no_time_is_copied(
    name: str, real_logs: RealLogs
) -> None:
    log = read_once(real_logs[name][1])
    relative = since_start(log)
    ratios = []
    rng = Randomness.seeded(1)
    for advantage in (0.2, 0.3, 0.4):
        fresh = publish(log, advantage, 0.1, rng)
        new = fresh.assemble(log, rng)
        assert variant_set(new) == variant_set(log)
        old = relative[fresh.positions]
        now = fresh.times - np.repeat(fresh.times[fresh.offsets[:-1]], np.diff(fresh.offsets))
        later = old > 0
        assert (now[later] == old[later]).sum() <= 3
        assert (now[later] == 2 * old[later]).sum() <= 3
        first = np.zeros(len(now), dtype=bool)
        first[fresh.offsets[:-1]] = True
        assert (now[~first & ~later] == 0).sum() <= 3
        ratios.append(new.cases / log.cases)
    assert ratios[0] > ratios[2] > 1
    if name == "RoadTrafficFines":
        assert ratios[0] < 1.01
    if name == "CCC19":
        assert ratios[0] > 4


def test_case_ids_are_new_and_starts_are_kept() -> None:
    log = sample_log("hospital", cases=200, seed=1)
    new = Amun(fidelity="published").release(log).artefact
    assert not set(new.case_ids) & set(log.case_ids)
    assert len(set(new.case_ids)) == new.cases
    assert set(microseconds(new)[new.offsets[:-1]]) == set(microseconds(log)[log.offsets[:-1]])
    assert new.table.columns == [CASE, ACTIVITY, TIME]


def test_suppression_leaves_no_rare_transition() -> None:
    log = log_of(["abc"] * 5 + ["abd"] * 2 + ["xbc"] * 3 + ["xyz"])
    kept = without_rare(log, 3)
    assert variant_set(kept) == {tuple("abc"), tuple("xbc")}
    assert (Dafsa.of(kept.variants).counts >= 3).all()
    assert without_rare(log, 1) is log
    release = Amun(fidelity="published", min_count=3).release(log)
    assert variant_set(release.artefact) == variant_set(kept)
    with pytest.raises(LogError, match="lower min_count"):
        Amun(fidelity="published", min_count=100).release(log)


def test_the_certificate_claims_no_differential_privacy() -> None:
    for mechanism in (
        Amun(fidelity="published", guessing_advantage=0.3),
        Amun(fidelity="published", guessing_advantage=0.3, cases_per_individual=2),
    ):
        promise = mechanism.guarantee()
        assert promise.status == "refuted"
        assert promise.claimed is None
        assert promise.holds is None
        assert not promise.private
        assert "guessing advantage of at most 0.3" in promise.reason
        assert "0.65" in promise.reason
        assert "no differential-privacy guarantee" in promise.explain()


def test_with_suppression_the_reason_is_the_threshold() -> None:
    promise = Amun(fidelity="published", min_count=5).guarantee()
    assert promise.holds is None
    assert "just reaches 5" in promise.reason


def test_the_published_flaw_a_lone_variant_betrays_its_case() -> None:
    words = ["ab"] * 20 + ["ac"] * 10
    with_case, without = log_of([*words, "zz"]), log_of(words)
    for _ in range(20):
        assert ("z", "z") in variant_set(Amun(fidelity="published").release(with_case).artefact)
        assert ("z", "z") not in variant_set(Amun(fidelity="published").release(without).artefact)


@pytest.mark.parametrize(
    "words",
    [["abc"], ["a"], ["a", "b", "a"], ["aaaa"] * 3],
    ids=["one case", "one event", "one event each", "same"],
)
def test_small_and_odd_logs(words: list[str]) -> None:
    for step in (HOUR, 0):
        log = log_of(words, step=step)
        new = Amun(fidelity="published").release(log).artefact
        assert variant_set(new) == variant_set(log)
        times = microseconds(new)
        for a, b in zip(new.offsets, new.offsets[1:], strict=False):
            assert (np.diff(times[a:b]) >= 0).all()


def test_mixed_time_zones_are_one_order() -> None:
    text = (
        "case,activity,timestamp\n"
        "1,late,2024-03-01T12:30:00+02:00\n1,early,2024-03-01T10:00:00Z\n"
        "1,latest,2024-03-01T03:00:00-08:00\n"
    )
    log = read_log(pl.read_csv(io.StringIO(text)))
    assert variant_set(log) == {("early", "late", "latest")}
    assert variant_set(Amun(fidelity="published").release(log).artefact) == variant_set(log)
