import numpy as np

from discreet.models.cuts import (
    exclusive_cut,
    loop_cut,
    parallel_cut,
    reachable,
    sequence_cut,
    strict_sequence_cut,
)


def edges(size: int, *pairs: tuple[int, int]) -> np.ndarray:
    result = np.zeros((size, size), dtype=bool)
    for i, j in pairs:
        result[i, j] = True
    return result


def flags(size: int, *members: int) -> np.ndarray:
    result = np.zeros(size, dtype=bool)
    result[list(members)] = True
    return result


def test_reachability_is_transitive() -> None:
    reach = reachable(edges(3, (0, 1), (1, 2)))
    assert reach[0, 2]
    assert not reach[2, 0]


def test_parts_without_an_edge_between_them_are_exclusive() -> None:
    assert exclusive_cut(edges(4, (0, 1), (3, 2))) == [[0, 1], [2, 3]]
    assert exclusive_cut(edges(3, (0, 1), (1, 2))) is None


def test_a_sequence_is_ordered_and_keeps_choices_together() -> None:
    graph = edges(4, (2, 0), (2, 3), (0, 1), (3, 1))
    assert sequence_cut(graph) == [[2], [0, 3], [1]]
    assert sequence_cut(edges(2, (0, 1), (1, 0))) is None


def test_parts_that_are_only_skipped_together_stay_together() -> None:
    # a → (b → c)? → d: b and c never occur alone.
    graph = edges(4, (0, 1), (1, 2), (2, 3), (0, 3))
    assert sequence_cut(graph) == [[0], [1], [2], [3]]
    assert strict_sequence_cut(graph, flags(4, 0), flags(4, 3)) == [[0], [1, 2], [3]]


def test_parallel_parts_need_a_start_and_an_end_each() -> None:
    graph = edges(2, (0, 1), (1, 0))
    assert parallel_cut(graph, flags(2, 0, 1), flags(2, 0, 1)) == [[0], [1]]
    assert parallel_cut(graph, flags(2, 0), flags(2, 0)) is None


def test_a_loop_leads_from_all_ends_to_all_starts() -> None:
    graph = edges(3, (0, 1), (1, 2), (2, 0))
    assert loop_cut(graph, flags(3, 0), flags(3, 1)) == [[0, 1], [2]]
    # 2 is entered from a start that is no end: part of the body, so no loop.
    assert loop_cut(edges(3, (0, 1), (0, 2), (2, 0)), flags(3, 0), flags(3, 1)) is None
    # 2 returns to one of two starts only.
    both = edges(4, (0, 1), (3, 1), (1, 2), (2, 0))
    assert loop_cut(both, flags(4, 0, 3), flags(4, 1)) is None
