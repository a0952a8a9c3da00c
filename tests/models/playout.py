"""Playing a tree out: variants drawn from it, for tests of what reads logs of a known process."""

from __future__ import annotations

from collections import Counter

import numpy as np

from discreet.log.variants import Variants
from discreet.models.tree import Tree

AGAIN = 0.5
"""The chance that a loop goes round once more."""


def play_out(tree: Tree, cases: int, seed: int, max_length: int = 200) -> Variants:
    """Variants of simulated cases: choices are even, branches interleave at random.

    Reads nothing but the tree, so on a released tree it is free. A loop goes round again with
    probability one half, until a case has `max_length` events.
    """
    rng = np.random.default_rng(seed)
    counts: Counter[tuple[str, ...]] = Counter()
    for _ in range(cases):
        counts[tuple(_play(tree, rng, max_length))] += 1
    return Variants.from_counts(counts)


def _play(tree: Tree, rng: np.random.Generator, room: int) -> list[str]:
    if tree.operator is None:
        return [] if tree.label is None else [tree.label]
    if tree.operator == "exclusive":
        return _play(tree.children[rng.integers(len(tree.children))], rng, room)
    if tree.operator == "sequence":
        return [label for child in tree.children for label in _play(child, rng, room)]
    if tree.operator == "parallel":
        return _interleaved([_play(child, rng, room) for child in tree.children], rng)
    body, redo = tree.children
    events = _play(body, rng, room)
    while len(events) < room and rng.random() < AGAIN:
        events += _play(redo, rng, room)
        events += _play(body, rng, room)
    return events


def _interleaved(branches: list[list[str]], rng: np.random.Generator) -> list[str]:
    """All interleavings are equally likely."""
    owner = np.repeat(np.arange(len(branches)), [len(branch) for branch in branches])
    rng.shuffle(owner)
    queues = [iter(branch) for branch in branches]
    return [next(queues[i]) for i in owner]
