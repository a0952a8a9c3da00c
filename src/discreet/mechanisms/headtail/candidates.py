"""Candidates: sequences that the log may well hold, sampled from what is already released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Integers
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.mechanisms.headtail.language import Language
from discreet.mechanisms.headtail.nearness import joined
from discreet.models.inductive import inductive_miner

MOST_SAMPLES, MOST_SAMPLED_EVENTS = 12_000, 120_000
"""Sequences that are sampled at most, and their events."""

PHASES = 9
"""Phases of a case."""

SLIPS = 0.4
"""Slips of released variants for each walk through their graph."""

UNSEEN_STEPS = 1.0
"""Weight of all the steps out of an activity that no released variant takes, over the number of
variants: with a small head more has to be guessed."""

ENOUGH_CLEAR = 40
"""So many sequences within the model of the head are enough to choose from."""

MODELLED_HEAD = 500
"""Variants of the head that make its model, the most frequent ones."""

UNKNOWN_STEP = 1e-9
"""Weight of a step that a language allows and the chain does not know."""


def phases(steps: Integers) -> Integers:
    """The phase of a case after so many events: 0, 1, 2, 3–4, 5–8, …, more than 64."""
    doubled = np.ceil(np.log2(np.maximum(steps, 1))).astype(np.int64) + (steps > 0)
    return np.minimum(doubled, PHASES - 1)


def context(level: int, base: int, steps: Integers, past: list[Integers]) -> Integers:
    """What the next activity may depend on, as a number; `past` holds the last ones first.

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
    """What knows how likely each activity is to follow; the code after them is start and end."""

    activities: tuple[str, ...]

    @abstractmethod
    def chances(self, history: Integers) -> Floats:
        """How likely each activity, or the end, is to follow each row, which begins with START."""

    def sample(
        self,
        max_length: int,
        samples: int,
        generator: np.random.Generator,
        within: Language | None = None,
    ) -> Variants:
        """Sequences that came to their end within the length; all, cut off, if few did.

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
        """How likely each activity, or the end, is to follow; see `Walker`."""
        base = len(self.activities) + 1
        step = history.shape[1] - 1
        past = [history[:, max(step - back, 0)] for back in range(len(self.levels))]
        found = self.levels[0][1][past[0]]
        for level, (contexts, rows) in enumerate(self.levels[1:], 1):
            place, known = located(contexts, context(level, base, np.array(step), past))
            found[known] = rows[place[known]]
        return found


def located(contexts: Integers, wanted: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Where each wanted number is in a sorted list, and whether it is there at all."""
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
    that whoever discovers a model finds that one; where it has few sequences, half of them do.
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
    """Both, `share` of the weight on the first ones."""
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
    """How many samples of this length are worth the time for so many cases."""
    most = min(MOST_SAMPLES, MOST_SAMPLED_EVENTS / max(length, 1.0))
    return int(min(max(10 * cases, 50), most))
