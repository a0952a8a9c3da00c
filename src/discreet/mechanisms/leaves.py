"""The same mechanism with other leaves in its tree of steps: silent, given or recorded ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TypeVar

from discreet.mechanisms.base import Mechanism
from discreet.privacy.guarantee import Budget
from discreet.privacy.steps import Step

Changed = TypeVar("Changed", bound=Mechanism)


def with_leaves(mechanism: Changed, change: Callable[[Step], Step | None]) -> Changed:
    """The mechanism with other leaves in its tree of steps, the rest being the same."""
    assert mechanism.spending is not None
    tree = mechanism.spending.mapped(change)
    mutant = copy(mechanism)
    mutant.__dict__.update(spending=tree, _spending=partial(_same, tree))
    return mutant


def _same(tree: Step, budget: Budget) -> Step:
    return tree
