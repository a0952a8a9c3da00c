"""Controls: what a score must beat, or cannot beat, to mean anything. None of them is private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.log.events import EventLog, assemble
from discreet.log.instants import microseconds, since_start
from discreet.log.variants import Variants
from discreet.models.tree import flower
from discreet.privacy.randomness import Randomness


@dataclass(frozen=True)
class Control:
    """A reference point: how its artefact is made, and what it is measured against."""

    meaning: str
    draw: Callable[[EventLog, Randomness], tuple[EventLog | Variants, Any]]
    """Returns what to measure against, and the artefact."""
    random: bool = True
    model_only: bool = False
    """Whether it is a model, which is measured as such only."""
    times_only: bool = False
    """Whether it is measured by its times only."""
    size: float = 1.0
    """Share of the log that is measured; counts of edits are divided by it."""

    def scaled(self, figures: dict[str, float]) -> dict[str, float]:
        """The figures, with absolute ones as they would be for a whole log."""
        return {k: v / self.size if k.startswith("absolute") else v for k, v in figures.items()}

    def repetitions(self, asked: int) -> int:
        """How often it needs to be drawn."""
        return asked if self.random else 1


# Tuned
RANDOM_CASES = 500
"""Cases of a data-free log."""


def _ceiling(log: EventLog, rng: Randomness) -> tuple[EventLog, EventLog]:
    order = rng.permutation(log.cases)
    half = log.cases // 2
    return log.take_cases(np.sort(order[:half])), log.take_cases(np.sort(order[half:]))


def _uniform(log: EventLog, rng: Randomness) -> tuple[EventLog, Variants]:
    variants = log.variants
    each, rest = divmod(variants.cases, len(variants))
    counts = np.full(len(variants), each)
    counts[rng.permutation(len(variants))[:rest]] += 1
    return log, variants.take(np.flatnonzero(counts), counts[counts > 0])


def _data_free(log: EventLog, rng: Randomness) -> tuple[EventLog, Variants]:
    labels = log.activities
    orders = (tuple(labels[i] for i in rng.permutation(len(labels))) for _ in range(RANDOM_CASES))
    return log, Variants.from_counts((order, 1) for order in orders)


def _one_wait(log: EventLog, rng: Randomness) -> tuple[EventLog, EventLog]:
    begin, lengths = log.offsets[:-1], np.diff(log.offsets)
    waits = np.diff(since_start(log), prepend=0)
    later = np.setdiff1d(np.arange(log.events), begin)
    waits[begin] = 0
    waits[later] = waits[later[rng.permutation(len(later))]]
    passed = np.cumsum(waits)
    since = passed - np.repeat(passed[begin], lengths)
    times = since + np.repeat(microseconds(log)[begin], lengths)
    names = [str(i) for i in range(log.cases)]
    return log, assemble(names, log.activities, log.codes, log.offsets, times)


CONTROLS = {
    "original": Control(
        "the log itself; for models, what the raw log's model scores",
        lambda log, rng: (log, log),
        random=False,
    ),
    "ceiling": Control(
        "one random half of the log against the other: a fresh sample", _ceiling, size=0.5
    ),
    "uniform": Control(
        "every true variant equally often: what knowing the variants is worth", _uniform
    ),
    "data-free": Control("random orders of the alphabet: what knowing nothing scores", _data_free),
    "one-wait": Control(
        "the log with its waits shuffled: what one distribution for all waits scores",
        _one_wait,
        times_only=True,
    ),
    "flower": Control(
        "the model that allows everything: what any model scores",
        lambda log, rng: (log, flower(log.activities)),
        random=False,
        model_only=True,
    ),
}
