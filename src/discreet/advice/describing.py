"""The exact figures of a log and of each of its columns, for its holder."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from discreet.log.cautions import cautions, people_in, transitions_in
from discreet.log.columns import WORDS
from discreet.log.datatypes import xes_type
from discreet.log.events import EventLog


def describe(log: EventLog, frequent: int = 5) -> dict[str, Any]:
    """The exact figures of a log, for its holder."""
    variants = log.counted
    lengths = np.repeat(variants.lengths, variants.counts)
    top = variants.take(np.argsort(-variants.counts, kind="stable")[:frequent])
    period = log.period()
    people, transitions = people_in(log), transitions_in(log)
    named = people is not None and people.named
    return {
        "cases": log.cases,
        "events": log.events,
        "activities": len(log.activities),
        "variants": len(variants),
        "unique_cases": float((variants.counts == 1).sum() / log.cases),
        "length": {
            "min": int(lengths.min()),
            "median": float(np.median(lengths)),
            "max": int(lengths.max()),
        },
        "first": None if period is None else _moment(period[0]),
        "last": None if period is None else _moment(period[1]),
        "times": log.clocks.to_dict(),
        "columns": _columns(log),
        "individuals": people.people if people is not None and named else None,
        "most_cases_per_individual": people.most if people is not None and named else None,
        "people": None if people is None else asdict(people),
        "transitions": None
        if transitions is None
        else asdict(transitions) | {"offered": transitions.offered},
        "cautions": [str(one) for one in cautions(log)],
        "frequent": [{"sequence": list(sequence), "count": count} for sequence, count in top],
    }


def _moment(microseconds: int) -> str:
    return str(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds))


def _columns(log: EventLog) -> list[dict[str, str | None]]:
    """The name of each column in the file, what it was taken as, and its type."""
    words = {"string": "text", "int": "integer", "float": "number"}
    found: list[dict[str, str | None]] = []
    for values in log.schema():
        roles = [WORDS[values.name]] if values.name in WORDS else []
        roles += ["individual"] if values.name == log.individual else []
        kind = xes_type(values)
        found.append(
            {
                "name": log.names.get(values.name, values.name.removeprefix("original:")),
                "role": " and ".join(roles) or None,
                "type": words.get(kind, kind),
            }
        )
    return found
