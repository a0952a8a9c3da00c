"""Cuts: ways to divide a directly-follows graph into parts that one operator joins.

Each function takes edges as a boolean matrix with the activities that start and end cases, and
returns the parts as lists of activity numbers, or None. The definitions are those of S. J. J.
Leemans, "Robust Process Mining with Guarantees" (2017). Sets of activities are bit masks.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from discreet.arrays import Booleans
from discreet.models.tree import Operator

Parts = list[list[int]]
Cut = tuple[Operator, Parts]


def find_cut(edges: Booleans, start: Booleans, end: Booleans) -> Cut | None:
    """The first cut that fits: exclusive, sequence (strict), parallel, loop."""
    found = _find_cut(edges.tobytes(), start.tobytes(), end.tobytes())
    return None if found is None else (found[0], [list(part) for part in found[1]])


@lru_cache(maxsize=1 << 14)
def _find_cut(edges: bytes, start: bytes, end: bytes) -> Cut | None:
    first, last = (np.frombuffer(flags, dtype=bool) for flags in (start, end))
    square = np.frombuffer(edges, dtype=bool).reshape(len(first), len(first))
    if (parts := exclusive_cut(square)) is not None:
        return "exclusive", parts
    if (parts := strict_sequence_cut(square, first, last)) is not None:
        return "sequence", parts
    if (parts := parallel_cut(square, first, last)) is not None:
        return "parallel", parts
    if (parts := loop_cut(square, first, last)) is not None:
        return "loop", parts
    return None


def exclusive_cut(edges: Booleans) -> Parts | None:
    """Parts with no edge between them."""
    parts = _components(_rows(edges | edges.T))
    return _listed(parts) if len(parts) > 1 else None


def sequence_cut(edges: Booleans) -> Parts | None:
    """Parts in an order such that edges lead forwards only, and forwards everywhere."""
    parts = _ordered(edges)
    return _listed(parts) if len(parts) > 1 else None


def strict_sequence_cut(edges: Booleans, start: Booleans, end: Booleans) -> Parts | None:
    """A sequence cut whose parts are merged where the graph shows them skipped together only.

    If a part can be skipped, then what comes before it and never goes on to anything beyond it
    is skipped with it, and so is what comes after it and is never entered from before it: left
    apart, each could be skipped alone, which no case does.
    """
    parts = _ordered(edges)
    count = len(parts)
    if count < 2:
        return None
    rows, outset, finish = _rows(edges), _mask(start), _mask(end)
    number = {i: place for place, part in enumerate(parts) for i in _bits(part)}
    jumps = {(number[i], number[j]) for i, row in enumerate(rows) for j in _bits(row)}
    jumps |= {(-1, number[i]) for i in _bits(outset)} | {(number[i], count) for i in _bits(finish)}
    farthest = [max((to for of, to in jumps if of == place), default=-1) for place in range(count)]
    nearest = [
        min((of for of, to in jumps if to == place), default=count) for place in range(count)
    ]
    option = list(range(count))  # the first part that each is skipped together with
    for place in range(count):
        if any(of < place < to for of, to in jumps):
            low, high, own = place, place + 1, option[place]
            while low > 0 and farthest[low - 1] <= place and option[low - 1] in (low - 1, own):
                low -= 1
            while high < count and nearest[high] >= place:
                high += 1
            option[low:high] = [min(own, low)] * (high - low)
    merged = [
        sum(p for p, first in zip(parts, option, strict=True) if first == own)
        for own in sorted(set(option))
    ]
    return _listed(merged) if len(merged) > 1 else None


def parallel_cut(edges: Booleans, start: Booleans, end: Booleans) -> Parts | None:
    """Parts with edges both ways between all of their activities, each with a start and an end.

    Parts that lack one of the two are joined to others, small ones first, until none does.
    """
    outset, finish = _mask(start), _mask(end)
    whole: list[int] = []
    lacking = 0
    for part in sorted(_components(_rows(~(edges & edges.T))), key=lambda p: (p.bit_count(), p)):
        part |= lacking
        lacking = 0
        if part & outset and part & finish:
            whole.append(part)
        else:
            lacking = part
    if lacking and whole:
        whole[-1] |= lacking
    return _listed(whole) if len(whole) > 1 else None


def loop_cut(edges: Booleans, start: Booleans, end: Booleans) -> Parts | None:
    """A body, which holds all starts and ends, and what leads from its ends to its starts.

    A connected rest is part of the body if something other than an end leads into it, if it
    leads into something other than a start, or if it is joined to some ends (starts) but not all.
    """
    rows, columns = _rows(edges), _rows(edges.T)
    outset, finish = _mask(start), _mask(end)
    body = outset | finish
    rest = (1 << len(rows)) - 1 & ~body
    around = [row | column for row, column in zip(rows, columns, strict=True)]
    redo = 0
    for part in _components([near & rest for near in around], rest):
        leads_to = {rows[i] & body for i in _bits(part)} - {0}
        comes_from = {columns[i] & body for i in _bits(part)} - {0}
        if leads_to == {outset} and comes_from == {finish}:
            redo |= part
    if not redo:
        return None
    return _listed([(1 << len(rows)) - 1 & ~redo, redo])


def reachable(rows: list[int]) -> list[int]:
    """For each activity a mask of those that can follow it, directly or later (Warshall)."""
    reach = list(rows)
    for middle in range(len(reach)):
        beyond = reach[middle]
        for i, found in enumerate(reach):
            if found >> middle & 1:
                reach[i] = found | beyond
    return reach


def _ordered(edges: Booleans) -> list[int]:
    """Activities that reach each other, or neither the other, are together; parts in order."""
    after, before = reachable(_rows(edges)), reachable(_rows(edges.T))
    everyone = (1 << len(after)) - 1
    together = [~(a ^ b) & everyone for a, b in zip(after, before, strict=True)]
    parts = _components(together)
    if len(parts) > 1:
        parts.sort(key=lambda p: before[_first(p)].bit_count() - after[_first(p)].bit_count())
    return parts


def _components(related: list[int], among: int = -1) -> list[int]:
    """The connected parts of a symmetric relation as masks, by their smallest member."""
    left = (1 << len(related)) - 1 & among
    parts = []
    while left:
        part = fresh = left & -left
        while fresh:
            found = 0
            for i in _bits(fresh):
                found |= related[i]
            fresh = found & ~part
            part |= fresh
        left &= ~part
        parts.append(part)
    return parts


def _rows(edges: Booleans) -> list[int]:
    packed = np.packbits(edges, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _mask(flags: Booleans) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _first(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _listed(parts: list[int]) -> Parts:
    return [_bits(part) for part in parts]
