"""Many independent releases of one small log, with what their steps answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.artefacts.release import Artefact
from discreet.mechanisms.base import Mechanism
from discreet.privacy.randomness import Randomness, known_coins
from discreet.privacy.transcript import Transcript, transcript

if TYPE_CHECKING:
    from discreet.log.events import EventLog

CHUNK = 5_000


@dataclass(frozen=True)
class Effort:
    """How much an audit may take per pair of logs."""

    runs: int
    """Releases of each log, at most."""
    seconds: float
    """Processor time for them, about."""
    fewest: int = 200
    """Releases of each log, at least."""
    trials: int = 20
    """Releases of each log from which is learned what to look at; they count for nothing else."""


QUICK = Effort(runs=20_000, seconds=0.5, fewest=60)
FULL = Effort(runs=100_000, seconds=0.5, fewest=40, trials=8)


class Run(NamedTuple):
    """One release: what came out, None if it was refused, and what its steps answered."""

    artefact: Artefact | None
    answers: Transcript


Measure = Callable[[Sequence[Run]], Floats]


def batched(mechanism: Mechanism) -> bool:
    """Whether the cheaper path draws what a release draws, and shows as much.

    It does not where a subclass replaced `_draw` alone, where individuals are bounded first, nor
    where several steps answer, of which the artefact may hide some.
    """
    owners = type(mechanism).__mro__
    one = next(i for i, owner in enumerate(owners) if "_draw" in vars(owner))
    many = next(i for i, owner in enumerate(owners) if "_draw_many" in vars(owner))
    single = mechanism.spending is None or sum(not s.steps for s in mechanism.spending.walk()) == 1
    return many <= one and mechanism.cases_per_individual is None and single


def releases(mechanism: Mechanism, log: EventLog, runs: int, until: str | None = None) -> list[Run]:
    """As many releases, with the operating system's randomness, or their beginnings.

    A release that ends with the first answer of a step is a part of the whole one: what the
    promise says of that it says of the part.
    """
    if batched(mechanism):
        try:
            drawn = mechanism._draw_many(log, runs, Randomness.system())
            return [Run(artefact, {}) for artefact in drawn]
        except ValueError:
            pass
    return [_release(mechanism, log, until) for _ in range(runs)]


def _release(mechanism: Mechanism, log: EventLog, until: str | None) -> Run:
    artefact: Artefact | None = None
    with transcript(until) as answers, known_coins(), suppress(ValueError):
        mechanism.check(log)
        artefact = mechanism._draw(log, Randomness.system())
    return Run(artefact, answers)


def sample(
    mechanism: Mechanism, log: EventLog, runs: int, measure: Measure, until: str | None = None
) -> Floats:
    """The features of as many releases, one row each."""
    measured = []
    left = runs
    while left:
        size = min(left, CHUNK)
        measured.append(measure(releases(mechanism, log, size, until)))
        left -= size
    return np.vstack(measured)


def affordable(
    mechanism: Mechanism, logs: tuple[EventLog, EventLog], measure: Measure, effort: Effort
) -> int:
    """How many releases of each log the effort allows, from trials that are thrown away.

    Decided before the runs that count, so that nothing they show can stop them early.
    """
    if effort.runs <= effort.fewest:
        return effort.runs // 4 * 4
    for log in logs:
        sample(mechanism, log, 2, measure)  # tables of noise are made once and do not count
    trials = 4
    while True:
        begin = process_time()
        for log in logs:
            sample(mechanism, log, trials, measure)
        took = process_time() - begin
        if took > 0.1 * effort.seconds or trials >= min(effort.runs, 1000):
            break
        trials *= 4
    runs = min(effort.runs, int(trials * effort.seconds / max(took, 1e-9)))
    return min(effort.runs, max(effort.fewest, runs)) // 4 * 4
