"""Rows of a lifecycle: whether an activity comes out once for each of its transitions."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, EventLog

_USUAL = "complete"


@dataclass(frozen=True)
class Transitions:
    """The column of the lifecycle; what it says is empty where it is not in this process."""

    column: str
    events: dict[str, int]
    """How many events each transition has, the most frequent first."""
    repeating: float | None = None
    """The share of the cases in which some activity comes more than once."""
    alone: float | None = None
    """The same if only events of the transition that is offered are kept."""

    @property
    def offered(self) -> str:
        """The transition that may stand for the others."""
        usual = (name for name in self.events if name.casefold() == _USUAL)
        return next(usual, next(iter(self.events), _USUAL))


def transitions_in(log: EventLog) -> Transitions | None:
    """The transitions of a log whose events are read as if there were none; None if all is well."""
    if log.classifier != "activity" or log.transitions or LIFECYCLE not in log.schema().columns:
        return None
    column = log.names.get(LIFECYCLE, LIFECYCLE)
    rows = log.at_hand(CASE, ACTIVITY, LIFECYCLE)
    if rows is None:
        return Transitions(column, {})
    many = rows[LIFECYCLE].drop_nulls().value_counts(sort=True)
    if many.height < 2:
        return None
    found = Transitions(column, dict(many.iter_rows()))
    only = rows.filter(pl.col(LIFECYCLE).is_null() | (pl.col(LIFECYCLE) == found.offered))
    return Transitions(column, found.events, _repeating(rows), _repeating(only))


def _repeating(rows: pl.DataFrame) -> float:
    """The share of the cases in which some activity comes more than once."""
    each = rows.group_by(CASE).agg((pl.len() > pl.col(ACTIVITY).n_unique()).alias("repeats"))
    return float(each["repeats"].mean() or 0.0)  # type: ignore[arg-type]
