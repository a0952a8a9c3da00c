"""Algorithms 3 to 5 of the paper: a tree from the selected pairs with their noisy counts.

Where the paper's text and listings differ or are misprinted, this is what is done:
- an activity's count sums all its pairs, also the one with END (otherwise whatever ends a case
  would always be optional, and Table I would not give Fig. 1);
- where there is no cut, line 21 hands every activity to AppendTree as a part of its own: the
  leaves of the flower are looped and optional as all leaves are;
- AppendTree continues with the next part after a recursion (line 17 returns too early);
- after a sequence or a choice, the starts (ends) of a part are those of the whole that lie in
  it, and what is entered (left) from outside of it;
- the redo part of a loop, which no projected case starts with, is entered from the body's ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.models.cuts import exclusive_cut, loop_cut, parallel_cut, sequence_cut
from discreet.models.tree import TAU, Operator, Tree, activity, exclusive, loop, optional

Ends = Callable[[set[int], float], "tuple[Booleans, Booleans] | None"]
"""Reads start and end activities of a part of the log privately; None where no budget is left.

Takes the activities and the share of the budget that the halving of Algorithm 4 leaves.
"""


@dataclass(frozen=True)
class Build:
    """What stays the same through the recursion."""

    labels: tuple[str, ...]
    chosen: Booleans
    """Which pairs were selected: START is the last row, END the last column."""
    counts: Floats
    margin: float
    """What counts as considerable: √8 times the scale of the noise."""
    ends: Ends

    def tree(self) -> Tree:
        """BuildT on all activities that some selected pair names."""
        inner = self.chosen[:-1, :-1]
        named = inner.any(axis=0) | inner.any(axis=1)
        named |= self.chosen[-1, :-1] | self.chosen[:-1, -1]
        members = np.flatnonzero(named).tolist()
        if not members:
            return Tree()
        start, end = self.chosen[-1, :-1].copy(), self.chosen[:-1, -1].copy()
        if len(members) == 1:
            return self._leaf(members[0]).folded()
        return self._build(members, inner, start, end, 1.0).folded()

    @property
    def size(self) -> float:
        """DP-ESize: the noisy number of cases."""
        return float(self.counts[-1][self.chosen[-1]].sum())

    def _activity_count(self, members: list[int]) -> float:
        return float(np.where(self.chosen, self.counts, 0)[members].sum())

    def _build(
        self, members: list[int], edges: Booleans, start: Booleans, end: Booleans, share: float
    ) -> Tree:
        """Algorithm 3 on some activities."""
        inside = np.array(members)
        local = edges[np.ix_(inside, inside)].copy()
        np.fill_diagonal(local, False)
        parts = sequence_cut(local)
        if parts is not None:
            return self._append("sequence", _global(parts, inside), edges, start, end, share)
        parts = exclusive_cut(local)
        if parts is not None:
            return self._append("exclusive", _global(parts, inside), edges, start, end, share)
        without_loops = self._without_loops(edges)
        local_without = without_loops[np.ix_(inside, inside)].copy()
        np.fill_diagonal(local_without, False)
        parts = parallel_cut(local_without, start[inside], end[inside])
        if parts is not None:
            return self._append(
                "parallel", _global(parts, inside), without_loops, start, end, share
            )
        parts = loop_cut(local, start[inside], end[inside])
        if parts is not None:
            return self._append("loop", _global(parts, inside), edges, start, end, share)
        everything = loop(TAU, exclusive(*(self._leaf(i) for i in members)))
        return self._perhaps(everything, members)

    def _without_loops(self, edges: Booleans) -> Booleans:
        """Delete pairs that occur both ways considerably more often than there are cases."""
        counts = self.counts[:-1, :-1]
        looping = edges & edges.T & (counts + counts.T >= self.size + self.margin)
        np.fill_diagonal(looping, False)
        return edges & ~looping

    def _append(
        self,
        operator: Operator,
        parts: list[list[int]],
        edges: Booleans,
        start: Booleans,
        end: Booleans,
        share: float,
    ) -> Tree:
        """Algorithm 4: the cut, with a leaf or a subtree for each part."""
        children = []
        fresh = None
        if operator in ("parallel", "loop"):
            share /= 2
            fresh = self.ends({i for part in parts for i in part}, share)
        for number, part in enumerate(parts):
            if len(part) == 1:
                children.append(self._leaf(part[0]))
                continue
            begins, finishes = self._entered(part, edges, start, end)
            if fresh is not None and not (operator == "loop" and number == 1):
                begins, finishes = fresh
            elif operator == "parallel":
                begins, finishes = start, end
            if operator == "loop":
                kept = edges.copy()
                kept[np.ix_(np.flatnonzero(end), np.flatnonzero(start))] = False
            else:
                kept = edges
            children.append(self._build(part, kept, begins, finishes, share))
        made = Tree(operator=operator, children=tuple(children))
        if operator == "loop":
            made = optional(made)
        return self._perhaps(made, [i for part in parts for i in part])

    def _perhaps(self, made: Tree, members: list[int]) -> Tree:
        """Optional if its activities together are considerably rarer than cases."""
        rare = self._activity_count(members) <= self.size - self.margin
        return optional(made) if rare else made

    def _entered(
        self, part: list[int], edges: Booleans, start: Booleans, end: Booleans
    ) -> tuple[Booleans, Booleans]:
        outside = np.ones(len(edges), dtype=bool)
        outside[part] = False
        return start | edges[outside].any(axis=0), end | edges[:, outside].any(axis=1)

    def _leaf(self, number: int) -> Tree:
        leaf = activity(self.labels[number])
        if self.chosen[number, number]:
            return loop(leaf)
        if self._activity_count([number]) <= self.size - self.margin:
            return optional(leaf)
        return leaf


def _global(parts: list[list[int]], inside: Integers) -> list[list[int]]:
    return [[int(i) for i in inside[part]] for part in parts]
