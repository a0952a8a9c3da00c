"""The one-line way in: from a log to a release."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Sequence
from typing import Any

import polars as pl

from discreet.ledger.booking import booking_for
from discreet.log.events import EventLog
from discreet.log.reading import read_log
from discreet.mechanisms import DEFAULT_MECHANISM
from discreet.mechanisms.parameters import ParameterError
from discreet.mechanisms.registry import mechanism as build
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

    `options` are parameters of the mechanism (`delta`, `alphabet`, …) and, unless `log` has been
    read already, options of `read_log` (`case`, `activity`, `individual`, …). As on the command
    line, where there is a ledger a release is booked on a `source`, or says `no_ledger`, and a
    budget that protects hardly anybody is refused unless `allow_weak`.

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
    known = inspect.signature(read_log).parameters
    reading = {name: options.pop(name) for name in list(options) if name in known}
    if reading and isinstance(log, EventLog):
        raise ParameterError(
            f"{', '.join(reading)}: how a log is read is decided by then; give it to read_log"
        )
    from discreet.wholelogs.asking import completed

    unasked = mechanism is None and times is None
    plain = mechanism or DEFAULT_MECHANISM
    asked = options | ({"attributes": tuple(attributes)} if attributes else {})
    name, given, types = completed(plain, asked, reading, times=unasked or bool(times))
    if types and not isinstance(log, EventLog):
        reading["types"] = types
    chosen = build(name, epsilon=epsilon, **given)
    chosen.check_people(reading.get("individual"))
    if not allow_weak:
        chosen.target.refuse_if_too_weak()
    booking = booking_for(source, purpose=purpose, bypass=no_ledger)
    booking.check(chosen, seeded=insecure_seed is not None)
    reading.setdefault("further", chosen.reads in ("cases", "events"))
    events = log if isinstance(log, EventLog) else read_log(log, **reading)
    if unasked and not events.has_times and not attributes:
        chosen = build(plain, epsilon=epsilon, **options)
    for caution in chosen.cautions(events):
        warnings.warn(caution, stacklevel=2)
    return booking.release(chosen, events, insecure_seed)
