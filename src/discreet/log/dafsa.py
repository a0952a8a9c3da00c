"""Dafsa: the smallest automaton that accepts exactly the variants of a log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import Booleans, Integers, Ints
from discreet.log.events import EventLog
from discreet.log.variants import Variants, spans


@dataclass(frozen=True, eq=False, repr=False)
class Dafsa:
    """A deterministic acyclic automaton: prefixes with the same set of endings share a state.

    State 0 is the initial one; states are numbered breadth first. Transition `i` leads from
    `source[i]` by `activities[label[i]]` to `target[i]`, and `counts[i]` cases take it.
    Transitions are sorted by source, then label. `path` gives the transition of each event of
    each variant, laid out as `variants.codes`; no path takes a transition twice.
    """

    variants: Variants
    source: Integers
    label: Integers
    target: Integers
    counts: Integers
    final: Booleans
    path: Integers

    @classmethod
    def of(cls, variants: Variants) -> Dafsa:
        """Build from the prefix tree, merging equal subtrees from the leaves upwards.

        All steps are array operations on whole levels, so the work is that of sorting the
        events once.
        """
        order = variants.canonical_order()
        parent, label, final, node = _prefix_tree(variants.take(order))
        state = _merged(parent, label, final)
        states = int(state.max()) + 1
        key = state[parent[1:]] * len(variants.activities) + label[1:]
        _, first, transition = np.unique(key, return_index=True, return_inverse=True)
        finals = np.zeros(states, dtype=np.bool_)
        finals[state] = final
        positions, _ = spans(variants.offsets, order)
        path = np.empty(len(node), dtype=np.int64)
        path[positions] = transition[node - 1]
        cases = np.repeat(variants.counts, variants.lengths)
        return cls(
            variants=variants,
            source=state[parent[1:]][first],
            label=label[1:][first],
            target=state[1:][first],
            counts=np.bincount(path, weights=cases, minlength=len(first)).astype(np.int64),
            final=finals,
            path=path,
        )

    @property
    def activities(self) -> tuple[str, ...]:
        """The labels that `label` points to."""
        return self.variants.activities

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.final)

    @property
    def transitions(self) -> int:
        """Number of transitions."""
        return len(self.source)

    def transition_of_event(self, log: EventLog) -> Integers:
        """The transition of each event of the log whose variants these are, in its order."""
        return self.path[spans(self.variants.offsets, log.variant_of_case)[0]]

    def contingency(self) -> pl.DataFrame:
        """The transitions and how many cases take each."""
        labels = pl.Series(self.activities, dtype=pl.String).gather(self.label)
        return pl.DataFrame(
            {
                "source state": _named(self.source, "source state"),
                "activity": labels,
                "target state": _named(self.target, "target state"),
                "count": self.counts,
            }
        )

    def to_mermaid(self) -> str:
        """The automaton as a Mermaid flowchart, counts on the arrows."""
        lines = ["flowchart LR"]
        for state, final in enumerate(self.final):
            lines.append(f"  s{state}" + (f"(((s{state})))" if final else f"((s{state}))"))
        for i, code in enumerate(self.label.tolist()):
            quoted = f"{self.activities[code]} ({self.counts[i]})".replace('"', "#quot;")
            lines.append(f'  s{self.source[i]} -- "{quoted}" --> s{self.target[i]}')
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"Dafsa({self.states} states, {self.transitions} transitions)"


def _prefix_tree(variants: Variants) -> tuple[Integers, Integers, Booleans, Integers]:
    """The prefix tree of sorted variants: parent, label and finality of each node, nodes of events.

    Nodes are numbered breadth first, 0 being the root, so a node's children are consecutive and
    in order of their labels.
    """
    codes, offsets, lengths = variants.codes, variants.offsets, variants.lengths
    variant = np.repeat(np.arange(len(variants)), lengths)
    level = np.arange(len(codes)) - offsets[variant]
    fresh = level >= _shared(variants, variant, level)[variant]
    by_level = np.argsort(level, kind="stable")
    node = np.empty(len(codes), dtype=np.int64)
    node[by_level] = np.cumsum(fresh[by_level])
    size = int(node.max(initial=0)) + 1
    before = np.where(level > 0, np.roll(node, 1), 0)
    parent, label = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    parent[node[fresh]] = before[fresh]
    label[node[fresh]] = codes[fresh]
    final = np.zeros(size, dtype=np.bool_)
    final[node[offsets[1:][lengths > 0] - 1]] = True
    final[0] = bool((lengths == 0).any())
    return parent, label, final, node


def _shared(variants: Variants, variant: Integers, level: Any) -> Integers:
    """The number of first events that each variant shares with the one before it."""
    codes, offsets, lengths = variants.codes, variants.offsets, variants.lengths
    shared = np.zeros(len(variants), dtype=np.int64)
    before = variant - 1
    comparable = (before >= 0) & (level < lengths[before])
    same = np.zeros(len(codes), dtype=np.bool_)
    other = offsets[before[comparable]] + level[comparable]
    same[comparable] = codes[comparable] == codes[other]
    filled = np.flatnonzero(lengths)
    if len(filled):
        until = np.where(same, lengths[variant], level)
        shared[filled] = np.minimum.reduceat(until, offsets[filled])
    return shared


def _merged(parent: Integers, label: Integers, final: Booleans) -> Integers:
    """The state of each node of a prefix tree: equal subtrees have one state.

    Equal subtrees have equal heights, so nodes are compared height by height: same finality,
    same number of children, and child by child the same label and the same state.
    """
    size = len(parent)
    degree = np.bincount(parent[1:], minlength=size)
    first_child = 1 + np.concatenate([[0], np.cumsum(degree)[:-1]])
    height = _heights(parent)
    by_height = np.argsort(height, kind="stable")
    bounds = np.searchsorted(height[by_height], np.arange(int(height.max()) + 2))
    state = np.zeros(size, dtype=np.int64)
    known = 0
    for begin, end in pairwise(bounds.tolist()):
        nodes = by_height[begin:end]
        same = final[nodes].astype(np.int64)
        for k in range(int(degree[nodes].max())):
            more = np.flatnonzero(degree[nodes] > k)
            child = first_child[nodes[more]] + k
            arrow = _numbered(label[child] * size + state[child])
            same[more] = _numbered(same[more] * (len(nodes) + 1) + arrow)
        equal = _numbered(same * (int(degree[nodes].max()) + 1) + degree[nodes])
        state[nodes] = known + equal
        known += int(equal.max()) + 1
    _, first, again = np.unique(state, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[again]


def _heights(parent: Integers) -> Integers:
    """The longest way down from each node; parents come before their children."""
    size = len(parent)
    depth = np.zeros(size, dtype=np.int64)
    levels = [np.zeros(1, dtype=np.int64)]
    begin, end = 1, 1
    while end < size:
        begin, end = end, int(np.searchsorted(parent[1:], end, side="left")) + 1
        levels.append(np.arange(begin, end))
    for nodes in reversed(levels[1:]):
        np.maximum.at(depth, parent[nodes], depth[nodes] + 1)
    return depth


def _numbered(keys: Integers) -> Integers:
    """Equal keys by equal numbers from 0."""
    return np.unique(keys, return_inverse=True)[1].reshape(-1)


def _named(states: Ints, name: str) -> pl.Series:
    return pl.Series(name, states).cast(pl.String).str.replace("^", "s")
