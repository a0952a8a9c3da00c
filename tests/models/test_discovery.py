from hypothesis import given, settings

from discreet.log.follows import Follows
from discreet.log.variants import Variants
from discreet.models.discovery import Miner, bridged, without_rare
from discreet.models.replay import replay
from discreet.models.tree import (
    TAU,
    Tree,
    activity,
    exclusive,
    loop,
    optional,
    parallel,
    sequence,
)
from tests.models.playout import play_out

from .test_tree import trees

a, b, c, d = (activity(label) for label in "abcd")


def graph(counts: dict[str, int]) -> Follows:
    sequences = {tuple(sequence_): count for sequence_, count in counts.items()}
    return Follows.of_variants(Variants.from_counts(sequences))


def test_operators_are_found_from_the_graph_alone() -> None:
    mine = Miner().mine
    assert mine(graph({"abd": 5, "acd": 5})) == sequence(a, exclusive(b, c), d)
    assert mine(graph({"abd": 5, "ad": 5})) == sequence(a, optional(b), d)
    assert mine(graph({"abcd": 5, "acbd": 5})) == sequence(a, parallel(b, c), d)
    assert mine(graph({"abacab": 5, "ab": 5, "abcab": 5})) != TAU
    assert mine(graph({"aab": 5, "ab": 5})) == sequence(loop(a), b)


def test_a_loop_with_a_redo_part() -> None:
    assert Miner().mine(graph({"abcab": 5, "ab": 9})) == loop(sequence(a, b), c)


def test_rare_edges_are_left_out_to_find_a_cut() -> None:
    noisy = graph({"abcd": 900, "dcba": 5})
    assert Miner(most=0.2).mine(noisy) == sequence(a, b, c, d)
    assert Miner(most=0.0).mine(noisy) != sequence(a, b, c, d)


def test_bridging_shows_the_log_without_an_activity() -> None:
    left = bridged(graph({"axb": 6, "xb": 4, "bxa": 2}), [3 - 1])
    assert left.activities == ("a", "b", "x")
    assert left.between[0, 1] == 5  # half of the ten that x leads on to b
    assert left.between[0, 0] == left.between[1, 1] == 0
    assert not left.between[2].any()


def test_parallel_branches_see_the_log_without_the_others() -> None:
    """b and c never meet, since a always lies between them; they still are in sequence."""
    log = {"bac": 5, "abac": 5, "baca": 5, "abaca": 5}
    assert "×( b, c )" not in str(Miner(most=0.0).mine(graph(log)))


def test_nothing_is_silent() -> None:
    assert Miner().mine(graph({})) == TAU


def test_without_rare_keeps_what_is_frequent() -> None:
    kept = without_rare(graph({"ab": 100, "ac": 3}), 0.1)
    assert kept.between.tolist() == [[0, 100, 0], [0, 0, 0], [0, 0, 0]]


@given(trees())
@settings(max_examples=30, deadline=None)
def test_mining_ends_and_names_every_activity(tree: Tree) -> None:
    log = play_out(tree, cases=60, seed=5, max_length=30)
    found = Miner(most=0.0).mine(Follows.of_variants(log))
    assert found.labels == log.activities
    cases = Variants.from_counts({sequence_: n for sequence_, n in log if sequence_})
    assert replay(found, cases).fitness > 0.6
