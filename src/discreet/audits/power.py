"""Could an audit have noticed? The same mechanism, of which one step after the other is silent.

Two things may go wrong by chance, and neither is left to faith. A sound step may be called
violated: an event is counted on runs that did not choose it and must break the budget at a p-value
below 10⁻⁹, divided among the turns, so that happens at most once in 10⁹ audits of a step. A silent
step may be missed: `chance_of_missing` computes how likely that is, exactly, from how often its
event was seen. Mostly it is always seen on one log and never on the other: without noise an answer
follows from the log, the answers before it, and coins that are known (`privacy/randomness.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache, partial
from time import process_time
from typing import NamedTuple

import numpy as np

from discreet.audits.measuring import TURNS, Turn, audit_mutant, breaks, fixed_before
from discreet.audits.mutants import alone, noisy_leaves, without_noise
from discreet.audits.result import Evidence, Power
from discreet.audits.subjects import Subject
from discreet.log.neighbours import Pair
from discreet.mechanisms.base import Mechanism
from discreet.privacy.guarantee import Budget
from discreet.privacy.steps import Choosing, Laplace, Step

MOST_PAIRS = 3
"""Pairs that are looked at again, the most promising ones, if none showed a mutant at once."""

NEGLIGIBLE = 1e-12
"""A chance that is not followed further."""

Looked = tuple[Subject, Sequence[Pair]]
"""A mechanism with parameters, and the pairs to try it on."""


def mutant_steps(looked: Sequence[Looked]) -> list[str]:
    """The noisy steps that the promises of a mechanism rest on, with any of its parameters."""
    built = [one.build(pair) for one, pairs in looked for pair in pairs if not pair.canaries]
    promising = [one for one in built if one.guarantee().holds is not None]
    return list(dict.fromkeys(leaf for one in promising for leaf in noisy_leaves(one)))


class _Tried(NamedTuple):
    """A mutant on one pair."""

    subject: Subject
    pair: Pair
    against: Budget
    alone: bool
    found: Evidence

    @property
    def promise(self) -> tuple[bool, float, float]:
        """Whether it was caught, what it gave away, and how differently the logs look."""
        likely, other = self.found.shares
        return self.found.contradicts, self.found.epsilon, likely - other


def measure_power(looked: Sequence[Looked], step: str) -> Power:
    """What the mutant without one step's noise gives away, where it is first caught.

    If it never is, where it gives most away.
    """
    begin = process_time()
    rest = [(subject, pair) for subject, pairs in looked for pair in pairs]
    best = None
    for turn in TURNS:
        tried = []
        for subject, pair in rest:
            found = _on_pair(subject, pair, step, turn)
            if found is not None:
                tried.append(found)
            if found is not None and found.found.contradicts:
                break
        tried.sort(key=lambda one: one.promise, reverse=True)
        best = tried[0] if tried else None
        if best is None or best.found.contradicts:
            break
        rest = [(one.subject, one.pair) for one in tried[:MOST_PAIRS]]
    seconds = process_time() - begin
    if best is None:
        return Power(step, {}, "", 0, None, False, 0.0, "", False, 1.0, seconds)
    return Power(
        step=step,
        parameters=best.subject.parameters,
        pair=best.pair.name,
        runs=turn.runs(best.against.epsilon),
        against=best.against,
        alone=best.alone,
        mutant=best.found.epsilon,
        event=best.found.event,
        caught=best.found.contradicts,
        missed=chance_of_missing(best.found.shares, turn.runs(best.against.epsilon), best.against),
        seconds=seconds,
    )


@lru_cache
def chance_of_missing(shares: tuple[float, float], runs: int, against: Budget) -> float:
    """How likely all turns together would miss an event seen in such shares of so many runs.

    Its probabilities are taken for those of one more run that shows it and one more that does
    not, so nothing is taken for certain. A turn misses it where it seems too weak in the trials
    or is counted too rarely; turns draw afresh, so their chances multiply.
    """
    likely, other = ((share * runs + 1) / (runs + 2) for share in shares)
    missed = 1.0
    for turn in TURNS:
        counted = turn.runs(against.epsilon)
        shown = chance_to_break(likely, other, counted, counted, against)
        if turn != TURNS[-1]:
            shown *= chance_to_break(likely, other, turn.trials, counted, against)
        missed *= 1 - shown
        if missed < NEGLIGIBLE:
            break
    return missed


def chance_to_break(likely: float, other: float, seen: int, runs: int, against: Budget) -> float:
    """How likely the shares among as many runs as were seen would break a budget in `runs`."""
    from scipy.stats import binom

    numbers = np.arange(seen + 1)
    at_least = binom.sf(numbers - 1, seen, likely)
    chance = 0.0
    enough = 0
    for rare, weight in zip(numbers, binom.pmf(numbers, seen, other), strict=True):
        if weight < NEGLIGIBLE:
            continue
        enough += bisect_left(
            range(enough, seen + 1),
            True,
            key=partial(_enough, int(rare), seen, runs, against),
        )
        if enough <= seen:
            chance += float(weight * at_least[enough])
    return min(1.0, chance)


def _enough(other: int, seen: int, runs: int, against: Budget, hits: int) -> bool:
    return breaks((hits / seen, other / seen), runs, against)


def _on_pair(subject: Subject, pair: Pair, step: str, turn: Turn) -> _Tried | None:
    """Against the whole promise or, if that does not show it, against the step's own cost.

    What a choice answers tells little unless one knows between what it chose. The cost of a step
    is promised for whatever was answered before it; so where all before it answer the same on
    both logs, its answers may be held against it.
    """
    mechanism = subject.build(pair)
    whole = mechanism.guarantee().holds
    if pair.canaries or whole is None or step not in noisy_leaves(mechanism):
        return None
    mutant, against, lone = without_noise(mechanism, step), whole, False
    found = audit_mutant(mutant, step, pair, against, turn)
    if found is None:
        return None
    own = _own_cost(mechanism, step)
    if own is not None and not found.contradicts:
        single = alone(mechanism, step, pair.logs[0])
        if fixed_before(without_noise(single, step), step, pair):
            against, lone = own, True
            found = audit_mutant(without_noise(single, step), step, pair, against, turn)
            sound = audit_mutant(single, step, pair, against, turn)
            if sound is not None and sound.contradicts:
                raise AssertionError(f"{mechanism.name}: {step} costs more than {against}")
    return None if found is None else _Tried(subject, pair, against, lone, found)


def _own_cost(mechanism: Mechanism, step: str) -> Budget | None:
    """What a step costs whatever was answered before; None where it has no cost of its own."""
    leaf = mechanism.step(step, Step)  # type: ignore[type-abstract]
    return leaf.spent if isinstance(leaf, Choosing | Laplace) else None
