"""The cases of a log in time, and the released cases that shall get times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Floats, Integers, Ints
from discreet.log.events import EventLog
from discreet.log.instants import DAY, MONDAY, microseconds
from discreet.log.variants import Variants
from discreet.wholelogs.clock import Clock, within
from discreet.wholelogs.grids import wait_cells


def later_events(offsets: Ints, events: int) -> Integers:
    """The positions of all events but the first of each case."""
    later = np.ones(events, dtype=np.bool_)
    later[offsets[:-1]] = False
    return np.flatnonzero(later)


@dataclass(frozen=True, eq=False)
class Courses:
    """Cases of the raw log: what each did when, in the activities of the released variants.

    `codes` number the released activities, −1 for any other. Whatever is here of a case follows
    from that case alone, the released activities and the zone.
    """

    codes: Integers
    offsets: Integers
    instants: Integers
    wall: Integers
    case: Integers
    second: Integers
    """Positions of the events that have one before them."""

    @classmethod
    def of(cls, log: EventLog, activities: tuple[str, ...], clock: Clock) -> Courses:
        """The cases of a log; instants outside the public stretch count at its edge."""
        number = {activity: i for i, activity in enumerate(activities)}
        recode = np.array([number.get(label, -1) for label in log.activities], dtype=np.int64)
        instants = within(microseconds(log))
        lengths = np.diff(log.offsets)
        return cls(
            codes=recode[log.codes] if len(recode) else np.zeros(0, dtype=np.int64),
            offsets=log.offsets.astype(np.int64),
            instants=instants,
            wall=clock.wall(instants),
            case=np.repeat(np.arange(log.cases), lengths),
            second=later_events(log.offsets, log.events),
        )

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Integers:
        """Number of events of each case."""
        return np.diff(self.offsets)

    def starts(self) -> Integers:
        """When each case starts, by the clock on the wall."""
        return self.wall[self.offsets[:-1]]

    def wait_cells(self) -> Integers:
        """The cell of the wait before each event of `second`."""
        return self._cells(self.second - 1, self.second)

    def duration_cells(self) -> Integers:
        """The cell of each case's duration."""
        return self._cells(self.offsets[:-1], self.offsets[1:] - 1)

    def relations(self, released: Released) -> Integers:
        """The released relation of each event of `second`, −1 if the release lacks it."""
        return released.relation(self.codes[self.second - 1], self.codes[self.second])

    def _cells(self, first: Integers, last: Integers) -> Integers:
        elapsed = self.instants[last] - self.instants[first]
        return wait_cells(elapsed, days_between(self.wall[first], self.wall[last]))


def days_between(first: Ints, last: Ints) -> Integers:
    """Calendar days from one time on the wall to another."""
    days = (last - MONDAY) // DAY - (first - MONDAY) // DAY
    return np.asarray(days, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Released:
    """Released variants: their relations, as sorted keys, with how often each occurs."""

    variants: Variants
    keys: Integers
    counts: Floats
    variant_of_step: Integers
    relation_of_step: Integers

    @classmethod
    def of(cls, variants: Variants) -> Released:
        """The relations of released variants."""
        codes = variants.codes.astype(np.int64)
        second = later_events(variants.offsets, len(codes))
        pairs = codes[second - 1] * len(variants.activities) + codes[second]
        keys, inverse = np.unique(pairs, return_inverse=True)
        owner = np.repeat(np.arange(len(variants)), variants.lengths)[second]
        counts = np.bincount(inverse, variants.counts[owner], minlength=len(keys))
        return cls(variants, keys, counts.astype(np.float64), owner, inverse.astype(np.int64))

    @property
    def targets(self) -> Integers:
        """The activity that each relation leads to."""
        return self.keys % max(1, len(self.variants.activities))

    def relation(self, first: Integers, second: Integers) -> Integers:
        """The number of the relation between two activities, −1 if there is none."""
        key = np.where(
            (first >= 0) & (second >= 0), first * len(self.variants.activities) + second, -1
        )
        if not len(self.keys):
            return np.full(len(key), -1)
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        found: Booleans = self.keys[place] == key
        return np.where(found, place, -1)

    def weighted_quantile(self, values: Floats, share: float) -> float:
        """A quantile over the released cases of a value of each variant."""
        order = np.argsort(values)
        below = np.cumsum(self.variants.counts[order])
        return float(values[order[np.searchsorted(below, share * below[-1])]])

    def per_variant(self, group_of_relation: Integers, power: float) -> Floats:
        """For each variant the sum over groups of (its steps in the group)^power."""
        group = group_of_relation[self.relation_of_step]
        wide = int(group_of_relation.max(initial=0)) + 1
        keys, many = np.unique(self.variant_of_step * wide + group, return_counts=True)
        powers = many.astype(np.float64) ** power
        return np.bincount(keys // wide, powers, len(self.variants)).astype(np.float64)

    def events_by_activity(self) -> Floats:
        """How many events each activity has."""
        variants = self.variants
        each = np.repeat(variants.counts, variants.lengths)
        found = np.bincount(variants.codes, each, minlength=len(variants.activities))
        return found.astype(np.float64)

    def typical_events(self, given: Floats | None = None) -> int:
        """A bound of a case's squared norm in a table of events by activity: a typical one's.

        `given` are the shares of each activity's events that count, all if it is left out; cases
        that have none of these say nothing.
        """
        variants = self.variants
        if not len(variants):
            return 1
        owner = np.repeat(np.arange(len(variants)), variants.lengths)
        wide = len(variants.activities)
        keys, many = np.unique(owner * wide + variants.codes, return_counts=True)
        held = many.astype(np.float64) * (1.0 if given is None else given[keys % wide])
        weight = held * np.maximum(held, 1) ** 0.5
        norms = np.bincount(keys // wide, weight, minlength=len(variants)).astype(np.float64)
        none = float(variants.counts[norms == 0].sum() / variants.counts.sum())
        return max(1, round(self.weighted_quantile(norms, (1 + none) / 2)))
