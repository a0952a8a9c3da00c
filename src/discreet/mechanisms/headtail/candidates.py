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

ALONE = 0.5
"""A step that no released variant takes, against one that a single variant takes."""


@dataclass(frozen=True)
class Chain:
    """A Markov chain of mixed order over `activities`; one more code is the start and the end.

    `orders[k - 1]` holds contexts of the last k symbols, as sorted numbers in base
    (activities + 1), and for each the weight of every next symbol. The longest context that is
    listed decides; all of order 1 are.
    """

    activities: tuple[str, ...]
    orders: list[tuple[Integers, Floats]]

    def sample(self, max_length: int, generator: np.random.Generator) -> Variants:
        """Sequences that came to their end within the length; all, cut off, if few did."""
        mark = len(self.activities)
        sequences = np.full((SAMPLES, max_length), mark, dtype=np.int64)
        past = np.full((SAMPLES, len(self.orders)), -1, dtype=np.int64)
        past[:, -1] = mark
        running = np.arange(SAMPLES)
        for step in range(max_length + 1):
            weights = self._weights(past[running])
            if step == 0:
                weights[:, mark] = 0
            reach = np.cumsum(weights, axis=1)
            point = generator.random(len(running)) * reach[:, -1]
            following = np.minimum((reach <= point[:, None]).sum(axis=1), mark)
            past[running] = np.column_stack([past[running][:, 1:], following])
            running, following = running[following != mark], following[following != mark]
            if step == max_length or not len(running):
                break
            sequences[running, step] = following
        ended = np.setdiff1d(np.arange(SAMPLES), running)
        return _counted(self.activities, sequences[ended] if 10 * len(ended) > SAMPLES else sequences)

    def _weights(self, past: Integers) -> Floats:
        base = len(self.activities) + 1
        weights = self.orders[0][1][past[:, -1]]
        context = past[:, -1].copy()
        for order, (contexts, rows) in enumerate(self.orders[1:], start=2):
            symbol = past[:, -order]
            context += symbol * base ** (order - 1)
            place = np.minimum(np.searchsorted(contexts, context), len(contexts) - 1)
            known = (symbol >= 0) & (contexts[place] == context)
            weights[known] = rows[place[known]]
            context[symbol < 0] = -1
        return weights


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
    weights = np.full((size, size), ALONE / size)
    np.add.at(weights, (source, target), 1.0)
    chain = Chain(head.activities, [(np.arange(size), weights)])
    return chain.sample(2 * int(head.lengths.max()), generator)
