"""Exact output distributions of integer mechanisms, and the leak they imply.

A release of independent parts (one noisy count per variant) is a product of distributions; two
neighbouring logs differ in a few of them and the rest cancels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce, singledispatch
from typing import TYPE_CHECKING

import numpy as np

from discreet.audits.divergence import Distribution, joint, smallest_delta, smallest_epsilon
from discreet.audits.reference import NoisyCount
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.travas import TraVaS, UTraVaS, expected_hidden_count
from discreet.privacy.partition import TruncatedSelection

if TYPE_CHECKING:
    from discreet.log.events import EventLog
    from discreet.privacy.guarantee import Budget

Factors = dict[Hashable, Distribution]
NEGLIGIBLE = Fraction(1, 2**150)
"""Below the arithmetic's certainty; leaving it out makes every bound a lower one."""
HIDDEN = None
LARGEST = 200_000
"""Joint distributions of more outcomes are left alone."""
ABSENT: Distribution = {HIDDEN: Fraction(1)}


@dataclass(frozen=True)
class ExactLeak:
    """What two logs' output distributions imply: no confidence needed."""

    epsilon: float
    """The ε below which (ε, δ) fails."""
    delta: float
    """The δ below which (ε, δ) fails, at the ε that was promised."""
    contradicts: bool
    """Whether the promise is broken."""


@singledispatch
def factors(mechanism: Mechanism, log: EventLog) -> Factors | None:
    """The independent parts of a release with their distributions; None where not known.

    A part that is missing counts as hidden for certain. Register a mechanism with
    `@factors.register`.
    """
    return None


def exact_leak(
    mechanism: Mechanism, left: EventLog, right: EventLog, budget: Budget
) -> ExactLeak | None:
    """The exact leak between two logs against a budget, where the distributions are known."""
    if mechanism.cases_per_individual is not None:
        return None
    first, second = factors(mechanism, left), factors(mechanism, right)
    if first is None or second is None:
        return None
    keys = [
        key
        for key in first.keys() | second.keys()
        if first.get(key, ABSENT) != second.get(key, ABSENT)
    ]
    sizes = [math.prod(len(parts.get(key, ABSENT)) for key in keys) for parts in (first, second)]
    if max(sizes) > LARGEST:
        return None
    nothing: Distribution = {(): Fraction(1)}
    whole, other = (
        reduce(joint, (parts.get(key, ABSENT) for key in keys), nothing)
        for parts in (first, second)
    )
    this, that = _shared(whole, other), _shared(other, whole)
    delta = smallest_delta(this, that, budget.epsilon)
    return ExactLeak(
        epsilon=smallest_epsilon(this, that, budget.delta),
        delta=float(delta),
        contradicts=delta > Fraction(budget.delta) + NEGLIGIBLE,
    )


def _shared(left: Distribution, right: Distribution) -> Distribution:
    """Without the outcomes at which only an infinite distribution was cut off."""
    return {x: p for x, p in left.items() if p > NEGLIGIBLE or right.get(x, 0) > NEGLIGIBLE}


@factors.register(NoisyCount)
def _count(mechanism: NoisyCount, log: EventLog) -> Factors | None:
    return {"cases": {log.cases + x: p for x, p in mechanism.probabilities().items()}}


@factors.register(TraVaS)
def _travas(mechanism: TraVaS, log: EventLog) -> Factors | None:
    selection = mechanism.selection
    noise, threshold = selection.probabilities(), selection.threshold
    return {sequence: _shown(noise, count, threshold) for sequence, count in log.variants}


@factors.register(UTraVaS)
def _utravas(mechanism: UTraVaS, log: EventLog) -> Factors | None:
    if mechanism.runs > 1 and (mechanism.fidelity == "published" or mechanism.choose == "private"):
        return None
    runs = mechanism.runs
    each = mechanism.case_budget.share(1 / runs)
    selection = TruncatedSelection(each.epsilon, each.delta)
    noise, threshold = selection.probabilities(), selection.threshold
    if len(noise) ** 2 * runs**2 > 200_000:
        return None
    hidden = expected_hidden_count(selection.epsilon, selection.threshold)
    return {
        sequence: _mean(_shown(noise, count, threshold), runs, hidden)
        for sequence, count in log.variants
    }


def _shown(noise: dict[int, Fraction], count: int, threshold: int) -> Distribution:
    """One key of partition selection: its noisy count where that passes the threshold."""
    outcomes: dict[Hashable, Fraction] = defaultdict(Fraction)
    for x, p in noise.items():
        outcomes[count + x if count + x > threshold else HIDDEN] += p
    return dict(outcomes)


def _mean(one: Distribution, runs: int, hidden: float) -> Distribution:
    """The mean of several runs, rounded, an expected count in place of each hidden one."""
    sums: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(1)}
    for _ in range(runs):
        grown: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        for (times, total), p in sums.items():
            for outcome, q in one.items():
                if outcome is HIDDEN:
                    grown[times, total] += p * q
                else:
                    assert isinstance(outcome, int)
                    grown[times + 1, total + outcome] += p * q
        sums = grown
    outcomes: dict[Hashable, Fraction] = defaultdict(Fraction)
    for (times, total), p in sums.items():
        mean = int(np.rint((total + (runs - times) * hidden) / runs))
        outcomes[mean if times else HIDDEN] += p
    return dict(outcomes)
