import numpy as np

from discreet.models.cuts import (
    exclusive_cut,
    find_cut,
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
    assert reachable([0b010, 0b100, 0b000]) == [0b110, 0b100, 0b000]


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


def test_a_part_is_skipped_with_one_neighbour_only() -> None:
    # b needs a before it and c after it, but a and c occur without each other: b goes with a.
    graph = edges(5, (0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 4), (0, 3))
    assert sequence_cut(graph) == [[0], [1], [2], [3], [4]]
    assert strict_sequence_cut(graph, flags(5, 0), flags(5, 4)) == [[0], [1, 2], [3], [4]]


def test_a_part_without_a_start_or_an_end_joins_another() -> None:
    graph = ~np.eye(3, dtype=bool)
    assert parallel_cut(graph, flags(3, 0, 1, 2), flags(3, 0, 1, 2)) == [[0], [1], [2]]
    assert parallel_cut(graph, flags(3, 0, 1), flags(3, 0, 2)) == [[0], [1, 2]]


def test_the_first_cut_that_fits_is_found() -> None:
    everyone = flags(2, 0, 1)
    assert find_cut(edges(2), everyone, everyone) == ("exclusive", [[0], [1]])
    assert find_cut(edges(2, (0, 1)), flags(2, 0), flags(2, 1)) == ("sequence", [[0], [1]])
    both = edges(2, (0, 1), (1, 0))
    assert find_cut(both, everyone, everyone) == ("parallel", [[0], [1]])
    assert find_cut(both, flags(2, 0), flags(2, 0)) == ("loop", [[0], [1]])
    assert find_cut(edges(3, (0, 1), (1, 0), (1, 2), (2, 1)), flags(3, 0), flags(3, 2)) is None
