"""What someone who knows a few events of a case finds in the raw log. For its holder only.

A colleague, a neighbour or a receipt tells of some events of a person: that an X-ray was taken,
perhaps on which day. Where only one case has these events, the rest of that case is found as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Integers
from discreet.log.instants import DAY, microseconds

if TYPE_CHECKING:
    from discreet.log.events import EventLog

# Tuned
KNOWN = (1, 2, 3, 5)
"""Numbers of events that the attacker knows."""

PROBES = 300
"""Number of cases tried: a share is then within 6 points, 19 times out of 20."""


@dataclass(frozen=True)
class Found:
    """The share of cases singled out by this many of their events, drawn at random."""

    events: int
    by_activity: float
    by_day: float | None
    """The share if the day of each event is known too; None without timestamps."""


def found_by(log: EventLog, probes: int = PROBES) -> tuple[Found, ...]:
    """Share of cases unique to someone who knows 1, 2, 3 or 5 of their events."""
    rng = np.random.default_rng()
    chosen = rng.choice(log.cases, size=min(probes, log.cases), replace=False)
    by_day = _Days(log) if log.has_times else None
    counts = _activity_counts(log)
    found = []
    for events in KNOWN:
        alone = dated = 0
        for case in chosen.tolist():
            begin, end = int(log.offsets[case]), int(log.offsets[case + 1])
            known = begin + rng.choice(end - begin, size=min(events, end - begin), replace=False)
            alone += _fitting(counts, log, known) == 1
            dated += by_day is not None and by_day.fitting(known) == 1
        share = dated / len(chosen) if by_day else None
        found.append(Found(events, alone / len(chosen), share))
    return tuple(found)


def _activity_counts(log: EventLog) -> Integers:
    """Occurrences of each activity in each variant."""
    variants = log.variants
    owners = np.repeat(np.arange(len(variants)), variants.lengths)
    size = len(variants.activities)
    flat = np.bincount(owners * size + variants.codes, minlength=len(variants) * size)
    return flat.reshape(len(variants), size)


def _fitting(counts: Integers, log: EventLog, known: Integers) -> int:
    """Number of cases that have these activities at least as often."""
    codes, often = np.unique(log.codes[known], return_counts=True)
    fits = (counts[:, codes] >= often).all(axis=1)
    return int(log.variants.counts[fits].sum())


class _Days:
    """Index of the cases that have an activity on a day."""

    def __init__(self, log: EventLog) -> None:
        days = microseconds(log) // DAY
        self.keys = (days - days.min()) * len(log.activities) + log.codes
        cases = np.repeat(np.arange(log.cases), np.diff(log.offsets))
        order = np.lexsort((cases, self.keys))
        self.sorted, self.cases = self.keys[order], cases[order]

    def fitting(self, known: Integers) -> int:
        """Number of cases that have these events."""
        left: Integers | None = None
        for key in self.keys[known]:
            begin, end = np.searchsorted(self.sorted, [key, key + 1])
            having = np.unique(self.cases[begin:end])
            left = having if left is None else np.intersect1d(left, having, assume_unique=True)
        return 0 if left is None else len(left)
