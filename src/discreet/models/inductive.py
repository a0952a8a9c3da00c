"""The Inductive Miner on plain logs: the twin that knows no privacy.

After Leemans, Fahland, van der Aalst (2013, 2014). `noise = 0` guarantees that every case of the
log replays; with `noise` > 0 (the infrequent variant, 0.2 is usual) rare behaviour is filtered
where the full graph has no cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from discreet.log.variants import Variants
from discreet.models.cuts import (
    exclusive_cut,
    loop_cut,
    parallel_cut,
    strict_sequence_cut,
)
from discreet.models.graph import Graph
from discreet.models.tree import TAU, Operator, Tree, activity, flower, loop, optional, parallel

Sequence = tuple[str, ...]
Sublog = Counter[Sequence]
Cut = tuple[Operator, list[set[str]]]


def inductive_miner(log: Variants | Mapping[Sequence, int], noise: float = 0.0) -> Tree:
    """Discover a tree from the variants of a log."""
    sequences = log.to_dict() if isinstance(log, Variants) else dict(log)
    return _mine(Counter(sequences), noise).folded()


def _mine(log: Sublog, noise: float) -> Tree:
    total = sum(log.values())
    empty = log.pop((), 0)
    if empty > noise * total:
        return optional(_mine(log, noise)) if log else TAU
    if not log:
        return TAU
    graph = Graph.of_sequences(log)
    if len(graph.labels) == 1:
        leaf = activity(graph.labels[0])
        return leaf if log.keys() == {graph.labels} else loop(leaf)
    cut = find_cut(graph)
    if cut is None and noise:
        cut = find_cut(graph.frequent(noise))
    if cut is not None:
        operator, parts = cut
        children = [_mine(part, noise) for part in _project(operator, parts, log)]
        return Tree(operator=operator, children=tuple(children))
    return _fall_through(log, graph, noise)


def find_cut(graph: Graph) -> Cut | None:
    """The first cut that fits: exclusive, sequence, parallel, loop."""
    edges, start, end = graph.follows > 0, graph.start > 0, graph.end > 0
    names: tuple[Operator, ...] = ("exclusive", "sequence", "parallel", "loop")
    for operator in names:
        if operator == "exclusive":
            parts = exclusive_cut(edges)
        elif operator == "sequence":
            parts = strict_sequence_cut(edges, start, end)
        elif operator == "parallel":
            parts = parallel_cut(edges, start, end)
        else:
            parts = loop_cut(edges, start, end)
        if parts is not None:
            return operator, [{graph.labels[i] for i in part} for part in parts]
    return None


def _project(operator: Operator, parts: list[set[str]], log: Sublog) -> list[Sublog]:
    """What each part sees of every case."""
    result: list[Sublog] = [Counter() for _ in parts]
    for sequence, count in log.items():
        if operator == "parallel":
            for number, part in enumerate(parts):
                result[number][tuple(e for e in sequence if e in part)] += count
        elif operator == "exclusive":
            shares = [sum(e in part for e in sequence) for part in parts]
            best = shares.index(max(shares))
            result[best][tuple(e for e in sequence if e in parts[best])] += count
        elif operator == "sequence":
            _split_sequence(sequence, count, parts, result)
        else:
            _split_loop(sequence, count, parts, result)
    return result


def _split_sequence(
    sequence: Sequence, count: int, parts: list[set[str]], result: list[Sublog]
) -> None:
    begin = 0
    passed: set[str] = set()
    for number, part in enumerate(parts):
        best = cost = 0
        split = begin
        for position in range(begin, len(sequence)):
            if sequence[position] in part:
                cost -= 1
            elif sequence[position] not in passed:
                cost += 1
            if cost < best:
                best, split = cost, position + 1
        result[number][tuple(e for e in sequence[begin:split] if e in part)] += count
        begin = split
        passed |= part


def _split_loop(
    sequence: Sequence, count: int, parts: list[set[str]], result: list[Sublog]
) -> None:
    """Runs of body and redo in turn; a case that begins or ends with redo has an empty body."""
    side = 0
    run: list[str] = []
    for event in sequence:
        now = 0 if event in parts[0] else 1
        if now != side:
            result[side][tuple(run)] += count
            run, side = [], now
        run.append(event)
    result[side][tuple(run)] += count
    if side == 1:
        result[0][()] += count


def _fall_through(log: Sublog, graph: Graph, noise: float) -> Tree:
    """No cut: set one activity aside, or assume a silent loop, or allow everything."""
    for label in graph.labels:
        if all(sequence.count(label) == 1 for sequence in log):
            return _beside(label, log, noise)
    for label in graph.labels:
        rest = _without(label, log)
        rest.pop((), None)
        if rest and find_cut(Graph.of_sequences(rest)) is not None:
            return _beside(label, log, noise)
    starts = {label for label, w in zip(graph.labels, graph.start, strict=True) if w > 0}
    ends = {label for label, w in zip(graph.labels, graph.end, strict=True) if w > 0}
    for allowed_before in (ends, None):
        pieces: Sublog = Counter()
        for sequence, count in log.items():
            begin = 0
            for i in range(1, len(sequence)):
                if sequence[i] in starts and (
                    allowed_before is None or sequence[i - 1] in allowed_before
                ):
                    pieces[sequence[begin:i]] += count
                    begin = i
            pieces[sequence[begin:]] += count
        if sum(pieces.values()) > sum(log.values()):
            return loop(_mine(pieces, noise))
    return flower(graph.labels)


def _without(label: str, log: Sublog) -> Sublog:
    result: Sublog = Counter()
    for sequence, count in log.items():
        result[tuple(e for e in sequence if e != label)] += count
    return result


def _beside(label: str, log: Sublog, noise: float) -> Tree:
    alone: Sublog = Counter()
    for sequence, count in log.items():
        alone[tuple(e for e in sequence if e == label)] += count
    return parallel(_mine(alone, noise), _mine(_without(label, log), noise))
