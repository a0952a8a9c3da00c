"""Candidates: sequences that the log may well hold, sampled from what is already released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.log.follows import pairs
from discreet.log.variants import Variants

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SAMPLES = 4000
"""Sequences that are sampled."""

PHASES = 9
"""Phases of a case."""

ALONE = 1.0
"""Weight of all the steps out of an activity that no released variant takes, over the number of
variants: with a small head more has to be guessed."""


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
class Chain:
    """A Markov chain over `activities`; one more code is the start and the end.

    `levels` holds for each level of context a sorted list of those that are known, and for each
    the weights of what follows. The most precise one that is known decides.
    """

    activities: tuple[str, ...]
    levels: list[tuple[Integers, Floats]]

    def sample(self, max_length: int, generator: np.random.Generator) -> Variants:
        """Sequences that came to their end within the length; all, cut off, if few did."""
        mark = len(self.activities)
        sequences = np.full((SAMPLES, max_length + 2), mark, dtype=np.int64)
        running = np.arange(SAMPLES)
        for step in range(max_length + 1):
            past = [sequences[running, max(step - back, 0)] for back in range(len(self.levels))]
            weights = self.weights(np.full(len(running), step), past)
            if step == 0:
                weights[:, mark] = 0
            reach = np.cumsum(weights, axis=1)
            point = generator.random(len(running)) * reach[:, -1]
            following = np.minimum((reach <= point[:, None]).sum(axis=1), mark)
            if step < max_length:
                sequences[running, step + 1] = following
            running = running[following != mark]
            if not len(running):
                break
        ended = np.setdiff1d(np.arange(SAMPLES), running)
        kept = sequences[ended] if 10 * len(ended) > SAMPLES else sequences
        return _counted(self.activities, kept)

    def weights(self, steps: Integers, past: list[Integers]) -> Floats:
        """How likely each activity, or the end, is to follow."""
        base = len(self.activities) + 1
        found = np.zeros((len(steps), base))
        for level, (contexts, rows) in enumerate(self.levels):
            place, known = located(contexts, context(level, base, steps, past))
            found[known] = rows[place[known]]
        return found


def located(contexts: Integers, wanted: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Where each wanted number is in a sorted list, and whether it is there at all."""
    place = np.minimum(np.searchsorted(contexts, wanted), len(contexts) - 1)
    return place, contexts[place] == wanted


def _counted(activities: tuple[str, ...], sequences: Integers) -> Variants:
    mark = len(activities)
    inside = sequences != mark
    lengths = inside.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
    return Variants.of_cases(activities, sequences[inside].astype(np.int32), offsets)[0]


def recombined(head: Variants, generator: np.random.Generator) -> Variants:
    """Walks through the directly-follows graph of the released variants, each weighted once."""
    source, target, _ = pairs(head)
    size = len(head.activities) + 1
    weights = np.full((size, size), ALONE / (size * len(head)))
    np.add.at(weights, (source, target), 1.0)
    chain = Chain(head.activities, [(np.arange(size), weights)])
    return chain.sample(2 * int(head.lengths.max()), generator)
