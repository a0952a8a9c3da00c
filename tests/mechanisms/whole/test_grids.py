from __future__ import annotations

import numpy as np
import pytest

from discreet.log.instants import DAY
from discreet.mechanisms.whole.grids import (
    FIRST_DAY,
    HALF_DAY,
    WAIT_CELLS,
    day_bounds,
    short_bounds,
    wait_cells,
    wait_grid,
)  # fmt: skip


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
