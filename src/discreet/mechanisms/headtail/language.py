"""Language: the sequences that a process tree allows, step by step. Post-processing only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers
from discreet.models.automaton import Automaton
from discreet.models.petri import net_of
from discreet.models.tree import Tree


class Language:
    """What may follow in each state of a tree, for walks over `activities` and then the end.

    The end has the code after the last activity. States are numbered from 0, the start.
    """

    def __init__(self, tree: Tree, activities: tuple[str, ...]) -> None:
        silent = tuple(sorted(set(tree.labels) - set(activities)))
        self._automaton = Automaton(net_of(tree), activities + silent)
        self._symbols = np.append(np.arange(len(activities)), len(activities) + len(silent))
        self._named = np.append(self._automaton.known[: len(activities)], True)
        self._rows: dict[int, npt.NDArray[np.bool_]] = {}

    def allowed(self, states: Integers) -> npt.NDArray[np.bool_]:
        """For each state a row: may this activity, or the end, come next?"""
        found, place = np.unique(states, return_inverse=True)
        rows: npt.NDArray[np.bool_] = np.array([self._row(state) for state in found.tolist()])
        return rows[place]

    def _row(self, state: int) -> npt.NDArray[np.bool_]:
        if state not in self._rows:
            steps, _ = self._automaton.lookup(np.full(len(self._symbols), state), self._symbols)
            taken = [self._automaton.steps[step] for step in steps.tolist()]
            fits = np.array([step.missing == 0 for step in taken])
            fits[-1] &= taken[-1].surplus == 0
            self._rows[state] = fits & self._named
        return self._rows[state]

    def after(self, states: Integers, following: Integers) -> Integers:
        """The states that these steps lead to."""
        return self._automaton.lookup(states, self._symbols[following])[1]
