"""A log from parts that are already in order: names, activities, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog


def assemble(
    names: Sequence[str],
    activities: Sequence[str],
    codes: Ints,
    offsets: Ints,
    times: Ints,
    columns: Mapping[str, pl.Series] | None = None,
) -> EventLog:
    """Case `i`, called `names[i]`, has the events `codes[offsets[i]:offsets[i + 1]]`.

    `times` are microseconds since 1970, never decreasing within a case. Activities that do not
    occur are left out.
    """
    used = np.flatnonzero(np.bincount(codes, minlength=len(activities))).tolist()
    labels = pl.Series([activities[code] for code in used], dtype=pl.String)
    recode = np.zeros(len(activities), dtype=np.int64)
    recode[used] = np.arange(len(used))
    fresh = recode[codes]
    case = np.repeat(np.arange(len(names)), np.diff(offsets))
    table = pl.DataFrame(
        {
            CASE: pl.Series(names, dtype=pl.String).gather(case),
            ACTIVITY: labels.gather(fresh),
            TIME: pl.Series(times, dtype=pl.Int64).cast(pl.Datetime("us", "UTC")),
            **(columns or {}),
        }
    )
    return EventLog(
        table=table,
        order=np.arange(len(codes)),
        activities=tuple(labels),
        codes=fresh.astype(np.int32),
        offsets=np.asarray(offsets, dtype=np.int64),
    )
