"""From variants back to a log of cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.variants import Variants, spans


def expand(variants: Variants, order: Ints, names: Sequence[str]) -> EventLog:
    """One case per count, in the given order and under the given names.

    Times are plainly artificial: every case begins on 1970-01-01 and takes a second per event.
    """
    chosen = np.repeat(np.arange(len(variants)), variants.counts)[order]
    positions, offsets = spans(variants.offsets, chosen)
    lengths = np.diff(offsets)
    seconds = np.arange(len(positions)) - np.repeat(offsets[:-1], lengths)
    case = np.repeat(np.arange(len(chosen)), lengths)
    labels = pl.Series(variants.activities, dtype=pl.String)
    table = pl.DataFrame(
        {
            CASE: pl.Series(names, dtype=pl.String).gather(case),
            ACTIVITY: labels.gather(variants.codes[positions].astype(np.int64)),
            TIME: pl.Series(seconds * 1_000_000, dtype=pl.Int64).cast(pl.Datetime("us", "UTC")),
        }
    )
    return EventLog.from_table(table)
