"""A whole log from released variants: the tables are asked, and new cases are drawn from them.

`complete` asks for noisy sums over the cases of the raw log; no other function here reads a log.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Floats, Integers
from discreet.log.cases import Sums
from discreet.log.events import EventLog, assemble
from discreet.log.instants import DAY, HOUR, MONDAY, WEEK
from discreet.log.variants import Variants, spans
from discreet.mechanisms.whole.attribute_values import draw_attribute
from discreet.mechanisms.whole.declared_attributes import DeclaredAttribute
from discreet.mechanisms.whole.distributions import fractions, in_parts
from discreet.mechanisms.whole.durations import LearntTimes, short_durations
from discreet.mechanisms.whole.grids import (
    FIRST_DAY,
    SINGLE_DAYS,
    SLOTS,
    WAIT_CELLS,
    day_bounds,
    short_bounds,
)
from discreet.mechanisms.whole.released_variants import ReleasedVariants, later_events
from discreet.mechanisms.whole.reweighting import SimulatedTimes, SimulationPlan, Weights
from discreet.mechanisms.whole.timelines import LAST, Clock, TimelineSums, within
from discreet.mechanisms.whole.traits import traits
from discreet.mechanisms.whole.work_calendar import MOMENTS, Slots, times_within_hour
from discreet.mechanisms.whole.working_times import WorkingTimes
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Step
from discreet.releases import fresh_names

# Tuned: effort against processor time; no measurement is noted.

ALTERNATIVES = 8
"""Number of timelines drawn for each case; the one that is kept makes durations fit."""

TILTED = 200
"""Number of rows of waits, the most frequent, that depend on weekday and hour."""

PILOT = 20_000
"""Number of cases drawn beforehand, to see when the events before a wait happen."""


def complete(
    sums: Sums,
    variants: Variants,
    attributes: tuple[DeclaredAttribute, ...],
    begun: str | None,
    zone: str,
    spending: Step,
    rng: Randomness,
) -> EventLog:
    """Spends: a new log. Of the old one only sums over its cases are asked, each with noise."""
    variants = variants.take(np.flatnonzero(variants.counts > 0)).trimmed()
    order = rng.permutation(variants.cases)
    chosen = np.repeat(np.arange(len(variants)), variants.counts)[order]
    positions, offsets = spans(variants.offsets, chosen)
    codes = variants.codes[positions].astype(np.int64)
    del positions
    times = np.zeros(0, dtype=np.int64)
    columns: dict[str, pl.Series] = {}
    clock = Clock(zone)
    released = ReleasedVariants.of(variants)
    source = TimelineSums(sums, variants.activities, clock)
    if len(codes):
        learnt = LearntTimes.learn(source, released, spending, rng)
        times = draw_times(learnt, released, codes, offsets, clock, rng)
        if begun:
            work = WorkingTimes.learn(source, begun, released, spending, rng)
            began = work.draw(codes, offsets, times, learnt, clock, rng)
            columns[begun] = pl.Series(began).cast(pl.Datetime("us", "UTC"))
    candidates = traits(codes, offsets, times) if any(a.of_case for a in attributes) else []
    for attribute in attributes:
        columns[attribute.column] = draw_attribute(
            source, released, attribute, codes, offsets, candidates, spending, rng
        )
    return assemble(
        fresh_names(len(chosen), rng), variants.activities, codes, offsets, times, columns
    )


def draw_times(
    times: LearntTimes, released: ReleasedVariants, codes: Integers, offsets: Integers,
    clock: Clock, rng: Randomness,
) -> Integers:  # fmt: skip
    """An instant for each event of the cases, in order within each case.

    Cases are in random order, so the parts of a large log are alike: how waits depend on the
    moment before them, and the weights of alternatives, are found on the first part.
    """
    found = np.empty(len(codes), dtype=np.int64)
    waits: Waits | None = None
    weights: Weights | None = None
    for start, end, part in in_parts(offsets):
        order = np.argsort(-np.diff(part), kind="stable")
        positions, fresh = spans(part, order)
        plan = _plan(times, released, codes[start:end][positions], fresh)
        waits = waits or _learn_waits(plan, times, clock, rng)
        starts = _starts(len(order), times, clock, rng)
        drawn = [_timelines(plan, starts, times, waits, clock, rng) for _ in range(ALTERNATIVES)]
        taken = drawn[0].instants
        if times.durations is not None:
            weights = weights or Weights.learn(plan, drawn, times, clock)
            taken = weights.choose(plan, drawn, times, clock, rng)
        found[start + positions] = taken
    return found


def _learn_waits(plan: SimulationPlan, times: LearntTimes, clock: Clock, rng: Randomness) -> Waits:
    """How waits depend on the moment before them, found on cases drawn beforehand."""
    few = np.unique(np.linspace(0, len(plan.lengths) - 1, PILOT).astype(np.int64))
    pilot, _ = plan.take(few)
    waits = Waits.of(times, None)
    for _ in range(2):
        starts = _starts(len(few), times, clock, rng)
        pilots = _timelines(pilot, starts, times, waits, clock, rng)
        waits = Waits.of(times, _moments(pilot, pilots.instants, clock, len(times.waits)))
    return waits


def _plan(
    times: LearntTimes, released: ReleasedVariants, codes: Integers, offsets: Integers
) -> SimulationPlan:
    """The row of waits and the profile of each event."""
    rows = np.full(len(codes), -1)
    later = later_events(offsets, len(codes))
    rows[later] = times.row_of_relation[released.relations.number(codes[later - 1], codes[later])]
    return SimulationPlan(offsets, rows, times.profile_of_activity[codes])


@dataclass(frozen=True, eq=False)
class Waits:
    """How to draw the cell of a wait given weekday and hour of the event before it."""

    steps: Floats
    """Cumulative shares, row after row, each row plus its number."""
    first: Integers
    """The first row here of each row of waits."""
    tilted: Integers
    """1 for each row of waits that depends on the moment, else 0."""

    @classmethod
    def of(cls, times: LearntTimes, moments: Floats | None) -> Waits:
        """Tilt each row towards the days and hours at which people work, keeping it on average.

        `moments[row]` counts how often the event before a wait of the row falls on each weekday
        and hour. p(cell | moment) ∝ θ(cell)·A(cell, moment), where A is the share of the weekday
        or hour that the wait leads to, over an even one, and θ is found by iterative proportional
        fitting.
        """
        many = len(times.waits)
        frequent = np.zeros(many, dtype=np.int64)
        weight = np.ones(many) if moments is None else moments.sum(axis=1)
        if moments is not None:
            frequent[np.argsort(-weight, kind="stable")[:TILTED]] = 1
        sizes = np.where(frequent == 1, MOMENTS, 1)
        first = np.cumsum(sizes) - sizes
        profile = _profile_of_row(times)
        table = np.empty((int(sizes.sum()), WAIT_CELLS))
        leads = [_leads(times, p) for p in range(len(times.later.weekdays))]
        start = (times.starts.weekdays[0][:, None] * times.starts.hours[0]).ravel()
        for row, shares in enumerate(times.waits):
            if not frequent[row]:
                table[first[row]] = shares
                continue
            assert moments is not None
            seen = moments[row] + start
            table[first[row] : first[row] + MOMENTS] = _tilted(
                shares, leads[profile[row]], seen / seen.sum()
            )
        steps = np.cumsum(table, axis=1)
        steps /= steps[:, -1:]
        steps += np.arange(len(steps))[:, None]
        return cls(steps.ravel(), first, frequent)

    def draw(self, row: Integers, moment: Integers, rng: Randomness) -> Integers:
        """A cell for each wait."""
        place = self.first[row] + self.tilted[row] * moment
        found = np.searchsorted(self.steps, place + fractions(len(row), rng), side="right")
        return np.asarray(np.clip(found - place * WAIT_CELLS, 0, WAIT_CELLS - 1), dtype=np.int64)


def _profile_of_row(times: LearntTimes) -> Integers:
    """The profile of the activities that the waits of each row lead to."""
    found = np.zeros(len(times.waits), dtype=np.int64)
    found[times.row_of_relation] = times.profile_of_activity[times.target_of_relation]
    return found


def _leads(times: LearntTimes, profile: int) -> Floats:
    """A(moment, cell): how likely people work when a wait from that moment ends."""
    weekday, hour = np.divmod(np.arange(MOMENTS), 24)
    later = times.later.hours[profile]
    hours = (times.starts.hours[0] + later) / 2
    low, high = short_bounds()
    middle = np.sqrt(np.maximum(low, 1) * np.maximum(high, 1)) / HOUR
    over, at = np.divmod(np.floor(hour[:, None] + 0.5 + middle).astype(np.int64), 24)
    short = 24 * hours[(weekday[:, None] + over) % 7, at]
    days, _ = day_bounds()
    work = 7 * times.later.weekdays[profile]
    single = work[(weekday[:, None] + days[:SINGLE_DAYS]) % 7]
    above = np.pad(np.cumsum(later[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    single[:, 0] *= above[weekday, np.minimum(hour + 12, 24)]
    single[:, 1] *= above[(weekday + 1) % 7, np.maximum(hour - 12, 0)]
    wide = np.ones((MOMENTS, len(days) - SINGLE_DAYS))
    return np.asarray(np.maximum(np.concatenate([short, single, wide], axis=1), 1e-6))


def _tilted(shares: Floats, leads: Floats, seen: Floats) -> Floats:
    """p(cell | moment) by iterative proportional fitting: on average the row's shares."""
    used = np.flatnonzero(shares > 0)
    lead, theta = leads[:, used], shares[used].copy()
    given = np.empty_like(lead)
    for _ in range(8):
        given = lead * theta
        given /= given.sum(axis=1, keepdims=True)
        theta *= shares[used] / np.maximum(seen @ given, 1e-300)
    table = np.zeros((MOMENTS, len(shares)))
    given = lead * theta
    table[:, used] = given / given.sum(axis=1, keepdims=True)
    return table


def _in_shares(shares: Floats, size: int, rng: Randomness) -> Integers:
    """`size` cells in random order, each as often as its share says, but for rounding."""
    steps = np.cumsum(shares) / shares.sum()
    even = (np.arange(size) + fractions(size, rng)) / max(1, size)
    cells = np.minimum(np.searchsorted(steps, even, side="right"), len(shares) - 1)
    return cells[rng.permutation(size)].astype(np.int64)


def _timelines(
    plan: SimulationPlan,
    starts: Integers,
    times: LearntTimes,
    waits: Waits,
    clock: Clock,
    rng: Randomness,
) -> SimulatedTimes:
    """An instant for each event: the start, then wait after wait, all cases side by side."""
    found = np.empty(int(plan.offsets[-1]), dtype=np.int64)
    cells = np.zeros(len(found), dtype=np.int64)
    begin = plan.offsets[:-1]
    now = starts
    found[begin] = now
    alive = np.searchsorted(-plan.lengths, -np.arange(1, plan.lengths.max(initial=1)), side="left")
    slots = Slots(times.later)
    for position, many in enumerate(alive.tolist(), start=1):
        here = begin[:many] + position
        now, cells[here] = _next(
            now[:many], plan.rows[here], plan.profiles[here], times, waits, slots, clock, rng
        )
        found[here] = now
    return SimulatedTimes(found, cells)


def _starts(size: int, times: LearntTimes, clock: Clock, rng: Randomness) -> Integers:
    """Instants at which cases start: weeks, weekdays and slots in exactly the learnt shares."""
    week = _in_shares(times.weeks, size, rng)
    day, slot = np.divmod(_in_shares(times.starts.shares[0].ravel(), size, rng), SLOTS)
    of_day = slot % 24 * HOUR + np.where(slot < 24, times_within_hour(size, rng), 0)
    return within(clock.instants(MONDAY + week * WEEK + day * DAY + of_day))


def _next(
    now: Integers, row: Integers, profile: Integers, times: LearntTimes, waits: Waits,
    slots: Slots, clock: Clock, rng: Randomness,
) -> tuple[Integers, Integers]:  # fmt: skip
    """The instants of the next events, and the cells of the waits before them."""
    wall = clock.wall(now)
    hour = wall % DAY // HOUR
    weekday = (wall - MONDAY) // DAY % 7
    cell = waits.draw(row, weekday * 24 + hour, rng)
    later = now.copy()
    short = np.flatnonzero((cell < FIRST_DAY) & (cell > 0))
    later[short] += short_durations(cell[short], rng)
    long = np.flatnonzero(cell >= FIRST_DAY)
    if len(long):
        on = _days(cell[long], weekday[long], profile[long], times, rng)
        least = np.where(on == 0, np.minimum(hour[long] + 12, 23), 0)
        least = np.where(on == 1, np.maximum(hour[long] - 12, 0), least)
        midnight = wall[long] - wall[long] % DAY
        of_day = slots.draw(profile[long] * 7 + (weekday[long] + on) % 7, least, rng)
        later[long] = np.maximum(now[long], clock.instants(midnight + on * DAY + of_day))
    return np.minimum(later, LAST), cell


def _days(
    cell: Integers, weekday: Integers, profile: Integers, times: LearntTimes, rng: Randomness
) -> Integers:
    """Calendar days to the next event, in wide cells by weekday (rejection, a few times)."""
    first, last = day_bounds()
    at = cell - FIRST_DAY
    on = first[at].copy()
    open_ = np.flatnonzero(last[at] > first[at])
    work = times.later.weekdays / times.later.weekdays.max(axis=1, keepdims=True)
    for _ in range(6):
        if not len(open_):
            break
        width = last[at[open_]] - first[at[open_]] + 1
        drawn = np.floor(fractions(len(open_), rng) * width).astype(np.int64)
        on[open_] = first[at[open_]] + drawn
        chance = work[profile[open_], (weekday[open_] + on[open_]) % 7]
        open_ = open_[fractions(len(open_), rng) > chance]
    return on


def _moments(plan: SimulationPlan, instants: Integers, clock: Clock, rows: int) -> Floats:
    """How often the event before a wait falls on each weekday and hour, by row of waits."""
    second = np.flatnonzero(plan.rows >= 0)
    wall = clock.wall(instants[second - 1])
    moment = (wall - MONDAY) // DAY % 7 * 24 + wall % DAY // HOUR
    keys = plan.rows[second] * MOMENTS + moment
    return np.bincount(keys, minlength=rows * MOMENTS).reshape(rows, MOMENTS).astype(np.float64)
