"""When cases start: a private histogram of a public stretch of weeks, weekdays and hours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.instants import DAY, HOUR, MONDAY, WEEK
from discreet.wholelogs.sampling import choose, fractions, projected, significant
from discreet.mechanisms.amun.spending import CALENDAR, HOURS, STARTS, WEEKDAYS
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Step
from discreet.privacy.transcript import note

DEPTH = 12
"""The public stretch has 2**DEPTH weeks, from 29 December 1969 to June 2048; what lies outside
counts at its edge."""

NARROW = 32
"""Weeks. A wider part was left whole because few cases are in it: it counts only if its own count
says otherwise, so that noise does not spread cases over decades."""


@dataclass(frozen=True)
class Halving:
    """Halve a stretch of time again and again where many cases are (PrivTree), with epsilon.

    A part at depth d with c cases has the score b = max(−t, c − d·t) and is halved iff b + N > 0,
    N discrete Laplace with P[n] ∝ e^{−rate·|n|}, drawn afresh for every part; single weeks are
    never halved. Only the parts come out, no count.

    Proof of epsilon-DP, add-remove. A case lies in one part per depth; only their scores differ,
    by 0 or 1. Let x be the score with the case and g(x) the gain ln(P[x + N > 0]/P[x − 1 + N > 0]).
    With q = e^{−rate}, g(x) = rate for x ≤ 1 and ln((1 + q − q^x)/(1 + q − q^{x−1})) above, so g
    falls. Scores along the way down fall by at least t each, as counts do not grow, and a part
    with c − d·t ≤ −t has the same score −t in both logs. So the halved parts that matter have
    scores of at least 1 − t, each at least t apart, and their gains add up to at most

        g(1 − t) + g(1) + g(1 + t) + … (one term per depth),

    while the part where the halving ends turns the odds the other way, by at most rate, since
    P[x + N ≤ 0] changes by at most that factor. Whichever log has the case, the log-ratio of any
    outcome is therefore at most this sum, and `rate` is chosen so that it stays below epsilon.
    """

    spending: Laplace
    depth: int = DEPTH

    @property
    def rate(self) -> Fraction:
        """The largest rate found whose cost stays within epsilon."""
        return Fraction(_largest_rate(self.spending.epsilon, self.depth))

    @property
    def noise(self) -> CountNoise:
        """N."""
        return self.spending.noise(Fraction(self.spending.epsilon) / self.rate)

    @property
    def step(self) -> int:
        """What each depth takes off the score: t."""
        return step(float(self.rate))

    def parts(self, weeks: Integers, rng: Randomness) -> Integers:
        """The first weeks of the parts, in order; `weeks` are those in which cases start."""
        ordered = np.sort(weeks)
        noise, t = self.noise, self.step
        done = [np.zeros(0, dtype=np.int64)]
        open_parts = np.zeros(1, dtype=np.int64)
        for depth in range(self.depth):
            width = 1 << self.depth - depth
            edges = np.searchsorted(ordered, [open_parts, open_parts + width])
            score = np.maximum(-t, edges[1] - edges[0] - depth * t)
            halved = score + noise.draw(len(open_parts), rng) > 0
            note(noise.name, halved)
            done.append(open_parts[~halved])
            open_parts = np.concatenate(
                [open_parts[halved], open_parts[halved] + width // 2]
            ).astype(np.int64)
        return np.sort(np.concatenate([*done, open_parts]))


def step(rate: float) -> int:
    """A third of the noise's scale: near the best for a case some eight halvings down."""
    return max(1, math.ceil(1 / (3 * rate)))


@lru_cache(maxsize=64)
def _largest_rate(epsilon: float, depth: int) -> float:
    low, high = 0.0, min(epsilon, 300.0)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle, depth) <= epsilon else (low, middle)
    return low


def cost(rate: float, depth: int) -> float:
    """The epsilon of a rate, rounded up: the sum in `Halving`'s proof."""
    t = step(rate)
    scores = 1 + t * np.arange(-1, depth - 1, dtype=np.float64)
    before = np.exp(-rate * np.maximum(scores - 1, 0))
    gains = np.log1p(before * -math.expm1(-rate) / (1 + math.exp(-rate) - before))
    return float(np.where(scores <= 1, rate, gains).sum()) * (1 + 1e-9)


@dataclass(frozen=True)
class Starts:
    """What was learned of the start times, and how to draw new ones from it."""

    parts: Integers
    part_counts: Floats
    weekdays: Floats
    hours: Floats

    @classmethod
    def learn(cls, starts: Integers, spending: Step, rng: Randomness) -> Starts:
        """From four steps in each of which a case counts once. Weekdays and hours are UTC's."""
        since = starts - MONDAY
        weeks = np.clip(since // WEEK, 0, (1 << DEPTH) - 1)
        parts = Halving(spending.find(CALENDAR, Laplace)).parts(weeks, rng)
        part_of = np.searchsorted(parts, weeks, side="right") - 1
        width = np.diff(np.append(parts, 1 << DEPTH))

        def noisy(cells: Integers, size: int, name: str) -> tuple[Floats, float]:
            noise = spending.find(name, Laplace).noise()
            counts = noise.added(np.bincount(cells, minlength=size), rng)
            return counts.astype(np.float64), float(noise.size)

        counts, scale = noisy(part_of, len(parts), STARTS)
        likely = (width <= NARROW) | significant(counts, scale)
        return cls(
            parts=parts,
            part_counts=projected(np.where(likely, counts, 0.0)),
            weekdays=projected(noisy(since // DAY % 7, 7, WEEKDAYS)[0]),
            hours=projected(noisy(since // HOUR % 24, 24, HOURS)[0]),
        )

    def draw(self, size: int, rng: Randomness) -> Integers:
        """Start times: a part by its count, a week of it, a weekday, an hour, a moment in it."""
        part = choose(self.part_counts, size, rng)
        width = np.diff(np.append(self.parts, 1 << DEPTH))[part]
        week = self.parts[part] + np.floor(fractions(size, rng) * width).astype(np.int64)
        day = choose(self.weekdays, size, rng)
        hour = choose(self.hours, size, rng)
        moment = np.floor(fractions(size, rng) * HOUR).astype(np.int64)
        return MONDAY + week * WEEK + day * DAY + hour * HOUR + moment


def outside_stretch(starts: Integers) -> int:
    """How many start times lie outside the public stretch."""
    weeks = (starts - MONDAY) // WEEK
    return int(((weeks < 0) | (weeks >= 1 << DEPTH)).sum())
