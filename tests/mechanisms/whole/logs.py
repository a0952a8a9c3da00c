"""Small logs with times and attributes, for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.instants import microseconds
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.timelines import FIRST, LAST

START = datetime(2021, 3, 1, 8, tzinfo=UTC)
WORKING = {"check": 0.05, "decide": 1.5, "unheard of": 300.0}
"""Hours that an activity takes."""

WEIGHTS = {"register": 3.0, "check": 200.0}
"""About how much an event of an activity weighs."""

Event = tuple[str, float, str | None, float | None]
"""Activity, hours since `START`, resource, amount of the case."""


def log_of(cases: list[list[Event]], people: list[str] | None = None) -> EventLog:
    """A log of such cases, each of a person if these are named."""
    rows = [
        (
            f"c{i}",
            activity,
            START + timedelta(hours=hours),
            resource,
            amount,
            START + timedelta(hours=hours - WORKING.get(activity, 0)),
            None if amount is None else "large" if amount > 99 else "small",
            WEIGHTS.get(activity, 0.5) * (1 + i % 7),
        )
        for i, case in enumerate(cases)
        for activity, hours, resource, amount in case
    ]
    table = pl.DataFrame(
        rows,
        schema={
            CASE: pl.String,
            ACTIVITY: pl.String,
            TIME: pl.Datetime("us", "UTC"),
            "org:resource": pl.String,
            "case:amount": pl.Float64,
            "start_timestamp": pl.Datetime("us", "UTC"),
            "case:kind": pl.String,
            "weight": pl.Float64,
        },
        orient="row",
    )
    if people is None:
        return EventLog.from_table(table)
    owner = [person for person, case in zip(people, cases, strict=True) for _ in case]
    return EventLog.from_table(table.with_columns(person=pl.Series(owner)), individual="person")


def office(cases: int, seed: int = 1) -> list[list[Event]]:
    """Cases that start in office hours; checks take minutes, decisions days, letters no time."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(cases):
        week, day = int(rng.integers(40)), int(rng.integers(5))
        at = 24 * (7 * week + day) + float(rng.uniform(0, 8))
        amount = float(rng.choice([50, 100, 100, 250])) if rng.random() < 0.7 else None
        who = str(rng.choice(["ann", "bob"]))
        case: list[Event] = [("register", at, who, amount)]
        at += float(rng.uniform(0.1, 0.5))
        case.append(("check", at, who, amount))
        at = 24 * (at // 24 + int(rng.integers(2, 5))) + float(rng.uniform(0, 8))
        case.append(("decide", at, "eve", amount))
        if rng.random() < 0.6:
            case.append(("letter", at, None, amount))
        found.append(case)
    return found


def released(cases: list[list[Event]], epsilon: float = 5.0, **parameters: Any) -> EventLog:
    found = Whole(epsilon=epsilon, **parameters).release(log_of(cases)).artefact
    assert isinstance(found, EventLog)
    return found


def in_order(log: EventLog) -> bool:
    times = microseconds(log)
    waits = np.diff(times)
    waits[log.offsets[1:-1] - 1] = 0
    return bool((waits >= 0).all() and (times >= FIRST).all() and (times <= LAST).all())
