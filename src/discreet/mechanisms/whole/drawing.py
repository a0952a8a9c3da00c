"""New cases in time, drawn from what was learnt. Nothing here reads a log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.instants import DAY, HOUR, MONDAY, SECOND, WEEK
from discreet.log.variants import spans
from discreet.mechanisms.whole.choosing import Course, Plan, Weights
from discreet.mechanisms.whole.clock import LAST, Clock, within
from discreet.mechanisms.whole.grids import (
    FIRST_DAY,
    SINGLE_DAYS,
    SLOTS,
    WAIT_CELLS,
    day_bounds,
    short_bounds,
)
from discreet.mechanisms.whole.learning import Times
from discreet.mechanisms.whole.profiles import MOMENTS, Profile
from discreet.mechanisms.whole.released import Released
from discreet.mechanisms.whole.sampling import fractions, in_parts
from discreet.privacy.randomness import Randomness

ALTERNATIVES = 8
"""So many courses in time are drawn for each case; one is taken so that durations fit."""

TILTED = 200
"""Rows of waits that depend on weekday and hour; rarer ones do not."""

PILOT = 20_000
"""Cases drawn beforehand, to see when the events before a wait happen."""

MILLISECOND = SECOND // 1000


def draw_times(
    times: Times, released: Released, codes: Integers, offsets: Integers, clock: Clock,
    rng: Randomness,
) -> Integers:  # fmt: skip
    """An instant for each event of the cases, in order within each case.

    Cases are in random order, so the parts of a large log are alike: how waits depend on the
    moment before them, and how alternatives are weighed, is found on the first of them.
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
        drawn = [_course(plan, starts, times, waits, clock, rng) for _ in range(ALTERNATIVES)]
        taken = drawn[0].instants
        if times.durations is not None:
            weights = weights or Weights.learn(plan, drawn, times, clock)
            taken = weights.choose(plan, drawn, times, clock, rng)
        found[start + positions] = taken
    return found


def _learn_waits(plan: Plan, times: Times, clock: Clock, rng: Randomness) -> Waits:
    """How waits depend on the moment before them, by cases that are drawn beforehand."""
    few = np.unique(np.linspace(0, len(plan.lengths) - 1, PILOT).astype(np.int64))
    pilot, _ = plan.take(few)
    waits = Waits.of(times, None)
    for _ in range(2):
        starts = _starts(len(few), times, clock, rng)
        course = _course(pilot, starts, times, waits, clock, rng)
        waits = Waits.of(times, _moments(pilot, course.instants, clock, len(times.waits)))
    return waits


def _plan(times: Times, released: Released, codes: Integers, offsets: Integers) -> Plan:
    rows = np.full(len(codes), -1)
    second = np.ones(len(codes), dtype=np.bool_)
    second[offsets[:-1]] = False
    later = np.flatnonzero(second)
    rows[later] = times.row_of_relation[released.relations.number(codes[later - 1], codes[later])]
    return Plan(offsets, rows, times.profile_of_activity[codes])


@dataclass(frozen=True, eq=False)
class Waits:
    """How to draw the cell of a wait given weekday and hour of the event before it."""

    steps: Floats
    """Cumulative shares, row after row, each row plus its number."""
    first: Integers
    """Of each row of waits the first row here, and whether it depends on the moment."""
    tilted: Integers
    profile_of_row: Integers

    @classmethod
    def of(cls, times: Times, moments: Floats | None) -> Waits:
        """Tilt each row towards the days and hours at which people work, keeping it on average.

        `moments[row]` says how often the event before a wait of the row falls on each weekday
        and hour. p(cell | moment) ∝ θ(cell)·A(cell, moment), A the share of the weekday or hour
        that the wait leads to, over an even one; θ by iterative proportional fitting.
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
        return cls(steps.ravel(), first, frequent, profile)

    def draw(self, row: Integers, moment: Integers, rng: Randomness) -> Integers:
        """A cell for each wait."""
        place = self.first[row] + self.tilted[row] * moment
        found = np.searchsorted(self.steps, place + fractions(len(row), rng), side="right")
        return np.asarray(np.clip(found - place * WAIT_CELLS, 0, WAIT_CELLS - 1), dtype=np.int64)


def _profile_of_row(times: Times) -> Integers:
    """The profile of the activities that the waits of a row lead to, or else the first."""
    found = np.zeros(len(times.waits), dtype=np.int64)
    found[times.row_of_relation] = times.profile_of_activity[times.target_of_relation]
    return found


def _leads(times: Times, profile: int) -> Floats:
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


@dataclass(frozen=True, eq=False)
class Slots:
    """Draws slots of the day, of each profile and weekday, from a given hour on."""

    profile: Profile

    @cached_property
    def _steps(self) -> Floats:
        slots = self.profile.shares.reshape(-1, 2, 24).transpose(0, 2, 1).reshape(-1, SLOTS)
        steps = np.cumsum(slots, axis=1)
        return np.asarray(steps / np.maximum(steps[:, -1:], 1e-300))

    def draw(self, row: Integers, least: Integers, rng: Randomness) -> Integers:
        """Microseconds of the day, in the given hour or later; any hour where none is likely."""
        before = np.concatenate([np.zeros((len(self._steps), 1)), self._steps[:, 1::2]], axis=1)
        skipped = before[row, least]
        skipped = np.where(skipped > 1 - 1e-6, 0.0, skipped)
        wanted = skipped + fractions(len(row), rng) * (1 - skipped)
        flat = (self._steps + np.arange(len(self._steps))[:, None]).ravel()
        slot = np.clip(
            np.searchsorted(flat, row + wanted, side="right") - row * SLOTS, 0, SLOTS - 1
        )
        in_hour = np.where(slot % 2 == 1, 0, _moments_of_hour(len(row), rng))
        return np.asarray(slot // 2 * HOUR + in_hour, dtype=np.int64)


def _in_shares(shares: Floats, size: int, rng: Randomness) -> Integers:
    """So many cells in random order, each as often as its share says, but for rounding."""
    steps = np.cumsum(shares) / shares.sum()
    even = (np.arange(size) + fractions(size, rng)) / max(1, size)
    cells = np.minimum(np.searchsorted(steps, even, side="right"), len(shares) - 1)
    return cells[rng.permutation(size)].astype(np.int64)


def _moments_of_hour(size: int, rng: Randomness) -> Integers:
    return np.floor(fractions(size, rng) * HOUR / MILLISECOND).astype(np.int64) * MILLISECOND


def _course(
    plan: Plan,
    starts: Integers,
    times: Times,
    waits: Waits,
    clock: Clock,
    rng: Randomness,
) -> Course:
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
    return Course(found, cells)


def _starts(size: int, times: Times, clock: Clock, rng: Randomness) -> Integers:
    """When cases start: weeks, weekdays and slots in the very shares that were learnt."""
    week = _in_shares(times.weeks, size, rng)
    day, slot = np.divmod(_in_shares(times.starts.shares[0].ravel(), size, rng), SLOTS)
    of_day = slot % 24 * HOUR + np.where(slot < 24, _moments_of_hour(size, rng), 0)
    return within(clock.instants(MONDAY + week * WEEK + day * DAY + of_day))


def _next(
    now: Integers, row: Integers, profile: Integers, times: Times, waits: Waits, slots: Slots,
    clock: Clock, rng: Randomness,
) -> tuple[Integers, Integers]:  # fmt: skip
    """The instants of the next events, and the cells of the waits before them."""
    wall = clock.wall(now)
    hour = wall % DAY // HOUR
    weekday = (wall - MONDAY) // DAY % 7
    cell = waits.draw(row, weekday * 24 + hour, rng)
    later = now.copy()
    short = np.flatnonzero((cell < FIRST_DAY) & (cell > 0))
    low, high = short_bounds()
    low = np.maximum(low, MILLISECOND)
    lower, upper = low[cell[short]], high[cell[short]]
    waited = lower * (upper / lower) ** fractions(len(short), rng)
    later[short] += (np.floor(waited / MILLISECOND) * MILLISECOND).astype(np.int64)
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
    cell: Integers, weekday: Integers, profile: Integers, times: Times, rng: Randomness
) -> Integers:
    """How many calendar days later, in wide cells by weekday (rejection, a few times)."""
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


def _moments(plan: Plan, instants: Integers, clock: Clock, rows: int) -> Floats:
    """For each row of waits how often the event before falls on each weekday and hour."""
    second = np.flatnonzero(plan.rows >= 0)
    wall = clock.wall(instants[second - 1])
    moment = (wall - MONDAY) // DAY % 7 * 24 + wall % DAY // HOUR
    keys = plan.rows[second] * MOMENTS + moment
    return np.bincount(keys, minlength=rows * MOMENTS).reshape(rows, MOMENTS).astype(np.float64)
