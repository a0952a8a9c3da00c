"""Pairs of logs that differ in one case: what a promise of privacy is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

import polars as pl

from discreet.log.engines.view import staying
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.instants import DAY, HOUR

Trace = tuple[str, ...]
Value = str | float | datetime
START = 18_262 * DAY
"""2020-01-01 in microseconds."""


@dataclass(frozen=True)
class Case:
    """One case: its activities, when it begins, the time between its events, further values."""

    trace: Trace
    start: int = START
    step: int = HOUR
    values: Mapping[str, Value] = field(default_factory=dict)
    """Further columns, the same for all of its events."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring logs: common cases, and what only the first or only the second has."""

    name: str
    story: str
    common: Mapping[Trace, int]
    added: Case
    removed: Case | None = None
    public: Mapping[str, object] = field(default_factory=dict)
    """Parameters under which its logs are easiest to tell apart, unless they are given."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Further columns of the common cases."""
    values_of: Mapping[Trace, Mapping[str, Value]] = field(default_factory=dict)
    """Further columns of the common cases of a trace, where they have others."""
    canaries: tuple[Trace, ...] = ()
    """For audits in one run: cases that are each put in or left out by a coin."""
    in_engine: bool = False
    """Whether the variants stay in an engine, as those of a log with millions do."""

    @classmethod
    def told(cls, name: str, story: str, change: str, **more: Any) -> Pair:
        """A pair of one-letter activities in short: "8 ab, 3 ac + ad" gets a case ad.

        "8 ab, 3 ac + ad - ac" gets it in place of a further case ac.
        """
        common, _, cases = change.partition("+")
        added, _, removed = cases.partition("-")
        words = [part.split() for part in common.split(",") if part.strip()]
        more["removed"] = Case(tuple(removed.strip())) if removed else None
        traces = {tuple(word): int(count) for count, word in words}
        return cls(name, story, traces, Case(tuple(added.strip())), **more)

    def instead_of(self, word: str) -> Pair:
        """The same pair with the case in place of an ordinary one, of one-letter activities."""
        return replace(
            self,
            name=f"swap: {self.name}",
            story=f"{self.story}; in place of an ordinary case",
            removed=Case(tuple(word)),
        )

    @property
    def neighbours(self) -> Literal["add-remove", "swap"]:
        """How the two logs are related."""
        return "add-remove" if self.removed is None else "swap"

    def fits(self, neighbours: Literal["add-remove", "swap"]) -> bool:
        """Whether it could contradict a promise for such neighbours; canaries fit either."""
        return bool(self.canaries) or self.neighbours == neighbours

    @cached_property
    def logs(self) -> tuple[EventLog, EventLog]:
        """The log without and the log with the added case."""
        base = [
            Case(
                trace, START + DAY * number, values={**self.values, **self.values_of.get(trace, {})}
            )
            for number, trace in enumerate(
                t for t, count in self.common.items() for _ in range(count)
            )
        ]
        columns = tuple(self.values)
        first = [*base, self.removed] if self.removed else base
        without, added = (make_log(cases, columns) for cases in (first, [*base, self.added]))
        return (staying(without), staying(added)) if self.in_engine else (without, added)

    @cached_property
    def alphabet(self) -> tuple[str, ...]:
        """All activities of both logs: what an audit declares as public."""
        labels = {label for log in self.logs for label in log.activities}
        return tuple(sorted(labels.union(*self.canaries)))

    @property
    def appears(self) -> Trace | None:
        """The trace that the added case brings and the first log does not have."""
        known = self.added.trace in self.common
        return None if known or self.added == self.removed else self.added.trace

    def describe(self) -> str:
        """Both logs in one line."""
        parts = [f"{count}× {arrow(trace)}" for trace, count in self.common.items()]
        if len(parts) > 8:
            parts = [*parts[:6], f"{len(parts) - 6} further variants"]
        change = f"plus {arrow(self.added.trace)}"
        if self.removed is not None:
            change = f"{arrow(self.removed.trace)} replaced by {arrow(self.added.trace)}"
        return f"{', '.join(parts) or 'no case'}; {change}"


def make_log(cases: Sequence[Case], columns: Sequence[str] = ()) -> EventLog:
    """A log of these cases, numbered, with these further columns."""
    rows = [
        (str(number), label, case.start + place * case.step, *map(case.values.get, columns))
        for number, case in enumerate(cases)
        for place, label in enumerate(case.trace)
    ]
    found = list(zip(*rows, strict=True)) or [()] * (3 + len(columns))
    return EventLog.from_table(
        pl.DataFrame(
            {
                CASE: pl.Series(found[0], dtype=pl.String),
                ACTIVITY: pl.Series(found[1], dtype=pl.String),
                TIME: pl.Series(found[2], dtype=pl.Int64).cast(pl.Datetime("us", "UTC")),
                **{
                    column: pl.Series(values, dtype=None if values else pl.String)
                    for column, values in zip(columns, found[3:], strict=True)
                },
            }
        )
    )


def arrow(trace: Sequence[str]) -> str:
    """A trace for people: ⟨a, b ×30, c⟩."""
    runs = [(label, len(list(same))) for label, same in groupby(trace)]
    words = [a if n == 1 else f"{a} ×{n}" for a, n in runs]
    if len(words) > 12:
        words = [*words[:6], f"… {len(trace)} events"]
    return "⟨" + ", ".join(words) + "⟩"


def traces(*words: str | int) -> dict[Trace, int]:
    """Traces of one-letter activities with their counts: "ab", 3, "ac", 1."""
    return {tuple(str(words[i])): int(words[i + 1]) for i in range(0, len(words), 2)}
