from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, TIME, EventLog
from discreet.log.instants import HOUR, microseconds
from discreet.mechanisms.whole import Whole
from tests.mechanisms.whole.logs import WORKING, log_of, office


def worked(log: EventLog, activity: str) -> pl.Series:
    """Hours of work of the events of an activity."""
    events = log.table.filter(pl.col(ACTIVITY) == activity)
    return (events[TIME] - events["start_timestamp"]).dt.total_microseconds() / HOUR


def test_working_times_are_apart_from_waits() -> None:
    log = Whole(epsilon=20, begun="start_timestamp").release(log_of(office(2000))).artefact
    assert isinstance(log, EventLog)
    for activity in ("check", "decide"):
        assert worked(log, activity).median() == pytest.approx(WORKING[activity], rel=0.3)
    # If all 13 other groups passed for real, noise of deviation 4 would fill them with 21 ± 8 of
    # the 2,000 events: 100 are nine deviations away.
    assert (worked(log, "register") == 0).to_numpy().mean() > 0.95
    begun = log.table["start_timestamp"].gather(log.order).to_physical().to_numpy()
    ends = microseconds(log)
    assert (begun <= ends).all()
    second = np.setdiff1d(np.arange(log.events), log.offsets[:-1])
    assert (begun[second] < ends[second - 1]).mean() < 0.05


def test_a_column_that_is_no_time_is_refused() -> None:
    with pytest.raises(LogError, match="--types org:resource:date"):
        Whole(begun="org:resource").check(log_of(office(5)))
    with pytest.raises(LogError, match="no column 'began'"):
        Whole(begun="began").check(log_of(office(5)))
