"""Discovering a tree from a directly-follows graph alone.

Nothing here sees a log, so on a graph with noise it costs no privacy. The Inductive Miner's cuts
are tried on the graph as it is; where there is none, rare edges are left out step by step until
there is one, and where that is not allowed or does not help, its fall-throughs are. What a log
would have told is read off the weights: a part of a sequence may be skipped if an edge jumps over
it, a parallel branch if it is entered less often than cases pass, and what a log looks like
without some activities is estimated by bridging them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.log.follows import Follows
from discreet.models.cuts import find_cut
from discreet.models.tree import (
    TAU,
    Tree,
    activity,
    exclusive,
    flower,
    loop,
    optional,
    parallel,
    sequence,
)

# Tuned: by hand; bench/dpim.py measures the trees that come of it.

STEPS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
"""Shares of the most frequent edge below which edges are left out, tried in this order."""

SLACK = 0.1
"""Largest share of cases that may lack a parallel branch that is not optional, if rare edges
may be left out."""

SEEN = 0.5
"""Least number of cases that bridging must predict for an edge to be kept."""


@dataclass
class Miner:
    """How a graph becomes a tree; every setting is a candidate for the same graph."""

    most: float = 0.5
    """Largest share of the most frequent edge that may be left out to find a cut; with 0 the tree
    is to allow all that the graph shows."""
    sure: bool = True
    """With `most` 0: whether a parallel branch may be missing unless one way into it shows that
    every case enters; if not, it is enough that the ways add up to all cases."""
    stuck: bool = False
    """Whether some part had no cut as it was, or might be missing by one reading only; if not,
    any `most` gives the same tree."""

    def mine(self, graph: Follows) -> Tree:
        """The tree of a graph in which missing edges have weight 0."""
        return self._mine(graph.trimmed()).folded()

    def _mine(self, graph: Follows) -> Tree:
        if not graph.activities:
            return TAU
        if len(graph.activities) == 1:
            leaf = activity(graph.activities[0])
            return loop(leaf) if graph.between[0, 0] > 0 else leaf
        for share in (step for step in STEPS if step <= self.most):
            found = self._cut(without_rare(graph, share))
            if found is not None:
                return found
            self.stuck = True
        return self._fall_through(graph)

    def _cut(self, graph: Follows) -> Tree | None:
        edges, start, end = graph.between > 0, graph.starts > 0, graph.ends > 0
        np.fill_diagonal(edges, False)
        cut = find_cut(edges, start, end)
        if cut is None:
            return None
        operator, parts = cut
        if operator == "exclusive":
            return exclusive(*(self._mine(graph.part(part)) for part in parts))
        if operator == "sequence":
            return self._sequence(graph, parts)
        if operator == "parallel":
            return parallel(*(self._branch(graph, part) for part in parts))
        return self._loop(graph, parts[0], parts[1])

    def _sequence(self, graph: Follows, parts: list[list[int]]) -> Tree:
        """The sequence of all parts, optional where an edge jumps over one."""
        place = np.empty(len(graph.activities), dtype=np.int64)
        for number, part in enumerate(parts):
            place[part] = number
        before, after = np.nonzero(graph.between)
        jumps = set(zip(place[before].tolist(), place[after].tolist(), strict=True))
        jumps |= {(-1, number) for number in place[graph.starts > 0].tolist()}
        jumps |= {(number, len(parts)) for number in place[graph.ends > 0].tolist()}
        forwards = np.where(place[:, None] < place, graph.between, 0)
        start, end = graph.starts + forwards.sum(axis=0), graph.ends + forwards.sum(axis=1)
        entered = Follows.joined(graph.activities, graph.between, start, end)
        children = []
        for number, part in enumerate(parts):
            child = self._mine(entered.part(part))
            jumped = any(source < number < target for source, target in jumps)
            children.append(optional(child) if jumped else child)
        return sequence(*children)

    def _branch(self, graph: Follows, part: list[int]) -> Tree:
        """A parallel branch, mined as the log would look without the others."""
        own = bridged(graph, set(range(len(graph.activities))).difference(part))
        child = self._mine(own.part(part))
        return optional(child) if self._rare(graph, part) else child

    def _rare(self, graph: Follows, part: list[int]) -> bool:
        """Whether these activities may be missing from a case.

        A graph does not tell how many cases enter a part by several ways: at least as many as by
        the most frequent one, at most the sum. Where nothing may be left out the first counts,
        or, if not `sure`, whether the sum is what every case entering once gives.
        """
        outside = np.ones(len(graph.activities), dtype=bool)
        outside[part] = False
        ways = graph.between[outside][:, part]
        begun, passing = graph.starts[part].sum(), graph.starts.sum()
        entered = begun + ways.sum()
        once = bool(abs(entered - passing) <= SLACK * passing)
        perhaps = bool(max(begun, ways.max(initial=0)) < passing) and (self.sure or not once)
        likely = bool(entered < (1 - SLACK) * passing)
        self.stuck |= perhaps != likely
        return likely if self.most else perhaps

    def _loop(self, graph: Follows, body: list[int], redo: list[int]) -> Tree:
        into = graph.between[body].sum(axis=0)
        out = graph.between[:, body].sum(axis=1)
        inner = self._mine(graph.part(body))
        entered = Follows.joined(graph.activities, graph.between, into, out)
        again = self._mine(entered.part(redo))
        ends, starts = np.flatnonzero(graph.ends), np.flatnonzero(graph.starts)
        straight = graph.between[np.ix_(ends, starts)].any()
        return loop(inner, optional(again) if straight else again)

    def _fall_through(self, graph: Follows) -> Tree:
        """One activity beside a cut of the others, a silent loop, or the rarest activity beside."""
        everyone = range(len(graph.activities))
        for aside in everyone:
            others = [i for i in everyone if i != aside]
            rest = bridged(graph, [aside])
            found = self._cut(rest.part(others))
            if found is not None:
                leaf = activity(graph.activities[aside])
                leaf = loop(leaf) if graph.between[aside, aside] > 0 else leaf
                return parallel(optional(leaf) if self._rare(graph, [aside]) else leaf, found)
        back = np.outer(graph.ends > 0, graph.starts > 0)
        if graph.between[back].any():
            once = Follows.joined(
                graph.activities, np.where(back, 0, graph.between), graph.starts, graph.ends
            )
            found = self._cut(once)
            if found is not None:
                return loop(found)
        if len(graph.activities) == 2:
            return flower(graph.activities)
        rarest = int(np.argmin(graph.between.sum(axis=0) + graph.starts))
        rest = bridged(graph, [rarest])
        others = [i for i in everyone if i != rarest]
        left = self._mine(rest.part(others))
        return parallel(flower([graph.activities[rarest]]), left)


def bridged(graph: Follows, absent: Iterable[int]) -> Follows:
    """The graph as if some activities were not logged: what came before meets what came after.

    What came before and after is no repetition: two activities in any order look just so.
    """
    follows, start, end = (
        weights.astype(np.float64) for weights in (graph.between, graph.starts, graph.ends)
    )
    for number in absent:
        into, out = follows[:, number].copy(), follows[number].copy()
        into[number] = out[number] = 0
        begins, ends = start[number], end[number]
        total = max(out.sum() + ends, 1e-9)
        met = np.outer(into, out) / total
        np.fill_diagonal(met, 0)
        follows += _likely(met)
        start += _likely(begins * out / total)
        end += _likely(into * ends / total)
        follows[number] = follows[:, number] = start[number] = end[number] = 0
    return Follows.joined(graph.activities, follows, start, end)


def _likely(predicted: Floats) -> Floats:
    return np.where(predicted >= SEEN, predicted, 0)


def without_rare(graph: Follows, share: float, *, all_ends: bool = False) -> Follows:
    """Leave out edges, starts and ends rarer than a share of the most frequent of their kind.

    Edges and the end of an activity are compared with what follows it most often; the most
    frequent end always stays, and with `all_ends` every end does, as in the infrequent variant of
    the Inductive Miner.
    """
    if share == 0 or not graph.activities:
        return graph
    most = np.maximum(graph.between.max(axis=1), graph.ends)
    follows = np.where(graph.between > share * most[:, None], graph.between, 0)
    kept = (graph.ends > share * most) | (graph.ends == graph.ends.max()) | all_ends
    start = np.where(graph.starts >= share * graph.starts.max(), graph.starts, 0)
    return Follows.joined(graph.activities, follows, start, np.where(kept, graph.ends, 0))
