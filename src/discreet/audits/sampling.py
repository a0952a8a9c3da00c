"""Many independent releases of one small log, as features."""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Floats
from discreet.audits.features import Features
from discreet.mechanisms.base import Mechanism
from discreet.privacy.randomness import Randomness
from discreet.releases import Artefact

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


QUICK = Effort(runs=20_000, seconds=0.5, fewest=60)
FULL = Effort(runs=100_000, seconds=2.5)


def batched(mechanism: Mechanism) -> bool:
    """Whether the cheaper path draws what a release draws.

    It does not where a subclass replaced `_draw` alone, nor where individuals are bounded first.
    """
    owners = type(mechanism).__mro__
    one = next(i for i, owner in enumerate(owners) if "_draw" in vars(owner))
    many = next(i for i, owner in enumerate(owners) if "_draw_many" in vars(owner))
    return many <= one and mechanism.cases_per_individual is None


def releases(mechanism: Mechanism, log: EventLog, runs: int) -> list[Artefact | None]:
    """Artefacts of as many releases, with the operating system's randomness; None if refused."""
    if batched(mechanism):
        try:
            return list(mechanism._draw_many(log, runs, Randomness.system()))
        except ValueError:
            pass
    return [_release(mechanism, log) for _ in range(runs)]


def _release(mechanism: Mechanism, log: EventLog) -> Artefact | None:
    try:
        artefact: Artefact = mechanism.release(log).artefact
    except ValueError:
        return None
    return artefact


def sample(mechanism: Mechanism, log: EventLog, runs: int, features: Features) -> Floats:
    """The features of as many releases, one row each."""
    measured = []
    left = runs
    while left:
        size = min(left, CHUNK)
        measured.append(features.measure(releases(mechanism, log, size)))
        left -= size
    return np.vstack(measured)


def affordable(
    mechanism: Mechanism, logs: tuple[EventLog, EventLog], features: Features, effort: Effort
) -> int:
    """How many releases of each log the effort allows, from trials that are thrown away.

    Decided before the runs that count, so that nothing they show can stop them early.
    """
    trials = 4
    while True:
        begin = process_time()
        for log in logs:
            sample(mechanism, log, trials, features)
        took = process_time() - begin
        if took > 0.1 * effort.seconds or trials >= min(effort.runs, 1000):
            break
        trials *= 4
    runs = min(effort.runs, int(trials * effort.seconds / max(took, 1e-9)))
    return min(effort.runs, max(effort.fewest, runs)) // 4 * 4
