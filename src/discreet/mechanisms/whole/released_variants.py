"""The released variants that get times and attributes, and their directly-follows relations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Floats, Integers, Ints
from discreet.log.variants import Variants
from discreet.privacy.steps import LARGEST_BOUND


def later_events(offsets: Ints, events: int) -> Integers:
    """The positions of all events but the first of each case."""
    later = np.ones(events, dtype=np.bool_)
    later[offsets[:-1]] = False
    return np.flatnonzero(later)


@dataclass(frozen=True, eq=False)
class Relations:
    """Which activities directly follow which."""

    keys: Integers
    """Sorted numbers of the relations: source · activities + target."""
    activities: int

    def __len__(self) -> int:
        return len(self.keys)

    def number(self, first: Integers, second: Integers) -> Integers:
        """The number of the relation between two activities, −1 if there is none."""
        key = np.where((first >= 0) & (second >= 0), first * self.activities + second, -1)
        if not len(self.keys):
            return np.full(len(key), -1)
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        found: Booleans = self.keys[place] == key
        return np.where(found, place, -1)


@dataclass(frozen=True, eq=False)
class ReleasedVariants:
    """Released variants, with their relations and how often each occurs."""

    variants: Variants
    relations: Relations
    counts: Floats
    """How often each relation occurs in the released cases."""
    variant_of_step: Integers
    """The variant of each event that has one before it."""
    relation_of_step: Integers
    """The relation that leads to each of these events."""

    @classmethod
    def of(cls, variants: Variants) -> ReleasedVariants:
        """The relations of released variants."""
        codes = variants.codes.astype(np.int64)
        second = later_events(variants.offsets, len(codes))
        pairs = codes[second - 1] * len(variants.activities) + codes[second]
        keys, inverse = np.unique(pairs, return_inverse=True)
        owner = np.repeat(np.arange(len(variants)), variants.lengths)[second]
        counts = np.bincount(inverse, variants.counts[owner], minlength=len(keys))
        relations = Relations(keys, len(variants.activities))
        return cls(variants, relations, counts.astype(np.float64), owner, inverse.astype(np.int64))

    @property
    def sources(self) -> Integers:
        """The activity that each relation starts from."""
        return self.relations.keys // max(1, self.relations.activities)

    @property
    def targets(self) -> Integers:
        """The activity that each relation leads to."""
        return self.relations.keys % max(1, self.relations.activities)

    def weighted_quantile(self, values: Floats, share: float) -> float:
        """A quantile over the released cases of a value of each variant."""
        order = np.argsort(values)
        below = np.cumsum(self.variants.counts[order])
        return float(values[order[np.searchsorted(below, share * below[-1])]])

    def bound(self, values: Floats, share: float) -> int:
        """A bound on all cases: the quantile, rounded; the noise grows with it."""
        return max(1, min(LARGEST_BOUND, round(self.weighted_quantile(values, share))))

    def per_variant(self, group_of_relation: Integers, power: float) -> Floats:
        """For each variant, the sum over groups of (its steps in the group)^power."""
        group = group_of_relation[self.relation_of_step]
        wide = int(group_of_relation.max(initial=0)) + 1
        keys, many = np.unique(self.variant_of_step * wide + group, return_counts=True)
        powers = many.astype(np.float64) ** power
        return np.bincount(keys // wide, powers, len(self.variants)).astype(np.float64)

    def events_by_activity(self) -> Floats:
        """The number of released events of each activity."""
        variants = self.variants
        each = np.repeat(variants.counts, variants.lengths)
        found = np.bincount(variants.codes, each, minlength=len(variants.activities))
        return found.astype(np.float64)

    def typical_events(self, given: Floats | None = None) -> int:
        """The squared norm of a typical case in a table of events by activity, as a bound for all.

        `given` are the shares of each activity's events that count, by default all. The typical
        case is the median of those with any of them.
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
        return self.bound(norms, (1 + none) / 2)
