from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from discreet.log.instants import DAY, HOUR
from discreet.mechanisms.whole.timelines import Clock


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
