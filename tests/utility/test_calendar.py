from __future__ import annotations

import numpy as np
import pytest

from discreet.utility.calendar import MEASURES, Timed, remaining_error, total_variation, wait_error
from tests.mechanisms.whole.logs import Event, log_of, office


def shifted(cases: list[list[Event]], hours: float, stretch: float = 1.0) -> list[list[Event]]:
    return [
        [(a, case[0][1] + hours + stretch * (at - case[0][1]), who, n) for a, at, who, n in case]
        for case in cases
    ]


def test_a_log_is_no_distance_from_itself() -> None:
    log = Timed(log_of(office(200)))
    for name, (measure, meaning) in MEASURES.items():
        assert meaning
        if name != "remaining_time_error":
            assert measure(log, log) == 0.0


def test_waits_that_are_twice_as_long_are_seen() -> None:
    cases = office(300)
    log, other = Timed(log_of(cases)), Timed(log_of(shifted(cases, 0, 2.0)))
    assert wait_error(log, other, 0.5) == pytest.approx(1.0)
    assert MEASURES["duration_log_distance"][0](log, other) == pytest.approx(np.log(2), rel=0.01)


def test_a_relation_that_is_lacking_counts_as_lost() -> None:
    cases = office(300)
    log = Timed(log_of(cases))
    assert wait_error(log, Timed(log_of([case[:1] for case in cases])), 0.5) == 1.0


def test_shifted_calendars_are_seen() -> None:
    cases = office(300)
    log, other = Timed(log_of(cases)), Timed(log_of(shifted(cases, 12)))
    assert MEASURES["week_hour_distance"][0](log, other) > 0.8
    later = Timed(log_of(shifted(cases, 24 * 7 * 100)))
    assert MEASURES["start_week_distance"][0](log, later) == 1.0
    assert total_variation(np.array([1, 1, 2]), np.array([1, 2, 2])) == pytest.approx(1 / 3)


def test_remaining_times_are_predicted_from_the_release() -> None:
    cases = office(400)
    log = Timed(log_of(cases))
    own = remaining_error(log, log)
    assert 0 < own < remaining_error(log, Timed(log_of(shifted(cases, 0, 4.0))))
