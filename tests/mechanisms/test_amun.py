"""Amun, strict: what it promises, that it holds, and that the log it draws is a good one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.ledger.ledger import Ledger
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.instants import DAY, HOUR, MONDAY, WEEK, microseconds
from discreet.log.reading import read_log
from discreet.log.samples import sample_log
from discreet.mechanisms.amun import Amun
from discreet.mechanisms.amun.columns import Column
from discreet.mechanisms.amun.gaps import EDGES, WEIGHT, Gaps, Steps
from discreet.mechanisms.amun.risk import advantage_bound
from discreet.mechanisms.amun.spending import (
    ACTIVITY_GAPS,
    ALL_GAPS,
    RELATION_GAPS,
    spending,
)
from discreet.mechanisms.amun.starts import DEPTH, Halving, Starts, cost
from discreet.mechanisms.amun.strict import relations_of, steps_of
from discreet.mechanisms.parameters import ParameterError
from discreet.mechanisms.registry import mechanism
from discreet.privacy.guarantee import Budget
from discreet.privacy.partition import OptimalSelection
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Selecting, Sequential
from discreet.verification import check_certificate
from discreet.wholelogs.sampling import choose_by_row, projected, shrunk
from tests.composition import basic
from tests.mechanisms.test_amun_published import log_of, variant_set

HOSPITAL = sample_log("hospital", cases=3000, seed=1)


@pytest.mark.parametrize("columns", [(), ("org:resource",), ("org:resource", "case:person")])
def test_the_parts_add_up_to_no_more_than_the_budget(columns: tuple[str, ...]) -> None:
    for epsilon, share in itertools.product((0.01, 1.0, 7.3), (0.1, 0.5, 0.9)):
        chosen = Amun(epsilon=epsilon, delta=1e-5, times_share=share, columns=columns)
        promise = chosen.guarantee()
        assert promise.status == "proved"
        assert promise.holds == promise.claimed == Budget(epsilon, 1e-5)
        total = basic(promise.parts)
        assert 0.999 * epsilon < total.epsilon <= epsilon
        assert 0.999e-5 < total.delta <= 1e-5


def test_the_guarantee_is_for_individuals_if_asked() -> None:
    promise = Amun(epsilon=2, delta=1e-6, cases_per_individual=3).guarantee()
    assert (promise.unit, promise.holds) == ("individual", Budget(2, 1e-6))
    assert sum(part.epsilon for part in promise.parts) <= 2 / 3
    log = sample_log("hospital", cases=2000, seed=2)
    named = EventLog.from_table(log.table, individual="case:person")
    release = Amun(epsilon=20, cases_per_individual=3).release(named)
    assert 0 < release.artefact.cases < 2000


def test_a_release_is_a_log_of_its_own() -> None:
    release = Amun(epsilon=8).release(HOSPITAL)
    new = release.artefact
    assert new.table.columns == [CASE, ACTIVITY, TIME]
    assert variant_set(new) <= variant_set(HOSPITAL)
    assert not set(new.case_ids) & set(HOSPITAL.case_ids)
    again = EventLog.from_table(new.table)
    assert np.array_equal(new.codes, again.codes)
    times = microseconds(new)
    inside = np.ones(len(times), dtype=bool)
    inside[new.offsets[:-1]] = False
    assert (np.diff(times, prepend=0)[inside] >= 0).all()
    same = set(times.tolist()) & set(microseconds(HOSPITAL).tolist())
    assert len(same) <= 3  # to the microsecond: one is a chance of some 1e-5


def test_the_written_file_and_its_certificate(tmp_path: Path) -> None:
    path = tmp_path / "shared.xes"
    certificate = Amun(epsilon=8, columns=("org:resource",)).release(HOSPITAL).write(path)
    assert not certificate.artificial_times
    assert certificate.artefact == "log"
    assert any("samples from private statistics" in note for note in certificate.notes)
    assert any("guessing advantage" in note for note in certificate.notes)
    found, findings = check_certificate(path)
    assert found.guarantee.private
    assert [finding.outcome for finding in findings] == ["holds"] * len(findings)
    assert "org:resource" in read_log(path).table.columns


def test_an_empty_release_can_be_written(tmp_path: Path) -> None:
    release = Amun(epsilon=0.1, delta=1e-9).release(log_of(["ab", "cd"]))
    assert release.artefact.cases == 0
    release.write(tmp_path / "empty.csv")
    assert (tmp_path / "empty.csv").is_file()


def test_a_seed_repeats_the_release_and_marks_it() -> None:
    one, two = (Amun(epsilon=4).release(HOSPITAL, insecure_seed=5) for _ in range(2))
    assert one.artefact.table.equals(two.artefact.table)
    assert not one.guarantee.private


def test_times_of_a_large_budget_are_like_the_true_ones() -> None:
    new = Amun(epsilon=400, delta=1e-3).release(HOSPITAL, insecure_seed=1).artefact
    shown = variant_set(new)
    known = [HOSPITAL.variants.sequence(v) in shown for v in range(len(HOSPITAL.variants))]
    kept = HOSPITAL.take_cases(np.flatnonzero(np.array(known)[HOSPITAL.variant_of_case]))
    places: tuple[Callable[[Any], Any], ...] = (lambda t: t // HOUR % 24, lambda t: t // DAY % 7)
    for place in places:
        true = np.bincount(place(microseconds(HOSPITAL)[HOSPITAL.offsets[:-1]]), minlength=24)
        drawn = np.bincount(place(microseconds(new)[new.offsets[:-1]]), minlength=24)
        assert np.abs(true / true.sum() - drawn / drawn.sum()).sum() < 0.2
    ends = []
    for log in (kept, new):
        times = microseconds(log)
        ends.append(np.log1p(times[log.offsets[1:] - 1] - times[log.offsets[:-1]]))
    assert stats.ks_2samp(*ends).statistic < 0.2


def split_chance(score: int, rate: float) -> float:
    q = math.exp(-rate)
    return q ** (1 - score) / (1 + q) if score <= 1 else 1 - q**score / (1 + q)


def outcomes(
    counts: tuple[int, ...], depth: int, rate: float, t: int
) -> dict[tuple[object, ...], float]:
    """The exact distribution of the parts of a stretch of len(counts) weeks."""
    if len(counts) == 1:
        return {(): 1.0}
    chance = split_chance(max(-t, sum(counts) - depth * t), rate)
    half = len(counts) // 2
    found: dict[tuple[object, ...], float] = {(): 1 - chance}
    left = outcomes(counts[:half], depth + 1, rate, t)
    right = outcomes(counts[half:], depth + 1, rate, t)
    for (a, p), (b, r) in itertools.product(left.items(), right.items()):
        found[a, b] = chance * p * r
    return found


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0])
def test_halving_is_private_exactly(epsilon: float) -> None:
    """Every outcome, for many logs on eight weeks and every neighbour with one case more."""
    halving = Halving(Laplace("calendar", epsilon), depth=3)
    rate, t = float(halving.rate), halving.step
    assert cost(rate, 3) <= epsilon
    worst = 0.0
    random = np.random.default_rng(0)
    logs = [(n,) + (0,) * 7 for n in range(5 * t + 6)] + [
        tuple(random.integers(0, 3 * t + 2, 8).tolist()) for _ in range(60)
    ]
    for log in logs:
        fewer = outcomes(log, 0, rate, t)
        for week in (0, 5):
            more = outcomes((*log[:week], log[week] + 1, *log[week + 1 :]), 0, rate, t)
            worst = max(worst, *(abs(math.log(more[o] / fewer[o])) for o in fewer))
    assert worst <= epsilon
    assert worst > 0.6 * epsilon  # the accounting is not far from the truth


def test_halving_draws_what_the_enumeration_says() -> None:
    halving = Halving(Laplace("calendar", 1.0), depth=2)
    counts = (9, 0, 2, 5)
    exact = outcomes(counts, 0, float(halving.rate), halving.step)
    weeks = np.repeat(np.arange(4), counts)
    rng = Randomness.seeded(1)
    runs = 4000
    kept = sum(len(halving.parts(weeks, rng)) == 1 for _ in range(runs))
    assert stats.binomtest(kept, runs, exact[()]).pvalue > 1e-7


def test_start_times_outside_the_public_stretch_count_at_its_edge() -> None:
    steps = spending(Budget(400, 0.1), 0.5, (), 0.1)
    early = np.full(500, MONDAY - 3000 * WEEK + 9 * HOUR)
    drawn = Starts.learn(early, steps, Randomness.seeded(0)).draw(300, Randomness.seeded(1))
    assert (drawn >= MONDAY).all()
    assert (drawn < MONDAY + WEEK).mean() > 0.9
    assert (drawn // HOUR % 24 == 9).mean() > 0.9


def test_with_nothing_learned_starts_still_lie_in_the_public_stretch() -> None:
    steps = spending(Budget(0.001, 0.1), 0.5, (), 0.1)
    drawn = Starts.learn(np.array([0]), steps, Randomness.seeded(0)).draw(100, Randomness.seeded(1))
    assert ((drawn >= MONDAY) & (drawn < MONDAY + (1 << DEPTH) * WEEK)).all()


@given(
    st.lists(st.text("ab", min_size=1, max_size=6), max_size=6),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2**40)), min_size=1, max_size=40),
)
@settings(max_examples=80, deadline=None)
def test_a_case_weighs_at_most_one_in_every_histogram(
    words: list[str], extra: list[tuple[str, int]]
) -> None:
    released = log_of(["ab", "ba", "aa"]).variants
    base = log_of([*words, "ab"]).table
    times = np.cumsum([wait for _, wait in extra])
    added = pl.DataFrame(
        {CASE: ["new"] * len(extra), ACTIVITY: [a for a, _ in extra], TIME: times}
    ).with_columns(pl.col(TIME).cast(pl.Datetime("us", "UTC")))
    tables = []
    for table in (base, pl.concat([base, added])):
        log = EventLog.from_table(table)
        steps = steps_of(log, microseconds(log), released, relations_of(released))
        into = np.append(steps.targets, -1)[steps.relation]
        tables.append(
            (
                steps.counts(np.zeros_like(into), 1),
                steps.counts(into, 2),
                steps.counts(steps.relation, len(steps.targets)),
            )
        )
    for fewer, more in zip(*tables, strict=True):
        assert np.abs(more - fewer).sum() <= WEIGHT


def test_only_relations_of_released_variants_are_asked_for() -> None:
    log = log_of(["ab"] * 3 + ["ac", "xyz"])
    released = log.variants.take(np.flatnonzero(log.variants.counts == 3)).trimmed()
    steps = steps_of(log, microseconds(log), released, relations_of(released))
    assert len(steps.targets) == 1
    assert sorted(steps.relation.tolist()) == [-1, -1, -1, 0, 0, 0]


def test_gaps_of_a_large_budget_fall_into_the_true_bins() -> None:
    steps = Steps(
        durations=np.array([0, HOUR] * 500),
        relation=np.array([0, 1] * 500),
        offsets=np.arange(0, 1001, 2),
        targets=np.array([0, 1]),
    )
    plenty = tuple(Laplace(name, 50.0) for name in (ALL_GAPS, ACTIVITY_GAPS, RELATION_GAPS))
    learned = Gaps.learn(steps, Sequential("gaps", plenty), Randomness.seeded(0))
    drawn = learned.draw(np.array([0] * 200 + [1] * 200), Randomness.seeded(1))
    assert (drawn[:200] == 0).mean() > 0.99
    place = np.searchsorted(EDGES, HOUR, side="right") - 1
    inside = (drawn[200:] >= EDGES[place]) & (drawn[200:] < EDGES[place + 1])
    assert inside.mean() > 0.99


def test_noise_alone_leaves_a_row_at_its_parent() -> None:
    parent = np.full((1, 30), 1 / 30)
    flat = shrunk(np.full((1, 30), 5.0), 10.0, parent)
    assert np.allclose(flat, parent)
    sure = np.zeros((1, 30))
    sure[0, 3] = 10_000
    assert shrunk(sure, 1.0, parent)[0, 3] > 0.99
    assert np.allclose(shrunk(np.full((2, 30), -9.0), 1.0, parent).sum(axis=1), 1)


@given(st.lists(st.floats(-50, 1000), min_size=1, max_size=20))
def test_projection_keeps_the_total_and_is_nearest(values: list[float]) -> None:
    counts = np.array(values)
    found = projected(counts)
    if counts.sum() <= 0:
        assert not found.any()
        return
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(counts.sum())
    kept = found > 0
    cut = (counts - found)[kept]
    assert np.ptp(cut) < 1e-6  # the same is taken off every cell that stays
    assert (counts[~kept] <= cut.max() + 1e-6).all()


def test_rows_are_drawn_by_their_weights() -> None:
    weights = np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    drawn = choose_by_row(weights, np.repeat([0, 1, 2], 3000), Randomness.seeded(0))
    assert stats.binomtest(int((drawn[:3000] == 1).sum()), 3000, 0.75).pvalue > 1e-7
    assert stats.chisquare(np.bincount(drawn[3000:6000], minlength=3)).pvalue > 1e-7
    assert (drawn[6000:] == 2).all()


def test_further_columns_show_frequent_values_only() -> None:
    log = sample_log("hospital", cases=4000, seed=3)
    lone = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("Dr Lone")).otherwise("org:resource")
    table = log.table.with_columns(lone.alias("org:resource"), pl.lit(3).alias("case:ward"))
    log = EventLog.from_table(table)
    chosen = Amun(epsilon=20, delta=1e-10, columns="org:resource, case:ward")
    new = chosen.release(log).artefact.table
    assert new.columns == [CASE, ACTIVITY, TIME, "org:resource", "case:ward"]
    shown = set(new["org:resource"].drop_nulls())
    assert shown
    assert "Dr Lone" not in shown
    pairs = set(table.select(ACTIVITY, "org:resource").iter_rows())
    assert set(new.select(ACTIVITY, "org:resource").drop_nulls().iter_rows()) <= pairs
    assert new["case:ward"].dtype == pl.Int32
    assert set(new["case:ward"]) == {3}


def test_a_column_is_selected_by_one_value_per_case() -> None:
    """A value in a single case is shown as rarely as partition selection says, however often."""
    table = log_of(["a" * 50]).table.with_columns(pl.lit("secret").alias("who"))
    log = EventLog.from_table(table)
    step = Selecting("values of who", OptimalSelection(1.0, 0.05))
    runs, rng = 2000, Randomness.seeded(2)
    shown = sum(len(Column.learn(log, "who", step, rng).values) for _ in range(runs))
    chance = float(OptimalSelection(1.0, 0.05).probability(1))
    assert stats.binomtest(shown, runs, chance).pvalue > 1e-7


def test_the_type_of_a_column_does_not_list_its_values() -> None:
    table = log_of(["ab"] * 50).table.with_columns(
        pl.lit("x").cast(pl.Enum(["hidden", "x"])).alias("who")
    )
    new = Amun(epsilon=20, columns="who").release(EventLog.from_table(table)).artefact
    assert new.table.schema["who"] == pl.String


def test_columns_of_any_plain_type() -> None:
    table = log_of(["ab"] * 60).table.with_columns(
        pl.lit(True).alias("yes"),
        pl.lit(2.5).alias("case:cost"),
        pl.col(TIME).min().alias("case:born"),
        pl.lit(None, dtype=pl.String).alias("nothing"),
        pl.lit("x").alias("text"),
    )
    names = ("yes", "case:cost", "case:born", "nothing", "text")
    new = Amun(epsilon=60, columns=names).release(EventLog.from_table(table)).artefact.table
    assert {name: new.schema[name] for name in names} == {n: table.schema[n] for n in names}
    assert new.height > 0
    for name in names:
        assert set(new[name]) == set(table[name])
    nested = table.with_columns(pl.concat_list("text").alias("list"))
    with pytest.raises(LogError, match="plain values only"):
        Amun(columns=("list",)).release(EventLog.from_table(nested))


def test_columns_are_checked() -> None:
    with pytest.raises(ParameterError, match="no further column"):
        Amun(columns=(CASE,))
    with pytest.raises(ParameterError, match="twice"):
        Amun(columns=("a", "a"))
    with pytest.raises(ParameterError, match="strict"):
        Amun(columns=("a",), fidelity="published")
    with pytest.raises(LogError, match=r"no column 'nope'; .*org:resource"):
        Amun(columns=("nope",)).release(HOSPITAL)


def test_a_lone_variant_is_shown_no_more_often_than_delta_allows() -> None:
    log = log_of(["ab"] * 30 + ["zz"])
    budget = Amun(epsilon=1, delta=0.05)
    runs = 200
    shown = sum(("z", "z") in variant_set(budget.release(log).artefact) for _ in range(runs))
    assert stats.binomtest(shown, runs, 0.05, alternative="greater").pvalue > 1e-7


def test_the_guessing_advantage_that_follows() -> None:
    for epsilon, delta in itertools.product((0.1, 1.0, 5.0), (0.0, 1e-6, 0.01, 0.3)):
        grown = math.exp(epsilon)
        bound = advantage_bound(epsilon, delta)
        assert bound == pytest.approx((grown - 1 + 2 * delta) / (grown + 1))
        priors = np.linspace(0, 1, 20_001)
        after = np.minimum(grown * priors + delta, 1 - (1 - priors - delta) / grown)
        gain = np.minimum(after, 1) - priors
        assert gain.max() <= bound + 1e-12
        assert gain.max() == pytest.approx(bound, abs=1e-3)
    assert advantage_bound(1000) == 1
    notes = Amun(epsilon=1.0, delta=1e-6).release(HOSPITAL, insecure_seed=1).notes
    assert any("at most 0.4622 above" in note for note in notes)


@pytest.mark.parametrize("words", [["abc"], ["a"], ["a", "b", "a"], ["abc"] * 4])
def test_small_and_odd_logs(words: list[str]) -> None:
    for step in (HOUR, 0):
        new = Amun(epsilon=100, delta=0.5).release(log_of(words, step=step)).artefact
        assert variant_set(new) <= variant_set(log_of(words))


def test_logs_without_times_are_refused() -> None:
    table = pl.DataFrame({CASE: ["1"], ACTIVITY: ["a"]})
    for fidelity in ("strict", "published"):
        with pytest.raises(LogError, match="no timestamps"):
            mechanism("amun", fidelity=fidelity).release(EventLog.from_table(table))


def test_what_can_fail_on_public_grounds_fails_before_anything_is_booked(tmp_path: Path) -> None:
    timeless = EventLog.from_table(pl.DataFrame({CASE: ["1"], ACTIVITY: ["a"]}))
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("s", Budget(2, 1e-5))
        for chosen, log, message in (
            (Amun(), timeless, "no timestamps"),
            (Amun(columns=("nope",)), HOSPITAL, "no column 'nope'"),
        ):
            with pytest.raises((LogError, ParameterError), match=message):
                ledger.release(chosen, log, source="s")
        assert ledger.account("s").releases == 0


def test_the_holder_is_warned_of_dates_outside_the_public_stretch() -> None:
    old = log_of(["ab"]).table.with_columns(pl.col(TIME).dt.offset_by("-100y"))
    assert any("1 cases start before" in text for text in Amun().advice(EventLog.from_table(old)))
    assert Amun().advice(HOSPITAL) == []


def test_a_budget_too_small_is_a_parameter_error() -> None:
    with pytest.raises(ParameterError, match="larger epsilon"):
        Amun(epsilon=1e-4, times_share=0.999)
