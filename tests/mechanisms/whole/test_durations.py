from __future__ import annotations

import numpy as np

from discreet.mechanisms.whole.durations import rows_of_relations, short_durations
from discreet.mechanisms.whole.grids import FIRST_DAY, MILLISECOND, short_bounds, wait_cells
from discreet.mechanisms.whole.released_variants import ReleasedVariants
from discreet.privacy.randomness import Randomness
from tests.mechanisms.whole.logs import Event, log_of


def test_short_durations_are_whole_milliseconds_of_their_cells() -> None:
    cells = np.repeat(np.arange(1, FIRST_DAY), 50)
    drawn = short_durations(cells, Randomness.seeded(1))
    assert (drawn % MILLISECOND == 0).all()
    low, high = (bound[cells] for bound in short_bounds())
    assert (np.maximum(low, MILLISECOND) - MILLISECOND < drawn).all()
    assert (drawn <= high).all()
    again = wait_cells(drawn, np.zeros_like(drawn))
    assert (np.abs(again - cells) <= 1).all()  # a millisecond less may be the cell before
    assert (again == cells).mean() > 0.9


def test_rare_relations_share_a_row_with_others_of_their_target() -> None:
    def case(word: str) -> list[Event]:
        return [(activity, float(i), None, None) for i, activity in enumerate(word)]

    words = ["ab"] * 50 + ["cb"] * 8 + ["db"] * 8 + ["ac"] * 3 + ["ad"] * 3
    released = ReleasedVariants.of(log_of([case(word) for word in words]).variants)
    rows = rows_of_relations(released, 10.0)
    labels = released.variants.activities
    row = {
        labels[source] + labels[target]: number
        for source, target, number in zip(
            released.sources.tolist(), released.targets.tolist(), rows.tolist(), strict=True
        )
    }
    assert row["cb"] == row["db"]
    assert row["ac"] == row["ad"]
    assert len({row["ab"], row["cb"], row["ac"]}) == 3
