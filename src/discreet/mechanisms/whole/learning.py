"""What is learnt of the times of a log: a few noisy tables, each with its share of ρ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.instants import MONDAY, WEEK
from discreet.mechanisms.whole.courses import Courses, Source
from discreet.mechanisms.whole.grids import (
    FIRST_DAY,
    WAIT_CELLS,
    WEEKS,
    wait_grid,
    week_grid,
)
from discreet.mechanisms.whole.profiles import Profile
from discreet.mechanisms.whole.released import Released
from discreet.mechanisms.whole.spending import (
    DURATIONS,
    LATER,
    STARTS,
    TREND,
    WAITS,
)
from discreet.mechanisms.whole.tables import Hits, Learnt, Manner, learn
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step

WAIT_MANNER = Manner(least=(2.0,), most_parts=150, weight=2.0, zero_alone=True)
DURATION_MANNER = Manner(
    steps=(2.2, 2.4, 2.6, 2.6),
    least=(3.0,),
    most_parts=40,
    weight=1.0,
    zero_alone=True,
    even=0.2,
    trust=0.02,
)
TREND_MANNER = Manner(
    least=(8.0, 8.0), most_parts=1500, weight=1.0, steps=(1.5, 1.5), downwards=True,
    even=0.2, trust=0.02,
)  # fmt: skip
SMALL_TREND_MANNER = Manner(
    least=(3.0, 3.0), most_parts=1500, weight=1.0, steps=(1.5, 1.5), downwards=True,
    even=0.2, trust=0.02,
)  # fmt: skip
MANY_CASES = 5000


@dataclass(frozen=True, eq=False)
class Times:
    """All that was learnt of times: noisy and fitted, so that new ones can be drawn."""

    weeks: Floats
    starts: Profile
    waits: Floats
    """A row for each group of relations, over the grid of waits."""
    precision: Floats
    """Of each row of waits: its total, in deviations of the noise."""
    row_of_relation: Integers
    target_of_relation: Integers
    later: Profile
    profile_of_activity: Integers
    durations: Learnt | None
    longest: Integers
    """Of each class of durations but the last: the most events of its cases."""

    @classmethod
    def learn(cls, source: Source, released: Released, spending: Step, rng: Randomness) -> Times:
        """Ask the tables one after another; what is asked follows from the answers before."""

        def steps(*names: str) -> tuple[Gaussian, ...]:
            return tuple(spending.find(name, Gaussian) for name in names)

        weeks = _weeks(source, released, steps(*TREND), rng)
        starts = _start_profile(source, released, steps(*STARTS), rng)
        durations, longest = _durations(source, released, steps(*DURATIONS), rng)
        longest_wait = max((row.high for row in durations.rows), default=1) if durations else 1
        waits, precision, row_of_relation = _waits(
            source, released, longest_wait, steps(*WAITS), rng
        )
        later, profile = _later_profile(
            source, released, waits, row_of_relation, steps(*LATER), rng
        )
        return cls(
            weeks,
            starts,
            waits,
            precision,
            row_of_relation,
            released.targets,
            later,
            profile,
            durations,
            longest,
        )


def _one_row(courses: Courses, cell: Integers) -> Hits:
    everyone = np.arange(courses.cases)
    return Hits(everyone, np.zeros_like(everyone), cell)


def _starting(courses: Courses) -> Hits:
    """When each case starts, by the clock on the wall."""
    return _one_row(courses, courses.starts())


def _starting_weeks(courses: Courses) -> Hits:
    weeks = np.clip((courses.starts() - MONDAY) // WEEK, 0, WEEKS - 1)
    return _one_row(courses, weeks)


def _weeks(
    source: Source, released: Released, steps: tuple[Gaussian, ...], rng: Randomness
) -> Floats:
    """In which week a case starts. A case adds one to one cell in every round."""
    cases = released.variants.cases
    manner = TREND_MANNER if cases >= MANY_CASES else SMALL_TREND_MANNER
    learnt = learn(
        source,
        _starting_weeks,
        np.array([float(cases)]),
        np.zeros(1, dtype=np.int64),
        week_grid(),
        manner,
        1,
        steps,
        rng,
    )
    row = learnt.rows[0]
    sloped = _sloping(learnt.shares[0], learnt.parts(0), row.high)
    precision = sum(1 / deviation**2 for _, _, deviation in row.rounds[1:])
    return _smoothed(sloped, row.low, row.high, 1 / (precision * row.total**2))


def _sloping(shares: Floats, starts: Integers, high: int) -> Floats:
    """The same mass in every part, but within it in line with its neighbours."""
    mass = np.add.reduceat(shares[:high], starts)
    widths = np.diff(np.append(starts, high))
    middles = starts + (widths - 1) / 2
    line = np.interp(np.arange(starts[0], high), middles, mass / widths)
    again = np.add.reduceat(line, starts - starts[0])
    sloped = np.zeros_like(shares)
    factor = np.where(again > 0, mass / np.maximum(again, 1e-300), 0.0)
    sloped[starts[0] : high] = line * np.repeat(factor, widths)
    return np.asarray(sloped / sloped.sum())


SMOOTH = np.array([1, 2, 3, 2, 1]) / 9
"""Weights of a week and its neighbours in the trend of starts."""


def _smoothed(shares: Floats, low: int, high: int, noise: float) -> Floats:
    """The shares of weeks, as far from a smooth trend as the noise cannot explain (James–Stein).

    `noise` is the variance of a week's share.
    """
    inside = np.pad(shares[low:high], len(SMOOTH) // 2, mode="edge")
    smooth = np.convolve(inside, SMOOTH, mode="valid")
    apart = shares[low:high] - smooth
    by_noise = noise * (1 - 2 * SMOOTH[len(SMOOTH) // 2] + float(SMOOTH @ SMOOTH))
    seen = float((apart[smooth > 0] ** 2).mean()) if (smooth > 0).any() else 0.0
    kept = float(np.clip(1 - by_noise / max(seen, 1e-300), 0, 1))
    found = np.zeros_like(shares)
    found[low:high] = np.maximum(smooth + kept * apart, 0)
    return np.asarray(found / found.sum())


def _start_profile(
    source: Source, released: Released, steps: tuple[Gaussian, ...], rng: Randomness
) -> Profile:
    """On which weekday and in which slot a case starts: one to one cell in each table."""
    expected = np.array([float(released.variants.cases)])
    return Profile.learn(source, _starting, expected, 1, steps, rng)


def _durations(
    source: Source, released: Released, steps: tuple[Gaussian, ...], rng: Randomness
) -> tuple[Learnt | None, Integers]:
    """How long cases take, by classes of their number of events; a case adds one to one cell."""
    variants = released.variants
    several = np.flatnonzero(variants.lengths > 1)
    lengths = variants.lengths[several]
    counts = variants.counts[several]
    if not len(several):
        return None, np.zeros(0, dtype=np.int64)
    noise = steps[1].noise(1).deviation
    classes = int(np.clip(counts.sum() / (25 * noise), 1, 4))
    order = np.argsort(lengths, kind="stable")
    below = np.cumsum(counts[order])
    cuts = np.searchsorted(below, below[-1] * np.arange(1, classes) / classes)
    longest = np.unique(lengths[order][cuts])
    longest = longest[longest < lengths.max()]
    expected = np.bincount(
        np.searchsorted(longest, lengths), counts, minlength=len(longest) + 1
    ).astype(np.float64)

    def hits(courses: Courses) -> Hits:
        own = np.searchsorted(longest, courses.lengths)
        row = np.where(courses.lengths > 1, own, -1)
        return Hits(np.arange(courses.cases), row, courses.duration_cells())

    family = np.zeros(len(expected), dtype=np.int64)
    learnt = learn(source, hits, expected, family, wait_grid(), DURATION_MANNER, 1, steps, rng)
    return learnt, longest


def _waits(
    source: Source,
    released: Released,
    reaching: int,
    steps: tuple[Gaussian, ...],
    rng: Randomness,
) -> tuple[Floats, Floats, Integers]:
    """How long each relation takes. A case adds one per step, bounded in L2 as a whole.

    No wait is longer than the cases take, by their own table, which is much less noisy.
    """
    many = len(released.relations)
    if not many:
        return np.zeros((0, WAIT_CELLS)), np.zeros(0), np.zeros(0, dtype=np.int64)
    rho = float(sum(step.rho for step in steps))
    row_of = np.arange(many)
    bound = _typical(released, row_of)
    least = 1.5 * math.sqrt(bound / (2 * rho))
    row_of = _rows(released, least)
    bound = _typical(released, row_of)
    rows = int(row_of.max()) + 1
    expected = np.bincount(row_of, released.counts, minlength=rows).astype(np.float64)
    family = np.zeros(rows, dtype=np.int64)
    family[row_of] = released.targets
    relations = released.relations

    def hits(courses: Courses) -> Hits:
        row = np.append(row_of, -1)[courses.relations(relations)]
        return Hits(courses.case[courses.second], row, courses.wait_cells)

    learnt = learn(
        source, hits, expected, family, wait_grid(), WAIT_MANNER, bound, steps, rng, reaching
    )
    shares = learnt.shares.copy()
    for share, row in zip(shares, learnt.rows, strict=True):
        above = np.cumsum(share[::-1])[::-1]
        share[above <= min(0.5, 0.2 * row.rounds[-1][2] / row.total)] = 0.0
    precision = np.array([row.total / row.rounds[-1][2] for row in learnt.rows])
    return shares / shares.sum(axis=1, keepdims=True), precision, row_of


def _typical(released: Released, row_of: Integers) -> int:
    """The bound of a case's squared norm: that of a typical released case."""
    return released.bound(released.per_variant(row_of, 1.5), 0.5)


def _rows(released: Released, least: float) -> Integers:
    """Which relations share a row: frequent ones stand alone, others with their target's."""
    counts, targets = released.counts, released.targets
    alone = counts >= least
    rest = np.bincount(targets[~alone], counts[~alone], minlength=int(targets.max()) + 1)
    group = np.where(rest[targets] >= least, targets, len(rest))
    group[alone] = len(rest) + 1 + np.flatnonzero(alone)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _later_profile(
    source: Source,
    released: Released,
    waits: Floats,
    row_of_relation: Integers,
    steps: tuple[Gaussian, ...],
    rng: Randomness,
) -> tuple[Profile, Integers]:
    """Weekday and slot of events half a day or more after the one before, by activity."""
    activities = len(released.variants.activities)
    if not len(released.relations):
        return Profile.even(), np.zeros(activities, dtype=np.int64)
    long = waits[:, FIRST_DAY:].sum(axis=1)[row_of_relation]
    per_variant = np.bincount(
        released.variant_of_step,
        long[released.relation_of_step],
        minlength=len(released.variants),
    ).astype(np.float64)
    bound = released.bound(per_variant, 0.6)
    expected = np.bincount(released.targets, released.counts * long, minlength=activities)
    deviation = steps[1].noise(bound).deviation
    frequent = expected >= 6 * deviation
    row_of = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
    row_of = np.unique(row_of, return_inverse=True)[1].astype(np.int64)
    by_row = np.maximum(np.bincount(row_of, expected), 1.0)

    def hits(courses: Courses) -> Hits:
        second = courses.second
        target = courses.codes[second]
        asked = (courses.wait_cells >= FIRST_DAY) & (target >= 0)
        row = np.where(asked, np.append(row_of, -1)[target], -1)
        return Hits(courses.case[second], row, courses.wall[second])

    return Profile.learn(source, hits, by_row, bound, steps, rng), row_of
