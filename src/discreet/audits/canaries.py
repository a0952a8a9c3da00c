"""Audits in one run, for mechanisms too slow to run thousands of times: models trained by DP-SGD.

Many canaries are put into the data or left out, each by its own fair coin; after a single run the
auditor guesses the coins from the result. Under (ε, δ) nobody guesses well (Steinke, Nasr,
Jagielski: Privacy Auditing with One (1) Training Run, NeurIPS 2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Booleans, Floats
from discreet.audits.bounds import epsilon_from_one_run, one_run_p_value
from discreet.audits.result import CONFIDENCE, FALSE_ALARM
from discreet.log.neighbours import Case, Trace, make_log
from discreet.log.variants import Variants
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness

if TYPE_CHECKING:
    from discreet.log.events import EventLog
    from discreet.mechanisms.base import Mechanism

# Proof: fixed beforehand, so that the error can be divided among them
GUESSED = (0.02, 0.1, 0.3, 1.0)
"""Shares of the canaries that are guessed."""
CONFIRMATIONS = 3
"""Fresh runs that must all contradict the budget before it is called broken. One is not enough:
(ε, δ) allows a run to give everything away with a probability of about δ."""


@dataclass(frozen=True)
class OneRunAudit:
    """What one run showed about the coins of its canaries."""

    against: Budget
    canaries: int
    guesses: int
    correct: int
    epsilon: float
    """ε is at least this, with 95% confidence."""
    contradicts: bool
    """Whether the budget is broken, wrongly at most once in 10⁹."""


def audit_one_run(run: Callable[[Booleans], Floats], canaries: int, against: Budget) -> OneRunAudit:
    """Audit a training procedure by its canaries.

    `run` trains once with the canaries that are True and returns a score for each canary, higher
    where it looks included. The promise is for one canary more or less, or replaced. Runs once, and
    three times more only where that one run speaks against the budget.
    """
    if canaries < 2:
        raise ParameterError(f"an audit in one run needs at least 2 canaries, not {canaries}")
    guessed = _guessed(run, canaries)
    alpha = (1 - CONFIDENCE) / len(guessed)
    bounds = [epsilon_from_one_run(canaries, r, v, against.delta, alpha) for r, v in guessed]
    best = int(np.argmax(bounds))
    contradicts = bounds[best] > against.epsilon and all(
        _p_value(_guessed(run, canaries), canaries, against) < FALSE_ALARM ** (1 / CONFIRMATIONS)
        for _ in range(CONFIRMATIONS)
    )
    return OneRunAudit(against, canaries, *guessed[best], bounds[best], contradicts)


def _guessed(run: Callable[[Booleans], Floats], canaries: int) -> list[tuple[int, int]]:
    """Toss the coins, run once, guess some of them: how many, and how many rightly."""
    rng = Randomness.system()
    included = (rng.words(canaries) & np.uint64(1)).astype(np.bool_)
    scores = np.asarray(run(included), dtype=np.float64)
    if scores.shape != (canaries,):
        raise ParameterError(f"needs one score per canary: {canaries}, not {scores.shape}")
    ranked = included[np.lexsort([rng.permutation(canaries), scores])]
    guessed = []
    for share in GUESSED:
        each = max(1, int(canaries * share) // 2)
        guessed.append((2 * each, int(ranked[-each:].sum() + (~ranked[:each]).sum())))
    return guessed


def _p_value(guessed: list[tuple[int, int]], canaries: int, against: Budget) -> float:
    return len(guessed) * min(
        one_run_p_value(canaries, r, v, against.epsilon, against.delta) for r, v in guessed
    )


def audit_canaries(
    mechanism: Mechanism,
    log: EventLog,
    canaries: Sequence[Trace],
    score: Callable[[Any, Trace], float] | None = None,
    against: Budget | None = None,
) -> OneRunAudit:
    """Audit a mechanism by one release of a log into which canary cases were put or not.

    `score` says how much an artefact looks as if it had seen a canary; for variants by default
    the canary's released count, and then how near the nearest released variant comes. Held
    against what the mechanism promises, or `against`. Where it promises for cases that are
    replaced, a canary that is left out leaves its place to a usual case.
    """
    promise = mechanism.guarantee()
    against = against or promise.holds
    if against is None:
        raise ParameterError(f"{mechanism.name} makes no promise that one run could contradict")
    usual = next(iter(log.variants))[0] if promise.neighbours == "swap" else None

    def run(included: Booleans) -> Floats:
        cases = [Case(trace) for trace, count in log.variants for _ in range(count)]
        coins = zip(canaries, included, strict=True)
        tossed = [trace if used else usual for trace, used in coins]
        chosen = [Case(trace) for trace in tossed if trace is not None]
        artefact = mechanism.release(make_log([*cases, *chosen])).artefact
        if score is None:
            return _nearness(artefact, canaries)
        return np.array([score(artefact, trace) for trace in canaries])

    return audit_one_run(run, len(canaries), against)


def _nearness(artefact: Any, canaries: Sequence[Trace]) -> Floats:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    variants = artefact if isinstance(artefact, Variants) else artefact.variants
    released = variants.to_dict()
    near = cdist(
        canaries,
        list(released),
        scorer=Levenshtein.normalized_similarity,
        dtype=np.float64,
    ).max(axis=1, initial=0.0)
    return np.asarray(near + [released.get(trace, 0) for trace in canaries])
