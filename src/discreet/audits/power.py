"""Could an audit have noticed? The same mechanism, of which one step after the other is silent."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time
from typing import NamedTuple

from discreet.audits.measuring import TURNS, Turn, audit_mutant, fixed_before
from discreet.audits.mutants import alone, noisy_leaves, without_noise
from discreet.audits.result import Evidence, Power
from discreet.audits.subjects import Subject
from discreet.log.neighbours import Pair
from discreet.mechanisms.auto import Auto
from discreet.mechanisms.base import Mechanism
from discreet.privacy.guarantee import Budget
from discreet.privacy.steps import Choosing, Laplace, Step

MOST_PAIRS = 3
"""Pairs that are looked at again, the most promising ones, if none showed a mutant at once."""

Looked = tuple[Subject, Sequence[Pair]]
"""A mechanism with parameters, and the pairs to try it on."""


def mutant_steps(looked: Sequence[Looked]) -> list[str]:
    """The noisy steps that the promises of a mechanism rest on, with any of its parameters.

    None of auto's: they are those of the mechanism that it chooses, which has mutants of its own.
    """
    built = [one.build(pair) for one, pairs in looked for pair in pairs if not pair.canaries]
    promising = [
        one for one in built if one.guarantee().holds is not None and not isinstance(one, Auto)
    ]
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
        return Power(step, {}, "", 0, None, False, 0.0, "", False, seconds)
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
        seconds=seconds,
    )


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
    own = _own_cost(mechanism, step)
    if own is not None and not (found and found.contradicts):
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
