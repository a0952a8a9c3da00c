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
from scipy import stats

from discreet.ledger.ledger import Ledger
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.instants import DAY, HOUR, microseconds
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.whole.amun import Amun, advantage_bound
from discreet.mechanisms.whole.value_cells import OTHER
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.releasing.verification import check_certificate
from tests.composition import basic
from tests.mechanisms.whole.test_oversampling import log_of, variant_set

HOSPITAL = sample_log("hospital", cases=3000, seed=1)


@pytest.mark.parametrize("attributes", [(), ("org:resource",), ("org:resource", "case:person")])
def test_the_parts_add_up_to_no_more_than_the_budget(attributes: tuple[str, ...]) -> None:
    for epsilon, share in itertools.product((0.01, 1.0, 7.3), (0.1, 0.5, 0.9)):
        chosen = Amun(epsilon=epsilon, delta=1e-5, times_share=share, attributes=attributes)
        promise = chosen.guarantee()
        assert promise.status == "proved"
        assert promise.holds is not None
        assert 0.98 * epsilon < promise.holds.epsilon <= epsilon
        assert 0.98e-5 < promise.holds.delta <= 1e-5
        total = basic(promise.parts)
        assert total.epsilon <= epsilon
        assert total.delta <= 1e-5


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
    assert len(same) <= 8  # of 30,000 to the microsecond: one in every fifth run


def test_the_written_file_and_its_certificate(tmp_path: Path) -> None:
    path = tmp_path / "shared.xes"
    certificate = Amun(epsilon=8, attributes=("org:resource",)).release(HOSPITAL).write(path)
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


def test_attributes_show_frequent_values_only() -> None:
    log = sample_log("hospital", cases=2000, seed=3)
    lone = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("Dr Lone")).otherwise("org:resource")
    table = log.table.with_columns(lone.alias("org:resource"), pl.lit(3).alias("case:ward"))
    chosen = Amun(epsilon=20, delta=1e-10, attributes="org:resource, case:ward:integer")
    new = chosen.release(EventLog.from_table(table)).artefact.table
    assert new.columns == [CASE, ACTIVITY, TIME, "org:resource", "case:ward"]
    shown = set(new["org:resource"].drop_nulls())
    assert len(shown) > 5
    assert shown <= {OTHER, *table["org:resource"]} - {"Dr Lone"}
    assert new["case:ward"].dtype == pl.Int64
    assert set(new["case:ward"]) == {3}


def test_the_type_of_a_column_does_not_list_its_values() -> None:
    table = log_of(["ab"] * 50).table.with_columns(
        pl.lit("x").cast(pl.Enum(["hidden", "x"])).alias("who")
    )
    new = Amun(epsilon=20, attributes="who").release(EventLog.from_table(table)).artefact
    assert new.table.schema["who"] == pl.String


def test_columns_are_checked() -> None:
    with pytest.raises(ParameterError, match="no further column"):
        Amun(attributes=(CASE,))
    with pytest.raises(ParameterError, match="twice"):
        Amun(attributes=("a", "a"))
    with pytest.raises(ParameterError, match="strict"):
        Amun(attributes=("a",), fidelity="published")
    with pytest.raises(LogError, match=r"no column 'nope'; .*org:resource"):
        Amun(attributes=("nope",)).release(HOSPITAL)


def test_a_lone_variant_is_shown_no_more_often_than_delta_allows() -> None:
    log = log_of(["ab"] * 30 + ["zz"])
    budget = Amun(epsilon=1, delta=0.05)
    runs = 60
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
            (Amun(attributes=("nope",)), HOSPITAL, "no column 'nope'"),
        ):
            with pytest.raises((LogError, ParameterError), match=message):
                ledger.release(chosen, log, source="s")
        assert ledger.account("s").releases == 0


def test_the_holder_is_warned_of_dates_outside_the_public_stretch() -> None:
    old = log_of(["ab"]).table.with_columns(pl.col(TIME).dt.offset_by("-100y"))
    assert any(
        "2 events lie before 1970" in text for text in Amun().advice(EventLog.from_table(old))
    )
    assert not any("1970" in text for text in Amun().advice(HOSPITAL))


def test_a_budget_too_small_is_a_parameter_error() -> None:
    with pytest.raises(ParameterError, match="raise epsilon"):
        Amun(epsilon=1e-4, times_share=0.999)
