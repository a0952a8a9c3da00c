from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.expansion import expand
from discreet.log.variants import Variants
from discreet.models.inductive import inductive_miner, segment_ends
from discreet.models.pm4py import from_pm4py
from discreet.models.replay import replay
from discreet.models.tree import Tree, activity, exclusive, sequence
from tests.models.playout import play_out

from ..conftest import RealLog, read_once
from .peer import miner
from .test_tree import trees

TABLE_1 = {tuple("RHMD"): 63, tuple("RHSD"): 25, tuple("RHD"): 12}


def test_the_paper_s_example_gives_its_first_figure() -> None:
    r, h, m, s, d = (activity(label) for label in "RHMSD")
    assert inductive_miner(TABLE_1) == sequence(r, h, exclusive(Tree(), m, s), d)


def test_one_more_surgery_becomes_a_loop() -> None:
    tree = inductive_miner({**TABLE_1, tuple("RHSSD"): 1})
    assert "↺( S, τ )" in str(tree)


@given(trees())
@settings(max_examples=30, deadline=None)
def test_every_case_of_a_played_log_fits_what_is_mined_from_it(tree: Tree) -> None:
    log = play_out(tree, cases=50, seed=3, max_length=30)
    result = replay(inductive_miner(log), log)
    assert result.fitness >= 0.97
    assert inductive_miner(log).labels == log.activities


def test_small_real_logs_give_the_same_tree_as_pm4py(small_real_log: tuple[RealLog, Path]) -> None:
    variants = read_once(small_real_log[1]).variants
    assert inductive_miner(variants) == from_pm4py(miner(variants)).folded()


@pytest.mark.parametrize("noise", [0.1, 0.2])
def test_the_infrequent_variant_drops_rare_behaviour(noise: float) -> None:
    rare = {tuple("abcd"): 500, tuple("abd"): 300, tuple("dcba"): 2}
    narrow, wide = inductive_miner(rare, noise), inductive_miner(rare)
    assert replay(narrow, log := Variants.from_counts(rare)).precision > replay(wide, log).precision
    assert replay(wide, log).fitness == 1
    assert 0.97 < replay(narrow, log).fitness < 1


def test_a_greedy_miner_divides_cases_as_pm4py_does() -> None:
    often = {"abcdef": 75, "aefbcd": 12, "a": 12, "abefcd": 12, "abcefd": 9, "aebcdf": 6}
    log = Variants.from_counts({tuple(case): count for case, count in often.items()})
    cases = expand(log, np.arange(log.cases), [f"{case:03d}" for case in range(log.cases)])
    assert inductive_miner(log, 0.2, greedy=True) == from_pm4py(miner(cases, 0.2)).folded()
    assert inductive_miner(log, 0.2) == sequence(*(activity(label) for label in "abcdef"))


def test_an_empty_log_is_silent() -> None:
    assert inductive_miner({}) == Tree()
    assert inductive_miner({(): 3}) == Tree()


@given(st.lists(st.integers(0, 2), max_size=7))
@settings(max_examples=40, deadline=None)
def test_a_case_is_divided_so_that_most_events_stay(places: list[int]) -> None:
    def kept(ends: list[int]) -> int:
        begins = [0, *ends[:-1]]
        return sum(
            places[begin:end].count(part)
            for part, (begin, end) in enumerate(zip(begins, ends, strict=True))
        )

    size = len(places)
    divisions = combinations_with_replacement(range(size + 1), 2)
    assert kept(segment_ends(places, 3)) == max(kept([*marks, size]) for marks in divisions)


@pytest.mark.parametrize(
    ("log", "tree"),
    [
        ({"abc": 1, "bca": 1}, "+( a, →( b, c ) )"),
        ({"abab": 1, "ab": 1}, "↺( →( a, b ), τ )"),
        ({"ab": 1, "": 1}, "×( τ, →( a, b ) )"),
    ],
)
def test_fall_throughs(log: dict[str, int], tree: str) -> None:
    assert str(inductive_miner({tuple(case): n for case, n in log.items()})) == tree
