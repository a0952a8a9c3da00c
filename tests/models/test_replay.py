from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.log.variants import Variants
from discreet.models.inductive import inductive_miner
from discreet.models.petri import net_of
from discreet.models.pm4py import net_from_pm4py, to_pm4py
from discreet.models.replay import PrefixTree, replay
from discreet.models.tree import (
    Tree,
    activity,
    exclusive,
    flower,
    loop,
    optional,
    parallel,
    sequence,
)
from tests.models.playout import play_out

from ..conftest import RealLog, RealLogs, read_once
from .peer import frame, quiet, trace_fitness
from .test_tree import trees

a, b, c, d = (activity(label) for label in "abcd")

TOLERANCE = 0.02
"""How far our mean trace fitness may lie from PM4Py's; stated in docs/models.md."""


def log(*sequences: str) -> Variants:
    return Variants.from_counts([(tuple(s), 1) for s in sequences])


def test_token_counts_by_hand() -> None:
    """→(a, b) on ⟨a⟩: source and a give 2 tokens, a and the sink take 2; one lacks, one stays."""
    result = replay(sequence(a, b), log("a"))
    assert result.totals.tolist() == [[1, 2, 2, 1]]
    assert result.fitness == 0.5


@pytest.mark.parametrize(
    ("tree", "fits", "fails"),
    [
        (sequence(a, b), ["ab"], ["ba", "a", "aab"]),
        (exclusive(a, b), ["a", "b"], ["ab", ""]),
        (parallel(a, b), ["ab", "ba"], ["a", "abb"]),
        (loop(a, b), ["a", "aba", "ababa"], ["ab", "aa"]),
        (sequence(a, optional(b), c), ["abc", "ac"], ["bc"]),
        (parallel(loop(a), sequence(b, c)), ["abc", "baac", "bcaa"], ["acb"]),
        (flower("abc"), ["", "a", "ccba"], []),
    ],
)
def test_what_fits_and_what_does_not(tree: Tree, fits: list[str], fails: list[str]) -> None:
    for sequence_ in fits:
        assert replay(tree, log(sequence_)).fitness == 1
    for sequence_ in fails:
        assert replay(tree, log(sequence_)).fitness < 1


def test_fitness_is_a_mean_over_cases_and_pooled_fitness_is_not() -> None:
    counts = Variants.from_counts({tuple("ab"): 3, tuple("a"): 1})
    result = replay(sequence(a, b), counts)
    assert result.fitness == pytest.approx((3 + 0.5) / 4)
    assert result.pooled_fitness == pytest.approx(1 - 1 / 11)


def test_one_long_case_moves_the_pooled_fitness_by_far_more_than_its_share() -> None:
    """Why strict uses the mean: one of 100 cases may move that by 0.01, the pooled by 0.40."""
    tree = sequence(a, b)
    before = {tuple("ab"): 99}
    short = Variants.from_counts({**before, tuple("ab"): 100})
    long = Variants.from_counts({**before, tuple("b" * 200): 1})
    pooled = replay(tree, short).pooled_fitness - replay(tree, long).pooled_fitness
    mean = replay(tree, short).fitness - replay(tree, long).fitness
    assert pooled == pytest.approx(0.4016, abs=1e-4)
    assert mean <= 0.01


def test_choices_count_what_the_tree_allows_along_the_way() -> None:
    result = replay(sequence(a, exclusive(b, c), d), log("abd"))
    assert result.variant_choices.tolist() == [pytest.approx((1 + 2 + 1) / 3)]


@given(trees())
@settings(max_examples=40, deadline=None)
def test_values_lie_between_zero_and_one(tree: Tree) -> None:
    mixed = log("", "a", "ab", "fedcba", "aabbccddeeff", "xyz", "abcabcabc")
    result = replay(tree, mixed)
    for value in (*result.variant_fitness, result.precision, result.pooled_fitness):
        assert 0 <= value <= 1
    assert (result.variant_choices <= len(mixed.activities)).all()


@given(trees())
@settings(max_examples=30, deadline=None)
def test_a_variant_is_replayed_alike_whatever_else_is_in_the_log(tree: Tree) -> None:
    """The score of a case must not depend on other cases: the sensitivity rests on it."""
    others = play_out(tree, cases=8, seed=2, max_length=20).to_dict()
    others |= {tuple("fedcba"): 4, tuple("aabbcc"): 2}
    together = Variants.from_counts(others)
    whole = replay(tree, together)
    fitness, choices = whole.variant_fitness, whole.variant_choices
    for i in range(len(together)):
        alone = replay(tree, Variants.from_counts({together.sequence(i): 1}))
        assert alone.variant_fitness[0] == fitness[i]
        assert alone.variant_choices[0] == choices[i]


def test_prefixes_are_shared() -> None:
    tree = PrefixTree(Variants.from_counts({tuple("abc"): 2, tuple("abd"): 3, ("a",): 5}))
    assert [level.cases.tolist() for level in tree.levels] == [[10], [5], [2, 3]]


def test_real_logs_agree_with_pm4py(small_real_log: tuple[RealLog, Path]) -> None:
    """Fitness on fitting and misfitting trees, and the net behind it."""
    events = read_once(small_real_log[1])
    variants = events.variants
    tree = inductive_miner(variants, 0.4)
    theirs = to_pm4py(tree)
    expected = trace_fitness(variants, theirs) @ variants.counts / variants.cases
    assert abs(replay(tree, variants).fitness - expected) <= TOLERANCE
    with quiet():
        import pm4py

        net, _, _ = pm4py.convert_to_petri_net(theirs)
    assert len(net_of(tree).transitions) == len(net.transitions)
    assert len(net_of(tree).places) == len(net.places)


@given(trees("abcdefgh"))
@settings(max_examples=30, deadline=None)
def test_nets_are_as_large_as_pm4py_s(tree: Tree) -> None:
    """Up to one silent step at either end."""
    with quiet():
        import pm4py

        theirs, _, _ = pm4py.convert_to_petri_net(to_pm4py(tree.folded()))
    ours = net_of(tree.folded())
    assert abs(len(ours.transitions) - len(theirs.transitions)) <= 2
    assert abs(len(ours.places) - len(theirs.places)) <= 2


def test_precision_simplicity_generalisation_are_pm4py_s(real_logs: RealLogs) -> None:
    events = read_once(real_logs["CoSeLoG_receipt"][1])
    tree = inductive_miner(events.variants, 0.5)
    result = replay(tree, events.variants)
    with quiet():
        import pm4py
        from pm4py.algo.evaluation.generalization import algorithm as generalization
        from pm4py.algo.evaluation.simplicity import algorithm as simplicity

        net = pm4py.convert_to_petri_net(to_pm4py(tree))
        table = frame(events)
        assert result.precision == pytest.approx(
            pm4py.precision_token_based_replay(table, *net), abs=0.03
        )
        assert net_of(tree).simplicity == pytest.approx(simplicity.apply(net[0]), abs=1e-9)
        assert result.generalisation == pytest.approx(generalization.apply(table, *net), abs=0.02)


def test_an_empty_log_fits() -> None:
    assert replay(a, Variants.empty()).fitness == 1
    assert np.isfinite(replay(a, log("")).fitness)


def test_only_workflow_nets_with_simple_arcs_are_taken_from_pm4py() -> None:
    from pm4py.objects.petri_net.obj import Marking, PetriNet
    from pm4py.objects.petri_net.utils.petri_utils import add_arc_from_to

    net, first, last = PetriNet(), PetriNet.Place("first"), PetriNet.Place("last")
    step = PetriNet.Transition("t", "a")
    net.places.update((first, last))
    net.transitions.add(step)
    add_arc_from_to(first, step, net)
    arc = add_arc_from_to(step, last, net)
    ours, places = net_from_pm4py(net, Marking({first: 1}), Marking({last: 1}))
    assert places == (first, last)
    assert replay(ours, log("a")).fitness == 1
    with pytest.raises(ValueError, match="one token"):
        net_from_pm4py(net, Marking({first: 2}), Marking({last: 1}))
    arc.weight = 2
    with pytest.raises(ValueError, match="weight one"):
        net_from_pm4py(net, Marking({first: 1}), Marking({last: 1}))
