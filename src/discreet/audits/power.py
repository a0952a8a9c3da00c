"""Could an audit have noticed? The same audit of a mechanism whose steps draw no noise, in turn."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

from discreet.audits.measuring import audit_pair, audit_step
from discreet.audits.mutants import alone, noisy_leaves, without_noise
from discreet.audits.result import CONFIDENCE, Power
from discreet.audits.sampling import Effort
from discreet.audits.subjects import Subject
from discreet.log.neighbours import Pair
from discreet.mechanisms.base import Mechanism
from discreet.privacy.steps import Choosing

FEW = Effort(runs=48, seconds=0.0, fewest=48, trials=12)
"""Without noise an answer is nearly certain: few runs tell, those that confirm it included."""


def mutant_steps(subject: Subject, pairs: Sequence[Pair]) -> list[str]:
    """The noisy steps on any of the pairs of a mechanism that promises something."""
    built = [subject.build(pair) for pair in pairs if not pair.canaries]
    promising = [one for one in built if one.guarantee().holds is not None]
    return list(dict.fromkeys(leaf for one in promising for leaf in noisy_leaves(one)))


def measure_power(
    subject: Subject, step: str, pairs: Sequence[Pair], effort: Effort = FEW
) -> Power:
    """What the mutant without one step's noise gives away, on the first pair that catches it.

    If none does, that on which it gives most away.
    """
    begin, best = process_time(), None
    for pair in pairs:
        mechanism = subject.build(pair)
        if pair.canaries or step not in noisy_leaves(mechanism):
            continue
        found = _on_pair(mechanism, step, pair, effort, begin)
        if found is not None and (best is None or _severity(found) > _severity(best)):
            best = found
        if best is not None and best.caught:
            break
    if best is None:
        raise ValueError(f"{subject.mechanism}: no pair could be held against {step!r}")
    return best


def _severity(power: Power) -> tuple[bool, float]:
    return power.caught, power.mutant


def _on_pair(
    mechanism: Mechanism, step: str, pair: Pair, effort: Effort, begin: float
) -> Power | None:
    """Against the whole promise; a choice, if that does not show it, against its own cost.

    What a choice answers may tell little unless it is known between what it chose.
    """
    alpha = 1 - CONFIDENCE
    found = audit_pair(without_noise(mechanism, step), pair, effort, alpha)
    whole = found.promise
    leaf = mechanism.step(step, Choosing) if _chooses(mechanism, step) else None
    if leaf is not None and not (whole and whole.contradicts):
        lone = alone(mechanism, step)
        mutant = audit_step(without_noise(lone, step), step, pair, leaf.spent, effort, alpha)
        sound = audit_step(lone, step, pair, leaf.spent, effort, alpha)
        if mutant is not None and sound is not None:
            return Power(
                step,
                pair.name,
                effort.runs,
                leaf.spent,
                True,
                sound.epsilon,
                mutant.epsilon,
                mutant.event,
                mutant.contradicts and not sound.contradicts,
                process_time() - begin,
            )
    if whole is None:
        return None
    return Power(
        step,
        pair.name,
        found.runs,
        whole.against,
        False,
        None,
        whole.epsilon,
        whole.event,
        whole.contradicts,
        process_time() - begin,
    )


def _chooses(mechanism: Mechanism, step: str) -> bool:
    return mechanism.spending is not None and isinstance(mechanism.spending.named(step), Choosing)
