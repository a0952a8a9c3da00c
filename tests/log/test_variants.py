"""Variants: counting, order, and the arrays behind them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log import variants as variants_module
from discreet.log.variants import Variants, spans

sequences = st.lists(st.lists(st.sampled_from("abcdé"), max_size=5).map(tuple), max_size=30)


def of(cases: list[tuple[str, ...]]) -> tuple[Variants, np.ndarray]:
    labels = tuple(sorted({label for case in cases for label in case}))
    codes = np.array([labels.index(label) for case in cases for label in case], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(case) for case in cases])]).astype(np.int64)
    return Variants.of_cases(labels, codes, offsets)


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(sequences)
def test_counting_agrees_with_a_counter(cases: list[tuple[str, ...]]) -> None:
    variants, which = of(cases)
    assert variants.to_dict() == Counter(cases)
    assert variants == Variants.from_counts(Counter(cases))
    assert [variants.sequence(i) for i in which] == cases
    assert (variants.cases, variants.events) == (len(cases), sum(map(len, cases)))
    listed = [sequence for sequence, _ in variants]
    assert listed == sorted(listed)


def test_many_sequences_are_told_apart_in_another_way_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = [tuple("abcdé"[i] for i in (n % 5, n % 3, n % 2)[: n % 4]) for n in range(200)]
    few, which = of(cases)
    monkeypatch.setattr(variants_module, "MANY", 0)
    many, where = of(cases)
    assert list(many) == list(few)
    assert where.tolist() == which.tolist()
    shuffled = few.take(np.arange(len(few))[::-1])
    assert list(shuffled.take(shuffled.canonical_order())) == list(few)


def test_many_activities_keep_their_order() -> None:
    cases: list[tuple[str, ...]] = [(f"{i:04d}",) for i in range(1000)]
    variants, which = of(cases)
    assert [variants.sequence(i) for i in range(1000)] == cases
    assert which.tolist() == list(range(1000))


def test_from_counts_adds_up() -> None:
    variants = Variants.from_counts([(("a",), 2), (["a"], 3), ((), 1)])
    assert variants.to_dict() == {("a",): 5, (): 1}
    assert variants.lengths.tolist() == [0, 1]


def test_take_and_trim() -> None:
    variants = Variants.from_counts({("a",): 1, ("b", "c"): 2, ("c",): 3})
    some = variants.take(np.array([2, 1]), np.array([7, 8]))
    assert some.to_dict() == {("c",): 7, ("b", "c"): 8}
    assert some.activities == ("a", "b", "c")
    trimmed = some.trimmed()
    assert trimmed.activities == ("b", "c")
    assert list(trimmed) == [(("b", "c"), 8), (("c",), 7)]


def test_empty() -> None:
    none = Variants.empty(("a",))
    assert (len(none), none.cases, none.events, none.to_dict()) == (0, 0, 0, {})
    assert none == Variants.from_counts({})
    assert none.trimmed().activities == ()


def test_spans() -> None:
    positions, fresh = spans(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert positions.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert fresh.tolist() == [0, 3, 5, 5, 8]
