"""Candidates for the support: sequences that the log may well hold, and the central few of them.

Walks through the directly-follows graph of the released variants, slips of these variants, and
samples of a model (`Walker`) are put together; greedy k-median picks those that stand for the
others. All of it reads released numbers only: post-processing.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Integers
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.mechanisms.headtail.votes import distances, joined
from discreet.models.automaton import Automaton
from discreet.models.inductive import inductive_miner
from discreet.models.petri import net_of
from discreet.models.tree import Tree

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
MOST_SAMPLES, MOST_SAMPLED_EVENTS = 12_000, 120_000
"""Most sequences that are sampled, and most events of all of them."""

PHASES = 9
"""Number of phases of a case; see `phases`."""

SLIPS = 0.4
"""Slips of released variants for each walk through their graph."""

UNSEEN_STEPS = 1.0
"""Weight of all the steps out of an activity that no released variant takes, over the number of
variants: with a small head more has to be guessed."""

ENOUGH_CLEAR = 40
"""Number of sequences within the model of the head that are enough to choose from."""

MODELLED_HEAD = 500
"""Number of variants of the head that make its model: the most frequent ones."""

UNKNOWN_STEP = 1e-9
"""Weight of a step that the language allows and the chain has never seen."""

MOST_COMPARED = 2000
"""Most candidates that are compared with each other: the most frequent ones."""

LEAST_COMPARED = 60
"""Candidates that are compared in any case; each case that they stand for adds three."""

LONG_EVENTS = 30
"""Mean number of events above which fewer candidates are compared, to bound the time."""

USUAL_CELLS, MOST_CELLS = 400, 1000
"""Most elements that a support gains: the first number or, up to the second, as many as there are
voting cases times epsilon."""

LEAST_MASS = 0.02
"""Least predicted votes of a new element, in deviations of a vote's noise."""

LEAST_CELLS = 4
"""Number of elements that a support gains whatever the noise."""


def phases(steps: Integers) -> Integers:
    """The phase of a case after so many events: 0, 1, 2, 3–4, 5–8, …, more than 64."""
    doubled = np.ceil(np.log2(np.maximum(steps, 1))).astype(np.int64) + (steps > 0)
    return np.minimum(doubled, PHASES - 1)


def context(level: int, base: int, steps: Integers, past: list[Integers]) -> Integers:
    """The context of the next activity as a number; `past` holds the last activities first.

    Level 0: the last activity. Level k: the phase and the last k activities.
    """
    if level == 0:
        return past[0]
    number = phases(steps)
    for symbol in reversed(past[:level]):
        number = number * base + symbol
    return number


@dataclass(frozen=True)
class Walker(ABC):
    """A model of what follows in a case; the code after the activities is start and end."""

    activities: tuple[str, ...]

    @abstractmethod
    def chances(self, history: Integers) -> Floats:
        """The weight of each activity, and of the end, after each row, which begins with START."""

    def sample(
        self,
        max_length: int,
        samples: int,
        generator: np.random.Generator,
        within: Language | None = None,
    ) -> Variants:
        """Sequences that ended within the length; if at most a tenth did, the others cut off.

        `within` leaves out steps that lead out of a language.
        """
        mark = len(self.activities)
        begun = np.full((1, 1), mark)  # the distinct beginnings of those that go on
        states = np.zeros(1, dtype=np.int64)
        which = np.zeros(samples, dtype=np.int64)  # of these
        ended: list[tuple[Integers, Integers]] = []
        for step in range(max_length + 1):
            weights = self.chances(begun)
            if within is not None:
                weights = (weights + UNKNOWN_STEP) * within.allowed(states)
            if step == 0:
                weights[:, mark] = 0
            reach = weights.cumsum(axis=1)[which]
            point = generator.random(len(which)) * reach[:, -1]
            following = np.minimum((reach <= point[:, None]).sum(axis=1), mark)
            going = following != mark
            ended.append((begun, np.bincount(which[~going], minlength=len(begun))))
            which, following = which[going], following[going]
            if not len(which) or step == max_length:
                break
            found, which = numbered(which * mark + following, len(begun) * mark)
            before, following = np.divmod(found, mark)
            begun = np.concatenate([begun[before], following[:, None]], axis=1)
            if within is not None:
                states = within.after(states[before], following)
        if 10 * len(which) >= 9 * samples:
            ended.append((begun, np.bincount(which, minlength=len(begun))))
        return _counted(self.activities, ended)


@dataclass(frozen=True)
class Chain(Walker):
    """A Markov chain.

    `levels` holds for each level of context a sorted list of those that are known, and for each
    the weights of what follows. The most precise one that is known decides; the first level knows
    every activity.
    """

    levels: list[tuple[Integers, Floats]]

    def chances(self, history: Integers) -> Floats:
        """The weight of each activity, and of the end; see `Walker`."""
        base = len(self.activities) + 1
        step = history.shape[1] - 1
        past = [history[:, max(step - back, 0)] for back in range(len(self.levels))]
        found = self.levels[0][1][past[0]]
        for level, (contexts, rows) in enumerate(self.levels[1:], 1):
            place, known = located(contexts, context(level, base, np.array(step), past))
            found[known] = rows[place[known]]
        return found


def located(contexts: Integers, wanted: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """The place of each wanted number in a sorted list, and whether it is there."""
    place = np.minimum(np.searchsorted(contexts, wanted), len(contexts) - 1)
    return place, contexts[place] == wanted


def numbered(keys: Integers, limit: int) -> tuple[Integers, Integers]:
    """The distinct keys, ascending, and the place of each key among them; all are below `limit`."""
    if limit > 4 * len(keys):
        return np.unique(keys, return_inverse=True)
    present = np.zeros(limit, dtype=bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]


def _counted(activities: tuple[str, ...], parts: list[tuple[Integers, Integers]]) -> Variants:
    """Sequences that begin with START, those of one length together, each with its count."""
    shown = [(rows[counts > 0, 1:], counts[counts > 0]) for rows, counts in parts]
    some = [(rows, counts) for rows, counts in shown if rows.size]
    if not some:
        return Variants.empty(activities)
    lengths = np.concatenate([np.full(len(rows), rows.shape[1]) for rows, _ in some])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = np.concatenate([rows.ravel() for rows, _ in some]).astype(np.int32)
    found, where = Variants.of_cases(activities, codes, offsets)
    counts = np.bincount(where, np.concatenate([counts for _, counts in some]), len(found))
    return replace(found, counts=counts.astype(np.int64))


def recombined(
    head: Variants, samples: int, generator: np.random.Generator, clear_model: bool
) -> Variants:
    """Walks through the directly-follows graph of the released variants, each weighted once.

    For a clear model they stay within the language of the one that the released variants make, so
    that a model discovered from the release is that one; where it has few sequences, half of them
    do.
    """
    source, target, _ = pairs(head)
    size = len(head.activities) + 1
    weights = np.full((size, size), UNSEEN_STEPS / (size * len(head)))
    np.add.at(weights, (source, target), 1.0)
    chain = Chain(head.activities, [(np.arange(size), weights)])
    longest = 2 * int(head.lengths.max())
    if not clear_model:
        return chain.sample(longest, samples, generator)
    often = np.sort(np.argsort(-head.counts, kind="stable")[:MODELLED_HEAD])
    language = Language(inductive_miner(head.take(often)), head.activities)
    clear = chain.sample(longest, samples, generator, language)
    if len(clear) >= ENOUGH_CLEAR:
        return clear
    return mixed(clear, chain.sample(longest, samples, generator))


def slipped(head: Variants, samples: int, generator: np.random.Generator) -> Variants:
    """Released variants with one event left out, repeated, or swapped with the next one."""
    picked = head.take(generator.integers(len(head), size=samples))
    first, last = picked.offsets[:-1], picked.offsets[1:] - 1
    place = first + (generator.random(samples) * picked.lengths).astype(np.int64)
    kind = generator.integers(3, size=samples)
    times = np.ones(len(picked.codes), dtype=np.int64)
    times[place[kind == 0]], times[place[kind == 1]] = 0, 2
    here, ahead = place[kind == 2], np.minimum(place + 1, last)[kind == 2]
    codes = picked.codes.copy()
    codes[here], codes[ahead] = picked.codes[ahead], picked.codes[here]
    lengths = np.add.reduceat(times, first)
    offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
    return Variants.of_cases(head.activities, np.repeat(codes, times), offsets)[0]


def mixed(some: Variants, others: Variants, share: float = 0.5) -> Variants:
    """The sequences of both, with `share` of the weight on the first."""
    parts = [(some, share), (others, 1 - share)]
    return joined(
        *(
            log.take(
                np.arange(len(log)), np.rint(1e6 * weight * log.counts / max(log.cases, 1)) + 1
            )
            for log, weight in parts
        )
    )[0]


def enough(cases: float, length: float) -> int:
    """Number of samples of this mean length that are worth the time for this many cases."""
    most = min(MOST_SAMPLES, MOST_SAMPLED_EVENTS / max(length, 1.0))
    return int(min(max(10 * cases, 50), most))


class Language:
    """What may follow in each state of a tree, for walks over `activities` and then the end.

    The end has the code after the last activity. States are numbered from 0, the start.
    """

    def __init__(self, tree: Tree, activities: tuple[str, ...]) -> None:
        silent = tuple(sorted(set(tree.labels) - set(activities)))
        self._automaton = Automaton(net_of(tree), activities + silent)
        self._symbols = np.append(np.arange(len(activities)), len(activities) + len(silent))
        self._named = np.append(self._automaton.known[: len(activities)], True)
        self._rows: dict[int, npt.NDArray[np.bool_]] = {}

    def allowed(self, states: Integers) -> npt.NDArray[np.bool_]:
        """Whether each activity, or the end, may come next: one row per state."""
        found, place = np.unique(states, return_inverse=True)
        rows: npt.NDArray[np.bool_] = np.array([self._row(state) for state in found.tolist()])
        return rows[place]

    def _row(self, state: int) -> npt.NDArray[np.bool_]:
        if state not in self._rows:
            steps, _ = self._automaton.lookup(np.full(len(self._symbols), state), self._symbols)
            taken = [self._automaton.steps[step] for step in steps.tolist()]
            fits = np.array([step.missing == 0 for step in taken])
            fits[-1] &= taken[-1].surplus == 0
            self._rows[state] = fits & self._named
        return self._rows[state]

    def after(self, states: Integers, following: Integers) -> Integers:
        """The states that follow these states by these activities."""
        return self._automaton.lookup(states, self._symbols[following])[1]


def central(candidates: Variants, head: Variants, cases: float, deviation: float) -> Variants:
    """The candidates that most lower the distance of all candidates to the support (k-median).

    Greedy, on top of the head. `cases` is how many cases the candidates stand for, `deviation`
    that of a vote's noise. A gain only falls as the support grows, so old gains bound new ones
    and few are computed anew.
    """
    length = candidates.events / max(candidates.cases, 1)
    affordable = MOST_COMPARED * min(1.0, LONG_EVENTS / max(length, 1.0))
    compared = int(min(affordable, LEAST_COMPARED + 3 * max(cases, 0.0)))
    often = np.sort(np.argsort(-candidates.counts, kind="stable")[:compared])
    pool = candidates.take(often)
    weight = (pool.counts * (max(cases, 1.0) / max(pool.cases, 1))).astype(np.float32)
    apart = distances(pool, pool)
    left = np.ones(len(pool), dtype=np.float32)
    if len(head):
        left = distances(pool, head).min(axis=1)
    most = int(min(max(USUAL_CELLS, cases * math.sqrt(2) / deviation), MOST_CELLS))
    chosen = _greedy(apart, weight, left, most, LEAST_MASS * deviation)
    return pool.take(np.array(chosen, dtype=np.int64))


def _greedy(
    apart: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
    left: npt.NDArray[np.float32],
    most: int,
    least_mass: float,
) -> list[int]:
    gains = np.maximum(left - apart, 0) @ weight
    bounds = [(-float(gain), place) for place, gain in enumerate(gains)]
    heapq.heapify(bounds)
    chosen: list[int] = []
    while bounds and len(chosen) < most:
        _, place = heapq.heappop(bounds)
        closer = np.maximum(left - apart[place], 0)
        gain = float(closer @ weight)
        if bounds and gain < -bounds[0][0] * (1 - 1e-6):
            heapq.heappush(bounds, (-gain, place))
            continue
        mass = float(weight[closer > 0].sum())
        if gain <= 1e-9 or (len(chosen) >= LEAST_CELLS and mass < least_mass):
            break
        chosen.append(place)
        left = np.minimum(left, apart[place])
    return chosen
