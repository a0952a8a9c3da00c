"""The Inductive Miner on plain logs, without privacy.

After Leemans, Fahland, van der Aalst (2013, 2014). `noise = 0` guarantees that every case of the
log replays; with `noise` > 0 (the infrequent variant, 0.2 is usual) rare behaviour is filtered
where the full graph has no cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby

from discreet.log.follows import Follows
from discreet.log.variants import Variants
from discreet.models.cuts import Cut, find_cut
from discreet.models.discovery import without_rare
from discreet.models.tree import TAU, Operator, Tree, activity, flower, loop, optional, parallel

Sequence = tuple[str, ...]
Sublog = Counter[Sequence]


@dataclass(frozen=True)
class Mining:
    """The share of rare behaviour that is left out, and how cases are divided at a sequence cut."""

    noise: float
    divide: Callable[[list[int], int], list[int]]


def inductive_miner(
    log: Variants | Mapping[Sequence, int], noise: float = 0.0, *, greedy: bool = False
) -> Tree:
    """Discover a tree from the variants of a log.

    Where a case does not fit a sequence, as few of its events as possible are left out; a `greedy`
    miner, as PM4Py's is, looks at one part of the sequence after another.
    """
    sequences = log.to_dict() if isinstance(log, Variants) else dict(log)
    mining = Mining(noise, greedy_ends if greedy else segment_ends)
    return _mine(Counter(sequences), mining).folded()


def _mine(log: Sublog, mining: Mining) -> Tree:
    total = sum(log.values())
    empty = log.pop((), 0)
    if empty > mining.noise * total:
        return optional(_mine(log, mining)) if log else TAU
    if not log:
        return TAU
    graph = Follows.of_variants(Variants.from_counts(log))
    if len(graph.activities) == 1:
        leaf = activity(graph.activities[0])
        return leaf if log.keys() == {graph.activities} else loop(leaf)
    cut = _cut(graph) or (
        _cut(without_rare(graph, mining.noise, all_ends=True)) if mining.noise else None
    )
    if cut is not None:
        operator, parts = cut
        place = {graph.activities[i]: number for number, part in enumerate(parts) for i in part}
        children = [_mine(part, mining) for part in _project(operator, place, log, mining)]
        return Tree(operator=operator, children=tuple(children))
    for fall_through in FALL_THROUGHS:
        found = fall_through(log, graph, mining)
        if found is not None:
            return found
    return flower(graph.activities)


def _cut(graph: Follows) -> Cut | None:
    return find_cut(graph.between > 0, graph.starts > 0, graph.ends > 0)


def _project(
    operator: Operator, place: dict[str, int], log: Sublog, mining: Mining
) -> list[Sublog]:
    """The sublog of each part."""
    parts = max(place.values()) + 1
    result: list[Sublog] = [Counter() for _ in range(parts)]
    for sequence, count in log.items():
        places = [place[event] for event in sequence]
        if operator == "loop":
            for part, run in _runs(sequence, places):
                result[part][run] += count
            continue
        begins, ends = [0] * parts, [len(places)] * parts
        seen = range(parts)
        if operator == "exclusive":
            seen = range(most := max(seen, key=places.count), most + 1)
        elif operator == "sequence":
            ends = mining.divide(places, parts)
            begins = [0, *ends[:-1]]
        for part in seen:
            inside = range(begins[part], ends[part])
            result[part][tuple(sequence[i] for i in inside if places[i] == part)] += count
    return result


def segment_ends(places: list[int], parts: int) -> list[int]:
    """Where the segment of each part ends, so that most events lie in that of their own part.

    By dynamic programming: `kept[i]` is how many of the first i events stay if the parts so far
    share them, `begins[part][i]` where the last of these parts then begins.
    """
    kept = [0] * (len(places) + 1)
    begins = []
    for part in range(parts):
        begin = [0]
        for i, place in enumerate(places):
            longer = kept[i] + (place == part)
            begin.append(begin[i] if longer >= kept[i + 1] else i + 1)
            kept[i + 1] = max(longer, kept[i + 1])
        begins.append(begin)
    ends = [len(places)]
    for begin in reversed(begins[1:]):
        ends.insert(0, begin[ends[0]])
    return ends


def greedy_ends(places: list[int], parts: int) -> list[int]:
    """Where the segment of each part ends, if each in turn takes what suits it best.

    A segment ends where it has the most events of its own part over those of later ones.
    """
    ends: list[int] = []
    end = 0
    for part in range(parts):
        gain = most = 0
        for i in range(end, len(places)):
            gain += (places[i] == part) - (places[i] > part)
            if gain > most:
                most, end = gain, i + 1
        ends.append(end)
    return ends


def _runs(sequence: Sequence, places: list[int]) -> list[tuple[int, Sequence]]:
    """Runs of body (0) and redo (1) in turn; a case that begins or ends with redo has an empty
    body there."""
    runs = [
        (part, tuple(sequence[i] for i in run))
        for part, run in groupby(range(len(places)), places.__getitem__)
    ]
    if runs[0][0] == 1:
        runs.insert(0, (0, ()))
    if runs[-1][0] == 1:
        runs.append((0, ()))
    return runs


def _once_per_case(log: Sublog, graph: Follows, mining: Mining) -> Tree | None:
    """An activity that every case has exactly once is parallel to the rest."""
    for label in graph.activities:
        if all(sequence.count(label) == 1 for sequence in log):
            return parallel(activity(label), _mine(_without(label, log), mining))
    return None


def _beside(log: Sublog, graph: Follows, mining: Mining) -> Tree | None:
    """An activity without which the others have a cut is parallel to them."""
    for label in graph.activities:
        rest = _without(label, log)
        seen = Counter({sequence: count for sequence, count in rest.items() if sequence})
        if seen and _cut(Follows.of_variants(Variants.from_counts(seen))) is not None:
            alone: Sublog = Counter()
            for sequence, count in log.items():
                alone[(label,) * sequence.count(label)] += count
            return parallel(_mine(alone, mining), _mine(rest, mining))
    return None


def _repeated(log: Sublog, graph: Follows, mining: Mining) -> Tree | None:
    """A silent loop: cases divide wherever an end is followed by a start."""
    ends = {graph.activities[i] for i in graph.ends.nonzero()[0]}
    return _silent_loop(log, graph, mining, ends)


def _silent_loop(log: Sublog, graph: Follows, mining: Mining, after: set[str]) -> Tree | None:
    starts = {graph.activities[i] for i in graph.starts.nonzero()[0]}
    pieces: Sublog = Counter()
    for sequence, count in log.items():
        marks = [i for i in range(1, len(sequence)) if sequence[i] in starts]
        marks = [i for i in marks if sequence[i - 1] in after]
        for begin, end in zip([0, *marks], [*marks, len(sequence)], strict=True):
            pieces[sequence[begin:end]] += count
    return loop(_mine(pieces, mining)) if pieces.total() > log.total() else None


FALL_THROUGHS: tuple[Callable[[Sublog, Follows, Mining], Tree | None], ...] = (
    _once_per_case,
    _beside,
    _repeated,
    lambda log, graph, mining: _silent_loop(log, graph, mining, set(graph.activities)),
)
"""Fall-throughs tried where there is no cut, in the order of Leemans' thesis; empty cases first.

The last is a silent loop whose cases divide before every start."""


def _without(label: str, log: Sublog) -> Sublog:
    result: Sublog = Counter()
    for sequence, count in log.items():
        result[tuple(e for e in sequence if e != label)] += count
    return result
