from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from discreet.log.events import TIME
from discreet.log.instants import DAY, HOUR, MONDAY, microseconds
from discreet.utility.calendar import Timed
from tests.mechanisms.whole.logs import Event, log_of, office, released


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
