"""Could an audit have noticed? The same mechanism, of which one step after the other is silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import process_time

from discreet.audits.measuring import audit_mutant, certain_runs, fixed_before
from discreet.audits.mutants import alone, noisy_leaves, without_noise
from discreet.audits.result import Power
from discreet.audits.subjects import Subject
from discreet.log.neighbours import Pair
from discreet.mechanisms.base import Mechanism
from discreet.privacy.guarantee import Budget
from discreet.privacy.steps import Choosing, Laplace, Step

LEARN = 12
"""Runs of either log to learn what to look at, and as many to choose an event: without noise an
answer is nearly certain."""

Looked = tuple[Subject, Sequence[Pair]]
"""A mechanism with parameters, and the pairs to try it on."""


def mutant_steps(looked: Sequence[Looked]) -> list[str]:
    """The noisy steps that the promises of a mechanism rest on, with any of its parameters."""
    built = [one.build(pair) for one, pairs in looked for pair in pairs if not pair.canaries]
    promising = [one for one in built if one.guarantee().holds is not None]
    return list(dict.fromkeys(leaf for one in promising for leaf in noisy_leaves(one)))


def measure_power(looked: Sequence[Looked], step: str) -> Power:
    """What the mutant without one step's noise gives away, where it is first caught.

    If it never is, where it gives most away.
    """
    begin, best = process_time(), None
    for subject, pairs in looked:
        for pair in pairs:
            found = _on_pair(subject, step, pair)
            if found is None or (best is not None and _severity(found) <= _severity(best)):
                continue
            best = found
            if best.caught:
                return replace(best, seconds=process_time() - begin)
    if best is None:
        best = Power(step, {}, "", 0, None, False, 0.0, "", False)
    return replace(best, seconds=process_time() - begin)


def _severity(power: Power) -> tuple[bool, float]:
    return power.caught, power.mutant


def _on_pair(subject: Subject, step: str, pair: Pair) -> Power | None:
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
    found = audit_mutant(mutant, step, pair, against, LEARN)
    own = _own_cost(mechanism, step)
    if own is not None and not (found and found.contradicts):
        single = alone(mechanism, step, pair.logs[0])
        if fixed_before(without_noise(single, step), step, pair):
            against, lone = own, True
            found = audit_mutant(without_noise(single, step), step, pair, against, LEARN)
            sound = audit_mutant(single, step, pair, against, LEARN)
            if sound is not None and sound.contradicts:
                raise AssertionError(f"{mechanism.name}: {step} costs more than {against}")
    if found is None:
        return None
    return Power(
        step=step,
        parameters=subject.parameters,
        pair=pair.name,
        runs=certain_runs(against.epsilon),
        against=against,
        alone=lone,
        mutant=found.epsilon,
        event=found.event,
        caught=found.contradicts,
    )


def _own_cost(mechanism: Mechanism, step: str) -> Budget | None:
    """What a step costs whatever was answered before; None where it has no cost of its own."""
    leaf = mechanism.step(step, Step)  # type: ignore[type-abstract]
    return leaf.spent if isinstance(leaf, Choosing | Laplace) else None
