from __future__ import annotations

import numpy as np
import pytest

from discreet.log.instants import microseconds, since_start
from discreet.mechanisms.whole import Whole
from discreet.utility.calendar import MEASURES, Timed
from tests.mechanisms.whole.logs import Event, in_order, log_of, office, released


def test_events_are_in_order_and_in_the_stretch() -> None:
    log = released(office(1500))
    assert log.cases > 1000
    assert in_order(log)


def test_a_huge_budget_converges() -> None:
    log = log_of(office(4000))
    found = Whole(epsilon=100_000, variants="travas").release(log).artefact
    figures = {name: measure(Timed(log), Timed(found)) for name, (measure, _) in MEASURES.items()}
    assert figures["wait_median_error"] < 0.05
    assert figures["wait_p90_error"] < 0.08
    assert figures["duration_log_distance"] < 0.05
    assert figures["start_week_distance"] < 0.1
    assert figures["week_hour_distance"] < 0.1


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


def test_a_log_that_is_drawn_in_parts_is_like_one_that_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = log_of(office(1500))
    chosen = Whole(epsilon=1e4, variants="travas", attributes=("org:resource",))
    whole = chosen.release(log, insecure_seed=1).log()
    monkeypatch.setattr("discreet.mechanisms.whole.distributions.AT_ONCE", 500)
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
