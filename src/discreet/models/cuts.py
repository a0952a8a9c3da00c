"""Cuts: ways to divide a directly-follows graph into parts that one operator joins.

Each function takes edges as a boolean matrix with the activities that start and end cases, and
returns the parts as lists of activity numbers, or None. After S. J. J. Leemans, "Robust Process
Mining with Guarantees" (2017).
"""

from __future__ import annotations

import numpy as np

from discreet.models.graph import Flags

Parts = list[list[int]]


def reachable(edges: Flags) -> Flags:
    """Which activity can follow which, directly or later."""
    reach = edges.copy()
    for middle in range(len(edges)):
        reach |= np.outer(reach[:, middle], reach[middle])
    return reach


def exclusive_cut(edges: Flags) -> Parts | None:
    """Parts with no edge between them."""
    parts = _components(edges | edges.T)
    return parts if len(parts) > 1 else None


def sequence_cut(edges: Flags) -> Parts | None:
    """Parts in an order such that edges lead forwards only, and forwards everywhere."""
    reach = reachable(edges)
    together = reach == reach.T
    parts = _components(together)
    if len(parts) < 2:
        return None
    before = reach.sum(axis=0)
    after = reach.sum(axis=1)
    return sorted(parts, key=lambda part: int(before[part[0]]) - int(after[part[0]]))


def strict_sequence_cut(edges: Flags, start: Flags, end: Flags) -> Parts | None:
    """A sequence cut whose parts are merged where they can only be skipped together.

    Around a part that may be skipped, neighbours that are not entered or left past it belong to
    it: skipping one of them alone never happens.
    """
    parts = sequence_cut(edges)
    if parts is None:
        return None
    count = len(parts)
    place = np.empty(len(edges), dtype=np.int64)
    for number, part in enumerate(parts):
        place[part] = number
    from_, to = place[np.nonzero(edges)[0]], place[np.nonzero(edges)[1]]
    earliest = np.full(count, count)
    np.minimum.at(earliest, to, from_)
    latest = np.full(count, -1)
    np.maximum.at(latest, from_, to)
    starts, ends = place[start], place[end]
    earliest[starts] = -1
    latest[ends] = count
    merged = [set(part) for part in parts]
    for p in range(count):
        jumped = ((from_ < p) & (to > p)).any() or (starts > p).any() or (ends < p).any()
        if not jumped:
            continue
        q = p - 1
        while q >= 0 and latest[q] <= p:
            merged[p] |= merged[q]
            merged[q] = set()
            q -= 1
        q = p + 1
        while q < count and earliest[q] >= p:
            merged[p] |= merged[q]
            merged[q] = set()
            q += 1
    found = [sorted(part) for part in merged if part]
    return found if len(found) > 1 else None


def parallel_cut(edges: Flags, start: Flags, end: Flags) -> Parts | None:
    """Parts with edges both ways between all of their activities, each with a start and an end."""
    both = edges & edges.T
    parts = sorted(_components(~both), key=lambda part: (len(part), part))
    i = 0
    while i < len(parts) and len(parts) > 1:
        if start[parts[i]].any() and end[parts[i]].any():
            i += 1
            continue
        part = parts.pop(i)
        neighbour = max(i - 1, 0)
        parts[neighbour] = sorted(parts[neighbour] + part)
    return parts if len(parts) > 1 else None


def loop_cut(edges: Flags, start: Flags, end: Flags) -> Parts | None:
    """A body, which holds all starts and ends, and what leads from its ends to its starts.

    A connected rest is part of the body if something other than an end leads into it, if it
    leads into something other than a start, or if it is joined to some ends (starts) but not all.
    """
    border = start | end
    rest = np.flatnonzero(~border)
    if not rest.size or not border.any():
        return None
    body: list[int] = np.flatnonzero(border).tolist()
    redo: list[int] = []
    for part in _components((edges | edges.T)[np.ix_(rest, rest)]):
        members = rest[part]
        into = edges[:, members]
        out = edges[members]
        to_starts, from_ends = out[:, start], into[end].T
        wrong = (
            into[border & ~end].any()
            or out[:, border & ~start].any()
            or (to_starts.any(axis=1) & ~to_starts.all(axis=1)).any()
            or (from_ends.any(axis=1) & ~from_ends.all(axis=1)).any()
            or not to_starts.any()
            or not from_ends.any()
        )
        (body if wrong else redo).extend(members.tolist())
    if not redo:
        return None
    return [sorted(body), sorted(redo)]


def _components(related: Flags) -> Parts:
    """The connected parts of a symmetric relation, by their smallest member."""
    left = np.ones(len(related), dtype=bool)
    parts = []
    while left.any():
        found = np.zeros(len(related), dtype=bool)
        fresh = np.zeros(len(related), dtype=bool)
        fresh[np.argmax(left)] = True
        while fresh.any():
            found |= fresh
            fresh = related[fresh].any(axis=0) & ~found
        left &= ~found
        parts.append(np.flatnonzero(found).tolist())
    return parts
