import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.models.replay import replay
from discreet.models.tree import (
    TAU,
    Tree,
    TreeError,
    activity,
    exclusive,
    flower,
    loop,
    optional,
    parallel,
    sequence,
)
from tests.models.playout import play_out

a, b, c, d = (activity(label) for label in "abcd")


def trees(labels: str = "abcdef") -> st.SearchStrategy[Tree]:
    """Trees in which every activity occurs at most once."""

    def build(names: tuple[str, ...]) -> st.SearchStrategy[Tree]:
        if len(names) == 1:
            leaf = activity(names[0])
            return st.sampled_from([leaf, optional(leaf), loop(leaf), loop(TAU, leaf)])

        def split(at: int) -> st.SearchStrategy[Tree]:
            return st.builds(
                lambda operator, left, right: Tree(operator=operator, children=(left, right)),
                st.sampled_from(["sequence", "exclusive", "parallel", "loop"]),
                build(names[:at]),
                build(names[at:]),
            )

        return st.integers(1, len(names) - 1).flatmap(split)

    return st.integers(1, len(labels)).flatmap(lambda n: build(tuple(labels[:n])))


@pytest.mark.parametrize(
    ("tree", "folded"),
    [
        (sequence(a, sequence(b, c)), sequence(a, b, c)),
        (sequence(a, TAU, b), sequence(a, b)),
        (parallel(b, parallel(c, a)), parallel(a, b, c)),
        (exclusive(exclusive(TAU, a), exclusive(TAU, b), TAU), exclusive(TAU, a, b)),
        (exclusive(TAU, loop(TAU, a)), loop(TAU, a)),
        (loop(optional(a)), loop(TAU, a)),
        (loop(TAU, exclusive(TAU, a, b)), loop(TAU, exclusive(a, b))),
        (loop(loop(a)), loop(a)),
        (loop(TAU, TAU), TAU),
        (sequence(TAU, TAU), TAU),
        (exclusive(a), a),
    ],
)
def test_folding_keeps_the_language_in_fewer_nodes(tree: Tree, folded: Tree) -> None:
    assert tree.folded() == folded
    assert tree.folded().folded() == folded


@given(trees())
@settings(max_examples=30, deadline=None)
def test_a_folded_tree_replays_what_the_tree_plays(tree: Tree) -> None:
    log = play_out(tree.folded(), cases=20, seed=1, max_length=30)
    assert replay(tree, log).fitness >= 0.95


def test_text_shows_operators_and_labels() -> None:
    assert str(sequence(a, exclusive(TAU, b), loop(c, d))) == "→( a, ×( τ, b ), ↺( c, d ) )"
    assert parallel(b, a).labels == ("a", "b")


def test_dictionaries_round_trip() -> None:
    tree = sequence(a, parallel(b, loop(c)), optional(d))
    assert Tree.from_dict(tree.to_dict()) == tree


@pytest.mark.parametrize(
    "values",
    [
        {"label": "a", "operator": "sequence", "children": (a, b)},
        {"operator": "loop", "children": (a,)},
        {"operator": "or", "children": (a, b)},
        {"operator": "sequence"},
        {"label": "a", "children": (b,)},
    ],
)
def test_malformed_nodes_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(TreeError):
        Tree(**values)  # type: ignore[arg-type]


def test_a_flower_of_nothing_is_silent() -> None:
    assert flower([]) == TAU
    assert flower(["b", "a", "b"]) == loop(TAU, exclusive(a, b))
