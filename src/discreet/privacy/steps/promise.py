"""From a tree of steps to the guarantee that it gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.guarantee import Budget, Guarantee, Neighbours, Status
from discreet.privacy.steps.base import SpendingError, Step

# Tuned: by what reads best; either statement is true.

AS_ASKED = Fraction(99, 100)
"""Least part of what was asked for whose spending is stated as what was asked for, which is a
little more; a release that spends less is stated as what it spends."""


@dataclass(frozen=True)
class Statement:
    """What a guarantee states about a release besides its cost."""

    reason: str
    status: Status = "proved"
    neighbours: Neighbours = "add-remove"
    conditions: tuple[str, ...] = ()
    claimed: Budget | None = None
    """The claim of a paper, where that is not what holds."""


def promised(tree: Step | None, asked: Budget, statement: Statement) -> Guarantee:
    """The guarantee that the steps give; raises SpendingError if they cost more than was asked.

    Where a paper's claim is stated, what holds is what the steps cost, if anything is known of it.
    """
    holds = None if tree is None else tree.spent
    proved = statement.status in ("proved", "conditional")
    if proved:
        if tree is None or holds is None:
            raise SpendingError("a proved guarantee needs the steps that it spends")
        _distinct_names(tree)
        if statement.claimed is None:
            if holds.epsilon > asked.epsilon or holds.delta > asked.delta:
                raise SpendingError(f"the steps cost {holds}, more than {asked}")
            holds = as_asked(holds, asked)
    whole = None if tree is None else tree.stated()
    return Guarantee(
        status=statement.status,
        claimed=asked if proved and statement.claimed is None else statement.claimed,
        holds=holds,
        reason=statement.reason,
        neighbours=statement.neighbours,
        conditions=statement.conditions,
        parts=() if whole is None else whole.parts or (whole,),
        composition="one step" if tree is None or not tree.steps else tree.rule,
    )


def as_asked(spent: Budget, asked: Budget) -> Budget:
    """What was asked for, where all but a little of it is spent; else what is spent."""

    def stated(cost: float, limit: float) -> float:
        return limit if Fraction(cost) >= AS_ASKED * Fraction(limit) else cost

    return Budget(stated(spent.epsilon, asked.epsilon), stated(spent.delta, asked.delta))


def _distinct_names(tree: Step) -> None:
    twice = [name for name, n in Counter(step.name for step in tree.walk()).items() if n > 1]
    if twice:
        raise SpendingError(f"steps share a name: {', '.join(sorted(twice))}")
