"""Discovering a tree from a directly-follows graph alone.

Nothing here sees a log, so on a graph with noise it costs no privacy. The Inductive Miner's cuts
are tried on the graph as it is; where there is none, rare edges are left out step by step until
there is one. What a log would have told is read off the weights: a part of a sequence may be
skipped if an edge jumps over it, a parallel branch if its activities are rarer than the cases
that pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.models.cuts import exclusive_cut, loop_cut, parallel_cut, strict_sequence_cut
from discreet.models.graph import Graph
from discreet.models.tree import (
    Tree,
    activity,
    exclusive,
    flower,
    loop,
    optional,
    parallel,
    sequence,
)

STEPS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
"""Shares of the most frequent edge below which edges are left out, one after another."""


@dataclass(frozen=True)
class Miner:
    """How a graph becomes a tree; every setting is a candidate for the same graph."""

    most: float = 0.5
    """Largest share of the most frequent edge that may be left out to find a cut."""
    slack: float = 0.1
    """A parallel branch is optional if it is rarer than the cases that pass by more than this."""

    def mine(self, graph: Graph) -> Tree:
        """The tree of a graph whose missing edges have weight 0."""
        graph = graph.trimmed()
        return self._mine(graph).folded()

    def _mine(self, graph: Graph) -> Tree:
        if not graph.labels:
            return Tree()
        if len(graph.labels) == 1:
            leaf = activity(graph.labels[0])
            return loop(leaf) if graph.follows[0, 0] > 0 else leaf
        for share in (step for step in STEPS if step <= self.most):
            found = self._cut(without_rare(graph, share))
            if found is not None:
                return found
        return self._fall_through(graph)

    def _cut(self, graph: Graph) -> Tree | None:
        edges, start, end = graph.follows > 0, graph.start > 0, graph.end > 0
        np.fill_diagonal(edges, False)
        parts = exclusive_cut(edges)
        if parts is not None:
            return exclusive(
                *(self._mine(graph.part(part, graph.start, graph.end)) for part in parts)
            )
        parts = strict_sequence_cut(edges, start, end)
        if parts is not None:
            return self._sequence(graph, parts)
        parts = parallel_cut(edges, start, end)
        if parts is not None:
            return parallel(*(self._branch(graph, part) for part in parts))
        parts = loop_cut(edges, start, end)
        if parts is not None:
            return self._loop(graph, parts[0], parts[1])
        return None

    def _sequence(self, graph: Graph, parts: list[list[int]]) -> Tree:
        place = np.empty(len(graph.labels), dtype=np.int64)
        for number, part in enumerate(parts):
            place[part] = number
        from_, to = place[:, None], place[None, :]
        follows = graph.follows
        start = graph.start + np.where(from_ < to, follows, 0).sum(axis=0)
        end = graph.end + np.where(from_ < to, follows, 0).sum(axis=1)
        children = []
        for number, part in enumerate(parts):
            jumped = (
                follows[(from_ < number) & (to > number)].any()
                or graph.start[place > number].any()
                or graph.end[place < number].any()
            )
            child = self._mine(graph.part(part, start, end))
            children.append(optional(child) if jumped else child)
        return sequence(*children)

    def _branch(self, graph: Graph, part: list[int]) -> Tree:
        """A parallel branch; what other branches do between its activities is not seen."""
        passing = graph.start.sum()
        inside = np.zeros(len(graph.labels), dtype=bool)
        inside[part] = True
        into = graph.start + graph.follows[~inside].sum(axis=0)
        child = self._mine(graph.part(part, graph.start, graph.end))
        rarer = into[part].sum() < (1 - self.slack) * passing
        return optional(child) if rarer else child

    def _loop(self, graph: Graph, body: list[int], redo: list[int]) -> Tree:
        into = graph.follows[body].sum(axis=0)
        out = graph.follows[:, body].sum(axis=1)
        inner = self._mine(graph.part(body, graph.start, graph.end))
        again = self._mine(graph.part(redo, into, out))
        ends, starts = np.flatnonzero(graph.end), np.flatnonzero(graph.start)
        straight = graph.follows[np.ix_(ends, starts)].any()
        return loop(inner, optional(again) if straight else again)

    def _fall_through(self, graph: Graph) -> Tree:
        """A silent loop around what remains without its back edges, or one activity set aside."""
        back = np.outer(graph.end > 0, graph.start > 0)
        if graph.follows[back].any():
            once = Graph(graph.labels, np.where(back, 0, graph.follows), graph.start, graph.end)
            found = self._cut(once)
            if found is not None:
                return loop(found)
        order = np.argsort(graph.follows.sum(axis=0) + graph.start, kind="stable")
        for aside in order:
            rest = [i for i in range(len(graph.labels)) if i != aside]
            bridged = _bridged(graph, int(aside))
            if (left := self._cut(bridged.part(rest, bridged.start, bridged.end))) is not None:
                return parallel(self._aside(graph, int(aside)), left)
        return flower(graph.labels)

    def _aside(self, graph: Graph, number: int) -> Tree:
        leaf = activity(graph.labels[number])
        if graph.follows[number, number] > 0:
            leaf = loop(leaf)
        into = graph.start[number] + np.delete(graph.follows[:, number], number).sum()
        return optional(leaf) if into < (1 - self.slack) * graph.start.sum() else leaf


def _bridged(graph: Graph, number: int) -> Graph:
    """The graph as if one activity were not logged: what came before meets what came after."""
    into, out = graph.follows[:, number].copy(), graph.follows[number].copy()
    into[number] = out[number] = 0
    begins, ends = graph.start[number], graph.end[number]
    total = max(out.sum() + ends, 1e-9)
    follows = graph.follows + np.outer(into, out) / total
    return Graph(
        graph.labels, follows, graph.start + begins * out / total, graph.end + into * ends / total
    )


def without_rare(graph: Graph, share: float) -> Graph:
    """Leave out edges, starts and ends rarer than a share of the most frequent of their kind.

    Edges and the end of an activity are compared with what follows it most often; the most
    frequent end always stays.
    """
    if share == 0 or not graph.labels:
        return graph
    most = np.maximum(graph.follows.max(axis=1), graph.end)
    follows = np.where(graph.follows > share * most[:, None], graph.follows, 0)
    end = np.where((graph.end > share * most) | (graph.end == graph.end.max()), graph.end, 0)
    start = np.where(graph.start >= share * graph.start.max(), graph.start, 0)
    return Graph(graph.labels, follows, start, end)
