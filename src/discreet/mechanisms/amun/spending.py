"""Who gets what of the budget: the steps of a strict release and their names."""

from __future__ import annotations

from discreet.privacy.guarantee import Budget
from discreet.privacy.partition import LARGEST_EPSILON, OptimalSelection
from discreet.privacy.steps import Laplace, Selecting, Sequential, Step

VARIANTS = "variants and their counts"
CALENDAR, STARTS = "start times: parts of the calendar", "start times: cases in each part"
WEEKDAYS, HOURS = "start times: weekdays", "start times: hours"
ALL_GAPS, ACTIVITY_GAPS = "durations of all steps", "durations by activity"
RELATION_GAPS = "durations by relation"

TIMES_SHARES = {
    CALENDAR: 0.25,
    STARTS: 0.125,
    WEEKDAYS: 0.05,
    HOURS: 0.075,
    ALL_GAPS: 0.1,
    ACTIVITY_GAPS: 0.2,
    RELATION_GAPS: 0.2,
}
"""Half of what times get is for start times, half for durations."""


def values_of(column: str) -> str:
    """The name of the step that reads a further column."""
    return f"values of {column}"


def spending(
    budget: Budget, times_share: float, columns: tuple[str, ...], columns_share: float
) -> Sequential:
    """Columns, if any, take their share of ε and δ; times theirs of the rest of ε."""
    taken = columns_share if columns else 0.0
    each = budget.share(taken / len(columns)) if columns else budget
    rest = budget.share(1 - taken)
    times = rest.share(times_share, 0)
    steps: list[Step] = [Selecting(VARIANTS, selection(rest.share(1 - times_share, 1)))]
    steps += [Laplace(name, times.share(part, 0).epsilon) for name, part in TIMES_SHARES.items()]
    steps += [Selecting(values_of(column), selection(each)) for column in columns]
    return Sequential("release", tuple(steps))


def selection(budget: Budget) -> OptimalSelection:
    """The partition selection that a budget buys."""
    return OptimalSelection(min(budget.epsilon, LARGEST_EPSILON), budget.delta)
