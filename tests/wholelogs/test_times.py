from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.events import TIME, EventLog
from discreet.log.instants import DAY, HOUR, MONDAY, microseconds, since_start
from discreet.parameters import ParameterError
from discreet.utility.calendar import MEASURES, Timed
from discreet.wholelogs import Whole
from discreet.wholelogs.clock import FIRST, LAST, Clock
from discreet.wholelogs.grids import (
    FIRST_DAY,
    HALF_DAY,
    WAIT_CELLS,
    day_bounds,
    short_bounds,
    wait_cells,
    wait_grid,
)  # fmt: skip
from tests.wholelogs.logs import Event, log_of, office


def released(cases: list[list[Event]], epsilon: float = 5.0, **parameters: Any) -> EventLog:
    found = Whole(epsilon=epsilon, **parameters).release(log_of(cases)).artefact
    assert isinstance(found, EventLog)
    return found


def in_order(log: EventLog) -> bool:
    times = microseconds(log)
    waits = np.diff(times)
    waits[log.offsets[1:-1] - 1] = 0
    return bool((waits >= 0).all() and (times >= FIRST).all() and (times <= LAST).all())


def test_events_are_in_order_and_in_the_stretch() -> None:
    log = released(office(1500))
    assert log.cases > 1000
    assert in_order(log)


def test_weekdays_hours_and_equal_timestamps_are_kept() -> None:
    cases = office(3000)
    log = released(cases, 10.0)
    raw = log_of(cases)
    weekend, hours = [], []
    for one in (raw, log):
        since = microseconds(one) - MONDAY
        weekend.append((since // DAY % 7 >= 5).mean())
        hours.append(((since // HOUR % 24 >= 8) & (since // HOUR % 24 < 17)).mean())
    assert weekend[1] == pytest.approx(weekend[0], abs=0.05)
    assert hours[1] == pytest.approx(hours[0], abs=0.05)
    assert ((microseconds(log)[log.offsets[:-1]] - MONDAY) // DAY % 7 < 5).mean() > 0.97
    true, given = (Timed(one).waits["decide", "letter"] for one in (raw, log))
    assert (true == 0).all()
    assert (given == 0).mean() > 0.9


def test_a_huge_budget_converges() -> None:
    log = log_of(office(4000))
    found = Whole(epsilon=100_000, variants="travas").release(log).artefact
    figures = {name: measure(Timed(log), Timed(found)) for name, (measure, _) in MEASURES.items()}
    assert figures["wait_median_error"] < 0.05
    assert figures["wait_p90_error"] < 0.08
    assert figures["duration_log_distance"] < 0.05
    assert figures["start_week_distance"] < 0.1
    assert figures["week_hour_distance"] < 0.1


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "America/St_Johns", "Australia/Lord_Howe"])
def test_clock_agrees_with_the_zone(zone: str) -> None:
    clock = Clock(zone)
    instants = np.arange(0, 60 * 365 * DAY, 977 * HOUR + 1_234_567)
    wall = clock.wall(instants)
    for instant, shown in zip(instants[::7].tolist(), wall[::7].tolist(), strict=True):
        moment = datetime.fromtimestamp(instant // 1_000_000, UTC)
        offset = moment.astimezone(ZoneInfo(zone)).utcoffset()
        assert offset is not None
        if moment.year >= 1975:
            assert shown - instant == offset.total_seconds() * 1_000_000
    back = clock.instants(wall)
    assert (np.abs(back - instants) <= HOUR).all()
    assert (back == instants).mean() > 0.99


def test_office_hours_follow_daylight_saving() -> None:
    def local(week: int, hour: float) -> float:
        at = datetime(2021, 3, 1, tzinfo=ZoneInfo("Europe/Amsterdam"))
        start = datetime(2021, 3, 1, 8, tzinfo=UTC)
        day = at.toordinal() + 7 * week
        moment = datetime.fromordinal(day).replace(hour=int(hour), tzinfo=at.tzinfo)
        return (moment - start).total_seconds() / 3600

    cases: list[list[Event]] = [
        [("open", local(i % 40, 9), None, None), ("close", local(i % 40 + 1, 16), None, None)]
        for i in range(2000)
    ]
    log = released(cases, 20.0, zone="Europe/Amsterdam")
    hours = log.table[TIME].dt.convert_time_zone("Europe/Amsterdam").dt.hour()
    assert hours.is_in([9, 16]).to_numpy().mean() > 0.97


def test_grid_of_waits_is_a_partition() -> None:
    low, high = short_bounds()
    assert (low[1:] < high[1:]).all()
    assert (high[1:-1] == low[2:]).all()
    assert high[-1] == pytest.approx(HALF_DAY, rel=0.5)
    first, last = day_bounds()
    assert (first[1:] == last[:-1] + 1).all()
    days = np.arange(0, 20_000)
    cells = wait_cells(days * DAY + HALF_DAY, days)
    assert (first[cells - FIRST_DAY] <= days).all()
    assert (days <= last[cells - FIRST_DAY]).all()
    assert wait_cells(np.array([0]), np.array([0]))[0] == 0
    assert len(wait_grid().width) == WAIT_CELLS
    assert wait_grid().width.sum() == pytest.approx(1)


ONE_MINUTE: list[list[Event]] = [
    [("a", i % 60 / 3600, None, None), ("b", (i % 60 + 0.5) / 3600, None, None)] for i in range(900)
]
DEGENERATE: dict[str, list[list[Event]]] = {
    "constant": [[("a", 0.0, None, None), ("b", 0.0, None, None)]] * 900,
    "one relation": [[("a", float(i), None, None), ("a", i + 2.0, None, None)] for i in range(900)],
    "single events": [[("a", float(i), None, None)] for i in range(900)],
    "one minute": ONE_MINUTE,
    "a century": [
        [("a", -600_000.0 + 900 * i, None, None), ("b", -500_000.0 + 900 * i, None, None)]
        for i in range(900)
    ],
    "400 activities": [
        [(f"a{i % 400}", float(i), None, None), (f"a{(i + 1) % 400}", i + 1.0, None, None)]
        for i in range(4000)
    ],
    "few": office(3),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("epsilon", [0.1, 50.0])
def test_odd_logs_give_sensible_releases(name: str, epsilon: float) -> None:
    variants = "travas" if name == "400 activities" else "headtail"
    log = released(DEGENERATE[name], epsilon, variants=variants)
    assert in_order(log)
    if name == "constant" and epsilon > 1:
        assert log.cases
        times = microseconds(log)
        assert (np.diff(times)[::2] == 0).mean() > 0.9
    if name == "one minute" and epsilon > 1:
        assert np.median(Timed(log).waits["a", "b"]) == pytest.approx(0.5, rel=0.4)


def test_a_log_without_times_is_refused() -> None:
    log = log_of(office(5))
    bare = EventLog.from_table(log.table.drop(TIME))
    with pytest.raises(LogError, match="no timestamps"):
        Whole().release(bare)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"zone": "Middle/Earth"}, "no time zone"),
        ({"variants": "dpim"}, "does not return variants"),
        ({"variants": "whole"}, "does not return variants"),
        ({"options": "epsilon=3"}, "parameter of whole itself"),
        ({"options": "colour=3"}, "no parameter 'colour'"),
        ({"options": "colour"}, "name=value"),
        ({"attributes": "concept:name"}, "no further column"),
        ({"attributes": "a,a:number"}, "named twice"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(
    parameters: dict[str, str], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        Whole(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("variants", "options"),
    [
        ("travas", ()),
        ("laplace", ()),
        ("sacofa", ("rules=learn",)),
        ("sapa", ()),
        ("headtail", ()),
        ("choice", ("candidates=travas,laplace",)),
        ("sequence", ("steps=3",)),
        ("ddpm", ("steps=3", "cases=50")),
        ("travag", ("steps=3", "cases=50")),
    ],
)
def test_works_on_the_variants_of(variants: str, options: tuple[str, ...]) -> None:
    if variants in ("sequence", "ddpm", "travag"):
        pytest.importorskip("torch")
    labels = ("register", "check", "decide", "letter")
    log = released(office(150), 60.0, variants=variants, alphabet=labels, options=options)
    assert log.cases
    assert in_order(log)


@pytest.mark.filterwarnings("ignore:In the current version, the import")
@pytest.mark.filterwarnings("ignore:Constructing a DataFrame from a list of sequences")
def test_pm4py_analyses_the_release(tmp_path: Path) -> None:
    pm4py = pytest.importorskip("pm4py")
    path = tmp_path / "shared.xes"
    Whole(epsilon=8.0, attributes="org:resource").release(log_of(office(800))).write(path)
    frame = pm4py.format_dataframe(pm4py.read_xes(str(path), return_legacy_log_object=False))
    performance, starts, ends = pm4py.discover_performance_dfg(frame)
    assert ("register", "check") in performance
    assert 300 < performance["register", "check"]["median"] < 3600
    assert starts
    assert ends
    named = frame.dropna(subset=["org:resource"])  # PM4Py sorts names, and fails where one lacks
    network = pm4py.discover_handover_of_work_network(named.reset_index(drop=True))
    assert {"ann", "eve"} <= {name for pair in network.connections for name in pair}
    if shutil.which("neato"):  # PM4Py draws with Graphviz
        picture = tmp_path / "dots.svg"
        pm4py.save_vis_dotted_chart(frame, str(picture))
        assert picture.stat().st_size > 1000


def test_individuals_are_protected_at_the_price_of_groups() -> None:
    table = log_of(office(600)).table
    person = pl.Series("case:person", [name[:-1] for name in table["case:concept:name"]])
    log = EventLog.from_table(table.with_columns(person), individual="case:person")
    mechanism = Whole(epsilon=30.0, cases_per_individual=3)
    done = mechanism.release(log)
    assert done.guarantee.unit == "individual"
    assert isinstance(done.artefact, EventLog)
    assert 0 < done.artefact.cases < 400
    assert in_order(done.artefact)


def test_table_has_only_what_was_asked_for() -> None:
    log = released(office(300))
    assert log.table.columns == ["case:concept:name", "concept:name", TIME]
    assert isinstance(log.table[TIME].dtype, pl.Datetime)


def test_a_log_that_is_drawn_in_parts_is_like_one_that_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = log_of(office(1500))
    chosen = Whole(epsilon=1e4, variants="travas", attributes=("org:resource",))
    whole = chosen.release(log, insecure_seed=1).log()
    monkeypatch.setattr("discreet.wholelogs.sampling.AT_ONCE", 500)
    parts = chosen.release(log, insecure_seed=1).log()
    assert parts.variants == whole.variants
    for one in (whole, parts):
        ticks = microseconds(one)
        second = np.setdiff1d(np.arange(one.events), one.offsets[:-1])
        assert (ticks[second] >= ticks[second - 1]).all()
    first, second = (np.sort(since_start(one)) for one in (whole, parts))
    assert np.median(second) == pytest.approx(np.median(first), rel=0.2)
    shares = [
        one.table["org:resource"].value_counts(normalize=True).sort("org:resource")
        for one in (whole, parts)
    ]
    assert shares[0]["org:resource"].equals(shares[1]["org:resource"])
    assert shares[1]["proportion"].to_numpy() == pytest.approx(
        shares[0]["proportion"].to_numpy(), abs=0.05
    )
