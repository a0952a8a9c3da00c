from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog
from discreet.log.samples import PERSON, RESOURCE, SAMPLES, sample_log
from discreet.log.samples.catalogue import PROCESSES
from discreet.log.samples.simulator import (
    Behaviour,
    Stage,
    Team,
    choice,
    in_order,
    loop,
    parallel,
    step,
)

UNLIKELY = 1e-9
NAMES = sorted(SAMPLES)
TEAM = Team("Team", 3)


@cache
def sample(name: str, cases: int = 10_000) -> EventLog:
    return sample_log(name, cases=cases, seed=7)


def traces(tree: Behaviour, cases: int, seed: int = 7) -> list[tuple[str, ...]]:
    stage = Stage(np.random.Generator(np.random.PCG64(seed)))
    tree(stage, np.arange(cases), np.zeros(cases, dtype=np.int64))
    table = stage.history().group_by("case", maintain_order=True).agg("activity")
    return [tuple(trace) for trace in table["activity"]]


def fits(observed: list[int], odds: list[float]) -> bool:
    expected = np.array(odds) / np.sum(odds) * np.sum(observed)
    return bool(chisquare(observed, expected).pvalue > UNLIKELY)


def test_the_catalogue_describes_three_samples() -> None:
    assert NAMES == ["hospital", "loans", "permits"]
    assert all(SAMPLES.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_decides_the_log(name: str) -> None:
    first, again, other = (sample_log(name, cases=300, seed=seed) for seed in (5, 5, 6))
    assert first.table.equals(again.table)
    assert not first.table.equals(other.table)


def test_without_a_seed_every_log_is_new() -> None:
    assert not sample_log("loans", cases=50).table.equals(sample_log("loans", cases=50).table)


@pytest.mark.parametrize("name", NAMES)
def test_columns(name: str) -> None:
    log = sample(name)
    text = pl.String()
    assert dict(log.table.schema) == {
        CASE: text,
        ACTIVITY: text,
        TIME: pl.Datetime("us", "UTC"),
        RESOURCE: text,
        LIFECYCLE: text,
        PERSON: text,
    }
    assert sum(log.table.null_count().row(0)) == 0
    assert set(log.table[LIFECYCLE]) == {"complete"}
    assert log.individual is None
    assert log.cases == 10_000
    assert log.case_ids == sorted(log.case_ids)


@pytest.mark.parametrize("name", NAMES)
def test_one_case(name: str) -> None:
    assert sample_log(name, cases=1, seed=1).cases == 1


@pytest.mark.parametrize("cases", [0, -1])
def test_no_cases(cases: int) -> None:
    with pytest.raises(LogError, match="at least one case"):
        sample_log("hospital", cases=cases)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(LogError, match=r"'hopsital'.*hospital, loans, permits"):
        sample_log("hopsital")


def test_a_large_log() -> None:
    log = sample_log("hospital", cases=100_000, seed=1)
    assert log.cases == 100_000
    assert log.events > 900_000


def test_choices_follow_their_weights() -> None:
    odds = [5.0, 3.0, 1.0, 0.1]
    options = [(weight, step(f"{i}", 1, TEAM)) for i, weight in enumerate(odds)]
    count = Counter(trace for trace in traces(choice(*options), 50_000))
    assert fits([count[(f"{i}",)] for i in range(len(odds))], odds)


def test_loops_repeat_geometrically() -> None:
    tree = loop(0.4, step("do", 1, TEAM), step("redo", 1, TEAM))
    played = traces(tree, 50_000)
    assert all(t == ("do", *("redo", "do") * (len(t) // 2)) for t in played)
    repeats = Counter(len(t) // 2 for t in played)
    observed = [repeats[i] for i in range(6)]
    odds = [0.6 * 0.4**i for i in range(6)]
    assert fits([*observed, 50_000 - sum(observed)], [*odds, 1 - sum(odds)])


def test_parallel_parts_interleave_and_each_keeps_its_order() -> None:
    left = in_order(step("a", 1, TEAM), step("b", 1, TEAM))
    right = in_order(step("x", 1, TEAM), step("y", 1, TEAM))
    played = set(traces(in_order(parallel(left, right), step("end", 1, TEAM)), 2_000))
    assert all(t[4] == "end" and t.index("a") < t.index("b") for t in played)
    assert all(t.index("x") < t.index("y") for t in played)
    assert len(played) == 6


def test_nothing_leaves_no_event() -> None:
    tree = choice((0.5, in_order()), (0.5, step("a", 1, TEAM)))
    assert 400 < len(traces(tree, 1_000)) < 600


def orders(name: str, before: str, after: str) -> tuple[bool, bool]:
    """Whether traces with both activities ever have them in this order, and in the other."""
    both = [t for t, _ in sample(name).variants if before in t and after in t]
    straight = [t.index(before) < t.index(after) for t in both]
    return any(straight), not all(straight)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("hospital", "Triage", "Leucocytes"),
        ("hospital", "IV liquid", "IV antibiotics"),
        ("hospital", "Lactate", "Admission to ward"),
        ("hospital", "Admission to ward", "Discharge home"),
        ("hospital", "Discharge home", "Return to emergency room"),
        ("loans", "Check identity", "Create offer"),
        ("loans", "Create offer", "Send offer"),
        ("loans", "Accept offer", "Pay out"),
        ("permits", "Check completeness", "Grant permit"),
        ("permits", "Publish decision", "Receive objection"),
        ("permits", "Site visit", "Close case"),
    ],
)
def test_steps_in_order(name: str, before: str, after: str) -> None:
    assert orders(name, before, after) == (True, False)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("hospital", "Leucocytes", "Lactate"),
        ("hospital", "CRP", "Lactate"),
        ("loans", "Check identity", "Check credit history"),
        ("loans", "Check credit history", "Check income"),
        ("permits", "Advice of fire brigade", "Advice of building control"),
        ("permits", "Site visit", "Check completeness"),
    ],
)
def test_steps_side_by_side(name: str, one: str, other: str) -> None:
    assert orders(name, one, other) == (True, True)


def test_hospital_traces() -> None:
    ends = {
        "Discharge without admission",
        "Discharge home",
        "Discharge to care facility",
        "Transfer to other hospital",
        "Death",
    }
    for trace, _ in sample("hospital").variants:
        assert trace[:2] == ("Registration", "Triage")
        assert trace.count("Registration") == 1
        assert sum(step in ends for step in trace) == 1
        if trace[-1] == "Return to emergency room":
            assert trace[-2] in {"Discharge home", "Discharge to care facility"}
        else:
            assert trace[-1] in ends
        admitted = sum(step.startswith("Admission") for step in trace)
        assert admitted == ("Discharge without admission" not in trace)


def test_loans_traces() -> None:
    for trace, _ in sample("loans").variants:
        assert trace[0] == "Submit application"
        decided = {"Pay out", "Cancel application", "Decline application"} & set(trace)
        assert len(decided) == 1
        assert trace.count("Create offer") == trace.count("Send offer")
        offers, asked = trace.count("Create offer"), trace.count("Ask for other terms")
        assert asked == max(offers - 1, 0)


def test_permits_traces() -> None:
    for trace, _ in sample("permits").variants:
        assert trace[:2] == ("Receive application", "Confirm receipt")
        assert trace[-1] == "Close case"
        assert trace.count("Ask for documents") == trace.count("Receive documents")


@pytest.mark.parametrize(
    ("name", "odds"),
    [
        (
            "hospital",
            {
                "Discharge without admission": 0.15,
                "Discharge home": 0.85 * 0.85,
                "Discharge to care facility": 0.85 * 0.09,
                "Transfer to other hospital": 0.85 * 0.03,
                "Death": 0.85 * 0.03,
            },
        ),
        (
            "loans",
            {
                "Pay out": 0.85 * 0.62,
                "Cancel application": 0.85 * 0.26,
                "Decline application": 0.15 + 0.85 * 0.12,
            },
        ),
        ("permits", {"Grant permit": 0.88, "Refuse permit": 0.07, "Withdraw application": 0.05}),
    ],
)
def test_outcomes_follow_the_odds(name: str, odds: dict[str, float]) -> None:
    count = Counter(sample(name).table[ACTIVITY])
    observed = [count[outcome] for outcome in odds]
    assert sum(observed) == 10_000
    assert fits(observed, list(odds.values()))


def shape(name: str) -> tuple[int, float, float]:
    """Number of variants, share of cases in the 20 most frequent, share of unique variants."""
    counts = np.sort(sample(name).variants.counts)[::-1]
    return len(counts), counts[:20].sum() / counts.sum(), float(np.mean(counts == 1))


def test_variants_have_a_head_and_a_long_tail() -> None:
    heads = {}
    for name in NAMES:
        variants, heads[name], unique = shape(name)
        assert 300 < variants < 3_000
        assert unique > 0.4
    assert 0.45 < heads["hospital"] < 0.55
    assert heads["hospital"] < heads["loans"] < heads["permits"] < 0.9


@pytest.mark.parametrize("name", NAMES)
def test_time_goes_forward_within_a_case(name: str) -> None:
    log = sample(name)
    assert np.array_equal(log.order, np.arange(log.events))
    late = log.table.select(pl.col(TIME).diff().over(CASE).dt.total_microseconds().min()).item()
    assert late >= 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("start", [datetime(2019, 5, 16, 13, 30), datetime(1965, 1, 1)])
def test_cases_arrive_within_two_years_of_the_start(name: str, start: datetime) -> None:
    log = sample_log(name, cases=5_000, seed=3, start=start)
    first = log.table.group_by(CASE).agg(pl.col(TIME).min())[TIME].dt.replace_time_zone(None)
    earliest, latest = first.sort().to_list()[0], first.sort().to_list()[-1]
    assert start <= earliest < start + timedelta(days=10)
    assert start + timedelta(days=700) < latest < start + timedelta(days=750)


def test_the_start_is_utc_unless_it_names_a_zone() -> None:
    naive = datetime(2022, 3, 2, 1)
    east = datetime(2022, 3, 2, 3, tzinfo=timezone(timedelta(hours=2)))
    tables = [
        sample_log("loans", cases=100, seed=1, start=start).table
        for start in (naive, naive.replace(tzinfo=UTC), east)
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


@pytest.mark.parametrize("name", NAMES)
def test_nothing_happens_while_closed(name: str) -> None:
    week = PROCESSES[name].week
    busy = np.outer(week.days, week.hours) > 0
    times = sample_log(name, cases=3_000, seed=2, start=datetime(2021, 7, 8)).table[TIME]
    happened = np.zeros((7, 24), dtype=bool)
    happened[times.dt.weekday().to_numpy() - 1, times.dt.hour().to_numpy()] = True
    assert not (happened & ~busy).any()
    assert busy.all() == (name == "hospital")


def test_arrivals_follow_the_week() -> None:
    week = PROCESSES["hospital"].week
    rng = np.random.Generator(np.random.PCG64(1))
    arrivals = week.calendar(week.arrivals(rng, 50_000, weeks=10, start=100_000))
    assert (np.diff(arrivals) >= 0).all()
    assert arrivals[0] >= 100_000
    hours = np.bincount(arrivals // 3600 % 168, minlength=168)
    assert fits(hours.tolist(), np.outer(week.days, week.hours).ravel().tolist())


@pytest.mark.parametrize("name", NAMES)
def test_persons_have_one_to_five_cases(name: str) -> None:
    owners = replace(sample(name), individual=PERSON).individual_of_case
    counts = np.bincount(np.bincount(owners), minlength=6)
    assert len(counts) == 6
    assert counts[0] == 0
    assert fits(counts[1:].tolist(), list(PROCESSES[name].returning))


@pytest.mark.parametrize("name", NAMES)
def test_an_activity_is_done_by_one_team(name: str) -> None:
    team = pl.col(RESOURCE).str.replace(r" \d+$", "")
    teams = sample(name).table.group_by(ACTIVITY).agg(team.unique().len().alias("teams"))
    assert teams["teams"].max() == 1
    assert sample(name).table[RESOURCE].n_unique() > 20


@pytest.mark.parametrize("name", NAMES)
def test_the_inductive_miner_reads_a_sample(name: str) -> None:
    pm4py = pytest.importorskip("pm4py")
    frame = sample_log(name, cases=100, seed=1).table.to_pandas()
    tree = pm4py.discover_process_tree_inductive(frame)
    assert set(frame[ACTIVITY]) <= {leaf for leaf in str(tree).split("'") if leaf}
