"""Generated logs of many shapes: random process trees, played out with habits, slips and drifts.

Constants of headtail are fitted on these, never on real logs:

    from generated import generated_log
    log = generated_log(seed=7, cases=5000)

Every shape is drawn from wide ranges: 3 to 400 activities, choices from even to very skewed, loops,
parallel work, short and long cases, cases of several kinds whose choices hang together, and slips
(events left out, repeated or swapped).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discreet.log.variants import Variants

Integers = npt.NDArray[np.int64]
Events = tuple[Integers, Integers]
"""Owners, ascending, and activities in the order in which they happen."""

KINDS = ("leaf", "sequence", "choice", "parallel", "loop")
LONGEST = 150
"""Events of a case at most."""


@dataclass
class Node:
    """A node of a process tree, with its own chances for each kind of case."""

    kind: str
    activity: int = -1
    children: list[Node] = field(default_factory=list)
    odds: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(frozen=True)
class Shape:
    """What a log is drawn from."""

    activities: int
    skew: float
    weights: tuple[float, ...]
    again: float
    types: int
    slips: float

    @classmethod
    def random(cls, generator: np.random.Generator) -> Shape:
        """Anything between a straight line and a labyrinth."""
        return cls(
            activities=int(
                np.exp(generator.uniform(np.log(3), np.log(400)) * generator.uniform(0.55, 1))
            )
            + 2,
            skew=float(np.exp(generator.uniform(np.log(0.15), np.log(3)))),
            weights=tuple(generator.dirichlet([3.0, 2.0, 0.8, 0.8])),
            again=float(generator.uniform(0.05, 0.7)),
            types=int(generator.integers(1, 6)),
            slips=float(np.exp(generator.uniform(np.log(1e-3), np.log(0.1)))),
        )


def tree(shape: Shape, generator: np.random.Generator) -> Node:
    """A random tree whose leaves are all the activities, some of them twice."""
    leaves = list(range(shape.activities))
    leaves += [int(a) for a in generator.choice(shape.activities, size=shape.activities // 5)]
    generator.shuffle(leaves)
    return _grown(leaves, shape, generator)


def _grown(leaves: list[int], shape: Shape, generator: np.random.Generator) -> Node:
    if len(leaves) == 1:
        return Node("leaf", leaves[0])
    kind = str(generator.choice(KINDS[1:], p=shape.weights))
    if kind == "parallel" and len(leaves) > 12:
        kind = "sequence"
    parts = 2 if kind == "loop" else int(generator.integers(2, 6))
    cuts = np.sort(
        generator.choice(len(leaves) - 1, size=min(parts, len(leaves)) - 1, replace=False)
    )
    pieces = np.split(np.array(leaves), cuts + 1)
    node = Node(
        kind, children=[_grown([int(x) for x in piece], shape, generator) for piece in pieces]
    )
    if kind == "choice":
        if generator.random() < 0.5:
            node.children.append(Node("silent"))
        node.odds = generator.dirichlet(np.full(len(node.children), shape.skew), size=shape.types)
    if kind == "loop":
        node.odds = shape.again * generator.random((shape.types, 1)) ** 0.5
    return node


def played(node: Node, owners: Integers, types: Integers, generator: np.random.Generator) -> Events:
    """The events of these cases, `types` being what kind each case is."""
    nothing = np.zeros(0, np.int64)
    if node.kind == "silent" or not len(owners):
        return nothing, nothing
    if node.kind == "leaf":
        return owners, np.full(len(owners), node.activity)
    if node.kind == "choice":
        reach = np.cumsum(node.odds, axis=1)[types]
        taken = (generator.random(len(owners))[:, None] > reach[:, :-1]).sum(axis=1)
        parts = [
            played(child, owners[taken == i], types[taken == i], generator)
            for i, child in enumerate(node.children)
        ]
        return _merged(parts, np.zeros)
    if node.kind == "loop":
        parts = [played(node.children[0], owners, types, generator)]
        while len(owners) and len(parts) < 60:
            again = generator.random(len(owners)) < node.odds[types, 0]
            owners, types = owners[again], types[again]
            parts.append(played(node.children[1], owners, types, generator))
            parts.append(played(node.children[0], owners, types, generator))
        return _merged(parts, np.zeros)
    parts = [played(child, owners, types, generator) for child in node.children]
    if node.kind == "sequence":
        return _merged(parts, np.zeros)
    keys = []
    for owner, _ in parts:
        key = generator.random(len(owner))
        keys.append(key[np.lexsort((key, owner))])
    owner = np.concatenate([p[0] for p in parts])
    activity = np.concatenate([p[1] for p in parts])
    order = np.lexsort((np.concatenate(keys), owner))
    return owner[order], activity[order]


def _merged(parts: list[Events], _: object) -> Events:
    owner = np.concatenate([p[0] for p in parts])
    activity = np.concatenate([p[1] for p in parts])
    order = np.argsort(owner, kind="stable")
    return owner[order], activity[order]


def slipped(events: Events, rate: float, generator: np.random.Generator) -> Events:
    """With some events left out, some twice, and some neighbours swapped."""
    owner, activity = events
    times = generator.choice([0, 1, 2], size=len(owner), p=[rate / 3, 1 - 2 * rate / 3, rate / 3])
    owner, activity = np.repeat(owner, times), np.repeat(activity, times)
    swap = np.flatnonzero((generator.random(len(owner) - 1) < rate / 3) & (owner[1:] == owner[:-1]))
    activity = activity.copy()
    activity[swap], activity[swap + 1] = activity[swap + 1], activity[swap].copy()
    return owner, activity


def generated_log(seed: int, cases: int) -> Variants:
    """The variants of one log; the seed decides its shape too."""
    generator = np.random.default_rng(seed)
    while True:
        shape = Shape.random(generator)
        root = tree(shape, generator)
        owners = np.arange(cases)
        types = generator.choice(
            shape.types, size=cases, p=generator.dirichlet(np.ones(shape.types))
        )
        few = played(root, owners[:200], types[:200], generator)
        if not 2 <= len(few[0]) / 200 <= 60:
            continue
        events = slipped(played(root, owners, types, generator), shape.slips, generator)
        break
    owner, activity = events
    place = np.arange(len(owner)) - np.searchsorted(owner, owner)
    owner, activity = owner[place < LONGEST], activity[place < LONGEST]
    labels = tuple(f"activity {i:03d}" for i in range(shape.activities))
    _, lengths = np.unique(owner, return_counts=True)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Variants.of_cases(labels, activity.astype(np.int32), offsets)[0].trimmed()
