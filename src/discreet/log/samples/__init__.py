"""Sample logs: invented, realistic, of any size, free of anyone's data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import ceil

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog
from discreet.log.samples.catalogue import PROCESSES
from discreet.log.samples.simulator import Stage

__all__ = ["PERSON", "RESOURCE", "SAMPLES", "sample_log"]

PERSON = "case:person"
RESOURCE = "org:resource"

SAMPLES = {name: process.description for name, process in PROCESSES.items()}

_WEEKS = 104


def sample_log(
    name: str, *, cases: int = 10_000, seed: int | None = None, start: datetime | None = None
) -> EventLog:
    """An invented log of the process `name`, one of `SAMPLES`.

    Cases arrive within two years of `start` (by default the beginning of 2024; UTC where it
    names no zone), so more cases make a busier organisation. The column `case:person` says
    whose case it is, some persons having several. The same seed gives the same log under the
    same versions of this library and of NumPy; without a seed every log is new.
    """
    if name not in PROCESSES:
        raise LogError(f"there is no sample {name!r}: choose one of {', '.join(SAMPLES)}")
    if cases < 1:
        raise LogError(f"a sample needs at least one case, not {cases}")
    process = PROCESSES[name]
    rng = np.random.Generator(np.random.PCG64(seed))
    begin = datetime(2024, 1, 1, tzinfo=UTC) if start is None else start
    begin = begin.astimezone(UTC) if begin.tzinfo else begin.replace(tzinfo=UTC)
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = midnight - timedelta(days=begin.weekday())
    stage = Stage(rng)
    arrivals = process.week.arrivals(rng, cases, _WEEKS, ceil((begin - monday).total_seconds()))
    process.behaviour(stage, np.arange(cases, dtype=np.int64), arrivals)
    events = stage.history()
    persons = _persons(rng, cases, process.returning)
    epoch = (monday - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    micros = epoch + 1_000_000 * process.week.calendar(events["second"].to_numpy())
    table = pl.DataFrame(
        {
            CASE: _numbered("C", np.arange(cases, dtype=np.int64)).gather(events["case"]),
            ACTIVITY: events["activity"],
            TIME: pl.Series(micros).cast(pl.Datetime("us", "UTC")),
            RESOURCE: events["resource"],
            LIFECYCLE: pl.repeat("complete", len(micros), eager=True),
            PERSON: _numbered("P", persons).gather(events["case"]),
        }
    )
    return EventLog.from_table(table, attributes={ACTIVITY: f"{name} (synthetic sample)"})


def _persons(rng: np.random.Generator, cases: int, returning: tuple[float, ...]) -> Integers:
    """The person of each case; a person's cases are spread over the whole log."""
    owned = 1 + rng.choice(len(returning), size=cases, p=returning)
    return rng.permutation(np.repeat(np.arange(cases), owned)[:cases])


def _numbered(prefix: str, numbers: Integers) -> pl.Series:
    """Identifiers of equal length, so that they sort as their numbers do."""
    digits = len(str(len(numbers)))
    return prefix + pl.Series(numbers + 1).cast(pl.String).str.zfill(digits)
