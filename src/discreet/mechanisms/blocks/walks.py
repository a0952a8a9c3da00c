"""Walking through a directly-follows graph: from counts of pairs to whole traces.

It reads the distribution only, so after a private release of it the traces cost nothing more.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import Integers
from discreet.log.follows import Follows
from discreet.log.variants import Variants
from discreet.privacy.randomness import Randomness

MOST_STEPS = 5_000_000
"""Distributions of more steps than this (mere noise, as a rule) are scaled down to it."""


def walk_out(follows: Follows, rng: Randomness) -> Variants:
    """Walk from ⊤ to ⊥ until no walk is left, each step taken as often as it was counted.

    Algorithm 2 of the SaPa paper. The next activity is drawn in proportion to the remaining
    counts; where there is none, all steps into the dead end are removed and the walk goes one step
    back. Drawing without replacement is the same as shuffling all steps out of an activity once
    and taking them one after another, skipping those that lead to dead ends: no step costs more
    than a few operations.
    """
    mark = len(follows.activities)
    total = int(follows.counts.sum())
    counts = follows.counts if total <= MOST_STEPS else follows.counts // (total // MOST_STEPS + 1)
    steps = [_shuffled(row, rng) for row in counts]
    dead = [False] * (mark + 1)
    found: dict[tuple[int, ...], int] = {}
    while True:
        walk = _walk(steps, dead, mark)
        if walk is None:
            break
        found[walk] = found.get(walk, 0) + 1
    found.pop((), None)
    labels = follows.activities
    return Variants.from_counts(
        (tuple(labels[code] for code in walk), count) for walk, count in found.items()
    )


def _walk(steps: list[list[int]], dead: list[bool], mark: int) -> tuple[int, ...] | None:
    """One trace, or None when nothing leads out of ⊤ any more."""
    path: list[int] = []
    here = mark
    while True:
        ahead = steps[here]
        after = -1
        while ahead:
            after = ahead.pop()
            if not dead[after]:
                break
            after = -1
        if after == mark:
            return tuple(path)
        if after >= 0:
            path.append(after)
            here = after
        elif path:
            dead[path.pop()] = True
            here = path[-1] if path else mark
        else:
            return None


def _shuffled(row: Integers, rng: Randomness) -> list[int]:
    """Every step out of one activity, as often as it was counted, in random order."""
    steps = np.repeat(np.arange(len(row)), row)
    shuffled: list[int] = steps[rng.permutation(len(steps))].tolist()
    return shuffled


def balanced(follows: Follows) -> Follows:
    """The nearest distribution in which as much flows into every activity as out of it.

    Nearest in the sum of absolute changes, over the pairs that occur: a network flow, whose
    optimum is whole. Walks through a balanced distribution end nowhere but in ⊥, so the play-out
    uses nearly every step.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    source, target = np.nonzero(follows.counts)
    counts = follows.counts[source, target]
    size, edges = len(follows.activities), len(counts)
    surplus = follows.counts.sum(axis=0)[:size] - follows.counts.sum(axis=1)[:size]
    if not surplus.any():
        return follows
    # A step more into an activity adds 1 to its surplus, a step more out of it takes 1, and a
    # step less does the opposite; ⊤ and ⊥ are free.
    rows = np.concatenate([target, source, target, source])
    columns = np.arange(4 * edges) % edges + np.repeat([0, edges], 2 * edges)
    signs = np.repeat([1.0, -1.0, -1.0, 1.0], edges)
    inner = rows < size
    flow = coo_array((signs[inner], (rows[inner], columns[inner])), shape=(size, 2 * edges))
    solved = linprog(
        np.ones(2 * edges),
        A_eq=flow.tocsc(),
        b_eq=-surplus,
        bounds=np.stack([np.zeros(2 * edges), np.append(np.full(edges, np.inf), counts)], axis=1),
        method="highs-ds",
    )
    if not solved.success:
        return follows
    more, less = np.rint(solved.x).astype(np.int64).reshape(2, edges)
    matrix = np.zeros_like(follows.counts)
    matrix[source, target] = counts + more - less
    return Follows(follows.activities, matrix)
