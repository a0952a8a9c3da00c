"""Reweighting: which of several simulated timelines a new case takes. Nothing here reads a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.variants import spans
from discreet.mechanisms.whole.distributions import choose_by_row, equal_mass, fit_rows
from discreet.mechanisms.whole.durations import LearntTimes
from discreet.mechanisms.whole.grids import WAIT_CELLS, wait_cells
from discreet.mechanisms.whole.timelines import Clock, days_between
from discreet.privacy.randomness import Randomness

# Tuned: on the logs of docs/mechanisms/whole.md, see "What was chosen on what" there. Of JUDGED
# and ROUNDS, effort against processor time, no measurement is noted.

JUDGED = 40_000
"""Number of cases the weights are fitted on."""

ROUNDS = 40
"""Rounds of iterative scaling."""

MOST_FACTOR = 20.0
"""Logarithm of the largest weight of a part of durations."""

DRAWN_TO_WAITS = 20.0
"""Weight of the durations that waits imply, as the prior in the fit of durations."""

WAIT_PARTS = 12
"""Most parts into which the waits of a row are divided to keep their shares."""

STEPS_PER_PART = 50
"""Least number of steps of the plan in a part of waits."""

LEAST_PRECISION = 15.0
"""Least total of a part of waits, in deviations of the noise."""


@dataclass(frozen=True, eq=False)
class SimulationPlan:
    """The cases to draw, the longest first, event by event."""

    offsets: Integers
    rows: Integers
    """The row of waits of each event, −1 for the first of a case."""
    profiles: Integers
    """The profile of weekdays and hours of each event."""

    @property
    def lengths(self) -> Integers:
        """Number of events of each case."""
        return np.diff(self.offsets)

    def take(self, cases: Integers) -> tuple[SimulationPlan, Integers]:
        """Some of the cases, and the positions of their events."""
        positions, offsets = spans(self.offsets, cases)
        return SimulationPlan(offsets, self.rows[positions], self.profiles[positions]), positions


@dataclass(frozen=True, eq=False)
class SimulatedTimes:
    """An instant for each event, and the cell of the wait before it."""

    instants: Integers
    cells: Integers

    def take(self, positions: Integers) -> SimulatedTimes:
        """Some of the events."""
        return SimulatedTimes(self.instants[positions], self.cells[positions])


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights by which one of the alternatives of a case is taken.

    Waits are drawn one by one, and their sum is not what cases take. An alternative is taken with
    probability ∝ τ(part of its duration)·Π φ(row and part of each wait), where τ and φ are such
    that durations follow their own table and waits still follow theirs.
    """

    part_of_duration: Integers
    """The part of each class and cell of durations."""
    tau: Floats
    """ln τ of each part of durations."""
    part_of_wait: Integers
    """The part of each row and cell of waits."""
    phi: Floats
    """ln φ of each part of waits."""

    @classmethod
    def learn(
        cls, plan: SimulationPlan, drawn: list[SimulatedTimes], times: LearntTimes, clock: Clock
    ) -> Weights:
        """The weights, fitted on the alternatives of some of the cases."""
        judged = np.unique(np.linspace(0, len(plan.lengths) - 1, JUDGED).astype(np.int64))
        sample, positions = plan.take(judged)
        classes = _classes(sample, times)
        chosen = [course.take(positions) for course in drawn]
        cells = np.stack([_durations(sample, course, clock) for course in chosen], axis=1)
        part_of_duration, durations = _duration_parts(times, classes, cells)
        part_of_wait, waits = _wait_parts(sample, times)
        keys = np.stack([_keys(sample.rows, course.cells, part_of_wait) for course in chosen])
        parts = part_of_duration[classes[:, None], cells]
        tau, phi = matching_factors(sample, parts, durations, keys, waits)
        return cls(part_of_duration, tau, part_of_wait, phi)

    def choose(
        self,
        plan: SimulationPlan,
        drawn: list[SimulatedTimes],
        times: LearntTimes,
        clock: Clock,
        rng: Randomness,
    ) -> Integers:
        """The instants of all events, of one alternative for each case."""
        classes = _classes(plan, times)
        ahead = np.empty((len(classes), len(drawn)))
        for number, course in enumerate(drawn):
            part = self.part_of_duration[classes, _durations(plan, course, clock)]
            key = _keys(plan.rows, course.cells, self.part_of_wait)
            ahead[:, number] = self.tau[part] + np.add.reduceat(self.phi[key], plan.offsets[:-1])
        best = choose_by_row(normalised_weights(ahead), np.arange(len(classes)), rng)
        return np.choose(np.repeat(best, plan.lengths), [course.instants for course in drawn])


def _classes(plan: SimulationPlan, times: LearntTimes) -> Integers:
    """The class of durations of each case, −1 where it has one event."""
    return np.where(plan.lengths > 1, np.searchsorted(times.longest, plan.lengths), -1)


def _durations(plan: SimulationPlan, course: SimulatedTimes, clock: Clock) -> Integers:
    """The cell of each case's duration."""
    first, last = course.instants[plan.offsets[:-1]], course.instants[plan.offsets[1:] - 1]
    return wait_cells(last - first, days_between(clock.wall(first), clock.wall(last)))


def _duration_parts(
    times: LearntTimes, classes: Integers, cells: Integers
) -> tuple[Integers, Floats]:
    """The part of each class and cell of durations, and the number of cases wanted in each part.

    The noisy table is fitted once more, with what the waits imply as its prior. The last part is
    that of cases of one event.
    """
    assert times.durations is not None
    rows = len(times.longest) + 1
    several = classes >= 0
    implied = np.zeros((rows, WAIT_CELLS))
    np.add.at(implied, (classes[several][:, None], cells[several]), 1.0)
    implied /= np.maximum(implied.sum(axis=1, keepdims=True), 1.0)
    prior = 0.9 * implied + 0.1 * times.durations.shares
    shares = fit_rows(times.durations.rows, prior, DRAWN_TO_WAITS)
    part_of = np.empty((rows + 1, WAIT_CELLS), dtype=np.int64)
    wanted, size = [], 0
    for number in range(rows):
        starts = times.durations.parts(number)
        place = np.searchsorted(starts, np.arange(WAIT_CELLS), side="right") - 1
        part_of[number] = size + np.maximum(place, 0)
        share = np.add.reduceat(shares[number], starts)
        wanted.append(share * np.count_nonzero(classes == number))
        size += len(starts)
    part_of[-1] = size
    wanted.append(np.array([float(np.count_nonzero(~several))]))
    return part_of, np.concatenate(wanted)


def _wait_parts(plan: SimulationPlan, times: LearntTimes) -> tuple[Integers, Floats]:
    """The part of each row and cell of waits, and the number of steps wanted in each part."""
    steps = np.bincount(plan.rows[plan.rows >= 0], minlength=len(times.waits))
    part_of = np.empty(times.waits.shape, dtype=np.int64)
    wanted, size = [], 0
    for number, (shares, many) in enumerate(zip(times.waits, steps.tolist(), strict=True)):
        allowed = min(many / STEPS_PER_PART, times.precision[number] / LEAST_PRECISION)
        parts = int(np.clip(allowed, 1, WAIT_PARTS))
        starts = equal_mass(shares, parts, parts > 1)
        part_of[number] = size + np.searchsorted(starts, np.arange(WAIT_CELLS), side="right") - 1
        wanted.append(many * np.add.reduceat(shares, starts))
        size += len(starts)
    return part_of, np.concatenate(wanted)


def _keys(rows: Integers, cells: Integers, part_of_wait: Integers) -> Integers:
    """The part of each event's wait, and one more part for the first events of cases."""
    none = int(part_of_wait.max()) + 1
    return np.where(rows >= 0, part_of_wait[rows, cells], none)


def normalised_weights(ahead: Floats) -> Floats:
    """The shares of the alternatives of each case, from their unnormalised logarithms."""
    found = np.exp(ahead - ahead.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def matching_factors(
    plan: SimulationPlan, parts: Integers, durations: Floats, keys: Integers, waits: Floats
) -> tuple[Floats, Floats]:
    """ln τ by part of durations and ln φ by part of waits, from the cases of the plan.

    `parts` has a row for each case, `keys` one for each of their alternatives. Iterative scaling
    in which factors of waits take half a step at a time, since a case has many waits.
    """
    tau, phi = np.zeros(len(durations)), np.zeros(len(waits) + 1)
    begin, lengths = plan.offsets[:-1], plan.lengths
    for _ in range(ROUNDS):
        of_waits = np.add.reduceat(phi[keys], begin, axis=1).T
        weight = normalised_weights(tau[parts] + of_waits)
        given = np.bincount(parts.ravel(), weight.ravel(), len(tau))
        tau += np.log(np.clip((durations + 1e-3) / (given + 1e-3), 0.1, 10.0))
        tau = np.clip(tau, -MOST_FACTOR, MOST_FACTOR)
        weight = normalised_weights(tau[parts] + of_waits)
        seen = np.bincount(keys.ravel(), np.repeat(weight.T, lengths, axis=1).ravel(), len(phi))
        phi[:-1] += 0.5 * np.log(np.clip((waits + 1) / (seen[:-1] + 1), 0.25, 4.0))
        phi[:-1] = np.clip(phi[:-1], -3, 3)
    return tau, phi
