"""The one-line way in: from a log to a release."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import polars as pl

from discreet.errors import warn
from discreet.ledger.booking import booking_for
from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.log.reading import Reading
from discreet.parameters import ParameterError
from discreet.product import product
from discreet.releases import Release


def release(
    log: EventLog | pl.DataFrame | pl.LazyFrame | str | os.PathLike[str] | Any,
    mechanism: str | None = None,
    *,
    epsilon: float = 1.0,
    times: bool | None = None,
    attributes: Sequence[str] = (),
    source: str | None = None,
    purpose: str = "",
    no_ledger: bool = False,
    allow_weak: bool = False,
    insecure_seed: int | None = None,
    **options: Any,
) -> Release:
    """Release a log, a frame or a file under differential privacy.

    With `times` the variants are completed into a whole log; `attributes` are columns to release
    with it, such as `"org:resource"` or `"case:amount:number"`. Where no mechanism is named,
    variants are headtail's, and times come with them if the log has any, unless `times=False`.

    What the holder of the log should know before it is released comes as a `DiscreetWarning`;
    made an error by a filter, it stops the release before anything is spent.

    `options` are parameters of the mechanism (`delta`, `alphabet`, …) and, unless `log` has been
    read already, options of `read_log` (`case`, `activity`, `individual`, …). As on the command
    line, where there is a ledger a release is booked on a `source`, or says `no_ledger`, and a
    budget that protects hardly anybody is refused unless `allow_weak`. `write` of what comes back
    notes on the ledger that it was written.

    Where a column looks as if it named people and single cases are protected, a PeopleWarning says
    so to the holder of the log; a TransitionsWarning, where starts and completions are read as
    events of their own.

    >>> import discreet
    >>> rows = discreet.sample_log("permits", cases=2000, seed=1).to_polars()
    >>> people = {"individual": "case:person", "cases_per_individual": 2}
    >>> release = discreet.release(rows, epsilon=1, delta=1e-6, no_ledger=True, **people)
    >>> release.guarantee.bound()
    "ε = 1, δ = 1e-06 for any one person (column 'case:person', at most 2 cases each)"
    """
    reading = {name: options.pop(name) for name in Reading.parameters() if name in options}
    if reading and isinstance(log, EventLog):
        raise ParameterError(
            f"{', '.join(reading)}: how a log is read is decided by then; give it to read_log"
        )
    given = {"epsilon": epsilon, **options}
    if attributes:
        given["attributes"] = tuple(attributes)
    asked = product(mechanism, given, times=times, reading=reading)
    if asked.types:
        reading["types"] = asked.types
    chosen = asked.mechanism
    chosen.check_people(reading.get("individual"))
    if not allow_weak:
        chosen.target.refuse_if_too_weak()
    booking = booking_for(source, purpose=purpose, bypass=no_ledger, warn=warn)
    booking.check(chosen, seeded=insecure_seed is not None)
    reading.setdefault("further", chosen.reads in ("cases", "events"))
    events = log if isinstance(log, EventLog) else read_log(log, **reading)
    return booking.release(asked.of(events), events, insecure_seed)
