"""Amun as published: oversample cases, then add noise to the times of their events.

None of this is differentially private; `Amun` says why. The noise follows from a guessing
advantage: how much more probable a right guess of a fact is after a release than before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.dafsa import Dafsa
from discreet.log.events import EventLog, assemble
from discreet.log.instants import HOUR, LATEST, microseconds, since_start
from discreet.log.variants import spans
from discreet.privacy.noise import discrete_laplace, geometric
from discreet.privacy.randomness import Randomness
from discreet.releases import fresh_names

# Tuned: resolutions; no measurement is noted.

GRID = 1 << 30
"""Times are normalised to integers from 0 to GRID within their transition."""

STEPS = 1 << 32
"""Steps to a unit of the grid on which unit Laplace noise is drawn."""


@dataclass(frozen=True)
class Published:
    """The cases of the new log, with the times of their events and the old case of each.

    The origin is for measuring only and never leaves with a release.
    """

    origin: Integers
    offsets: Integers
    positions: Integers
    """The old event of each new one, in the old log's order."""
    times: Integers

    def assemble(self, log: EventLog, rng: Randomness) -> EventLog:
        """The new log, under fresh names."""
        names = fresh_names(len(self.origin), rng)
        return assemble(names, log.activities, log.codes[self.positions], self.offsets, self.times)


def publish(
    log: EventLog, guessing_advantage: float, precision: float, rng: Randomness
) -> Published:
    """Anonymise as the paper does; variants are exactly those of the log."""
    dafsa = Dafsa.of(log.variants)
    transition = dafsa.transition_of_event(log)
    epsilon = float(published_epsilon(worst_prior(guessing_advantage), guessing_advantage))
    needed = 1 + geometric(epsilon, dafsa.transitions, rng)
    copies = 1 + oversample(transition, log.offsets, needed, rng)
    origin = np.repeat(np.arange(log.cases), copies)[rng.permutation(int(copies.sum()))]
    positions, offsets = spans(log.offsets, origin)

    relative = since_start(log)
    span = ranges(relative, transition)
    prior = priors(relative, transition, span, precision)
    per_event = published_epsilon(prior, guessing_advantage, dafsa.counts[transition])
    scale = (span[transition] / per_event)[positions]
    scale *= np.repeat(copies[origin], np.diff(offsets))
    start = microseconds(log)[log.offsets[:-1]][origin]
    return Published(
        origin=origin,
        offsets=offsets,
        positions=positions,
        times=noisy_times(relative[positions], scale, offsets, start, rng),
    )


def oversample(transition: Integers, offsets: Ints, needed: Integers, rng: Randomness) -> Integers:
    """The number of copies of each case to add until every transition has the cases it needs.

    The paper's Algorithm 1. A transition that still needs cases is picked with its occurrence
    frequency as weight: those are the transitions in the order in which a random order of all
    events first meets them, leaving out satisfied ones (weights do not change, so skipping is
    the same as picking among the rest). Then as many cases as it needs are replicated, each a
    uniform one of the cases that take it: that is a variant weighted by its cases, and then one
    of its cases.
    """
    lengths = np.diff(offsets)
    case_of = np.repeat(np.arange(len(lengths)), lengths)
    takers = case_of[np.argsort(transition, kind="stable")]
    total = np.bincount(transition, minlength=len(needed))
    begin = np.cumsum(total) - total
    _, first = np.unique(transition[rng.permutation(len(transition))], return_index=True)
    order = np.argsort(first)
    copies = np.zeros(len(lengths), dtype=np.int64)
    added = np.zeros(len(needed), dtype=np.int64)
    for block in np.array_split(order, 1 + len(order) // 1024):
        for picked in block[added[block] < needed[block]].tolist():
            wanted = int(needed[picked])
            if added[picked] >= wanted:
                continue
            chosen = takers[begin[picked] + rng.integers(int(total[picked]), wanted)]
            for case in chosen.tolist():
                copies[case] += 1
                added[transition[offsets[case] : offsets[case + 1]]] += 1
    return copies


def ranges(relative: Integers, transition: Integers) -> Floats:
    """The range of times of each transition: from 0 to its largest, at least a time unit."""
    largest = np.zeros(int(transition.max()) + 1, dtype=np.int64)
    np.maximum.at(largest, transition, relative)
    return np.where(largest > 0, largest, HOUR).astype(np.float64)


def priors(relative: Integers, transition: Integers, span: Floats, precision: float) -> Floats:
    """The chance to guess each event's time within ±precision, by its transition's times (Eq. 2).

    F(t + p·r) − F(t − p·r), F the distribution function of the normalised times of the cases
    that take this transition, r their range.
    """
    place = np.rint(relative / span[transition] * GRID).astype(np.int64)
    key = (transition.astype(np.int64) << 32) + place
    ordered = np.sort(key)
    reach = int(precision * GRID)
    within = np.searchsorted(ordered, key + reach, side="right") - np.searchsorted(
        ordered, key - reach, side="left" if reach == 0 else "right"
    )
    shared: Floats = within / np.bincount(transition)[transition]
    return shared


def noisy_times(
    relative: Integers, scale: Floats, offsets: Integers, start: Integers, rng: Randomness
) -> Integers:
    """New times: each time since the start plus Laplace noise of its scale, order kept.

    The first event stays at the start of the case. A time before the start is mirrored there,
    |t + noise|; then the times of a case are sorted, so that its k-th event has the k-th
    smallest of them and the sequence of activities does not change.
    """
    lengths = np.diff(offsets)
    unit = discrete_laplace(STEPS, len(relative), rng) / STEPS
    fresh = np.abs(relative + unit * scale)
    fresh[offsets[:-1]] = 0
    for length in np.unique(lengths[lengths > 2]):
        rows = offsets[:-1][lengths == length][:, None] + np.arange(length)
        fresh[rows] = np.sort(fresh[rows], axis=1)
    begin = np.repeat(start, lengths)
    times: Integers = begin + np.minimum(np.rint(fresh), LATEST - begin).astype(np.int64)
    return times


def without_rare(log: EventLog, min_count: int) -> EventLog:
    """The cases all of whose transitions are taken by at least `min_count` cases.

    Dropping a variant changes the automaton, so this is repeated until nothing more is dropped.
    """
    while min_count > 1 and log.cases:
        dafsa = Dafsa.of(log.variants)
        rare = np.zeros(len(log.variants), dtype=np.bool_)
        variant = np.repeat(np.arange(len(rare)), log.variants.lengths)
        rare[variant[dafsa.counts[dafsa.path] < min_count]] = True
        kept = ~rare[log.variant_of_case]
        if kept.all():
            break
        log = log.take_cases(np.flatnonzero(kept))
    return log


def worst_prior(guessing_advantage: float) -> float:
    """The prior for which a given advantage takes the smallest epsilon (the paper's Eq. 3)."""
    return (1 - guessing_advantage) / 2


def published_epsilon(
    prior: Floats | float, guessing_advantage: float, known: Integers | int = 1
) -> Floats:
    """The paper's epsilon for a prior probability of guessing right, values within [0, 1] (Eq. 1).

    Where prior + advantage ≥ 1 no guess can gain more than allowed and Eq. 1 has no value: by the
    paper no noise were needed, and the true time would be shown. But the prior is estimated from
    the very values that are to be hidden (a lone case always has prior 1), and `known` values
    tell it no finer than 1/(known + 1). So there it is taken that much below 1 − advantage, or
    as the worst prior if that is more. A lone case gets the least epsilon that Eq. 1 ever gives.
    """
    given = np.asarray(prior, dtype=np.float64)
    below = 1 - guessing_advantage - 1 / (np.asarray(known, dtype=np.float64) + 1)
    certain = np.maximum(worst_prior(guessing_advantage), below)
    usable = np.where(given + guessing_advantage < 1, given, certain)
    odds = usable / (1 - usable) * (1 / (guessing_advantage + usable) - 1)
    return np.asarray(-np.log(odds), dtype=np.float64)
