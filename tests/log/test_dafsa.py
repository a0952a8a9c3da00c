"""The automaton against the paper's example, brute force and a real log."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.dafsa import Dafsa
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.variants import Variants
from tests.conftest import RealLogs, read_once

TABLE_I = {
    "1": (("A", "s0", "s5"), ("B", "s5", "s2"), ("C", "s2", "s3")),
    "2": (("D", "s0", "s4"), ("A", "s4", "s5"), ("E", "s5", "s2"), ("C", "s2", "s3")),
    "3": (("A", "s0", "s5"), ("B", "s5", "s2"), ("C", "s2", "s3")),
    "4": (("D", "s0", "s4"), ("A", "s4", "s5"), ("B", "s5", "s2"), ("C", "s2", "s3")),
    "5": (("A", "s0", "s5"), ("E", "s5", "s2"), ("C", "s2", "s3")),
}
TABLE_II = {
    ("s0", "A", "s5", 3),
    ("s5", "B", "s2", 3),
    ("s2", "C", "s3", 5),
    ("s0", "D", "s4", 2),
    ("s4", "A", "s5", 2),
    ("s5", "E", "s2", 2),
}
OURS = {"s0": "s0", "s5": "s1", "s4": "s2", "s2": "s3", "s3": "s4"}
"""The paper's names of the states and ours, which go breadth first."""

WORDS = st.dictionaries(
    st.text("abc", max_size=6).map(tuple), st.integers(1, 5), min_size=1, max_size=12
)


def table_i() -> EventLog:
    rows = [
        (case, step[0], 60 * minute)
        for case, steps in TABLE_I.items()
        for minute, step in enumerate(steps)
    ]
    table = pl.DataFrame(rows, schema=[CASE, ACTIVITY, TIME], orient="row")
    return EventLog.from_table(table.with_columns(pl.col(TIME).cast(pl.Datetime("us", "UTC"))))


def accepts(dafsa: Dafsa, sequence: tuple[str, ...]) -> bool:
    """Whether a walk from the first state along these activities ends in a final one."""
    labels = [dafsa.activities[code] for code in dafsa.label]
    step = dict(zip(zip(dafsa.source, labels, strict=True), dafsa.target, strict=True))
    state = 0
    for activity in sequence:
        if (state, activity) not in step:
            return False
        state = step[state, activity]
    return bool(dafsa.final[state])


def test_the_papers_contingency_table() -> None:
    dafsa = Dafsa.of(table_i().variants)
    expected = {(OURS[s], activity, OURS[t], n) for s, activity, t, n in TABLE_II}
    assert set(dafsa.contingency().iter_rows()) == expected
    assert (dafsa.states, dafsa.transitions) == (5, 6)
    assert np.flatnonzero(dafsa.final).tolist() == [4]


def test_the_papers_annotated_log() -> None:
    log = table_i()
    dafsa = Dafsa.of(log.variants)
    step = dafsa.transition_of_event(log)
    states = (f"s{s}" for s in dafsa.source[step]), (f"s{s}" for s in dafsa.target[step])
    assert list(zip(log.frame[CASE], log.frame[ACTIVITY], *states, strict=True)) == [
        (case, activity, OURS[source], OURS[target])
        for case, steps in TABLE_I.items()
        for activity, source, target in steps
    ]


def test_sepsis(real_logs: RealLogs) -> None:
    known, path = real_logs["Sepsis"]
    variants = read_once(path).variants
    dafsa = Dafsa.of(variants)
    smallest = smallest_automaton({word for word, _ in variants})
    assert (dafsa.states, dafsa.transitions) == smallest
    assert known.generated or smallest == (3629, 4371)


def smallest_automaton(words: Iterable[tuple[str, ...]]) -> tuple[int, int]:
    """How many states and transitions it has: a state for each set of endings."""
    endings: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for word in words:
        for i in range(len(word) + 1):
            endings.setdefault(word[:i], set()).add(word[i:])
    states = set(map(frozenset, endings.values()))
    return len(states), sum(len({ending[0] for ending in state if ending}) for state in states)


@given(WORDS)
def test_states_are_the_distinct_sets_of_endings(counts: dict[tuple[str, ...], int]) -> None:
    dafsa = Dafsa.of(Variants.from_counts(counts))
    assert (dafsa.states, dafsa.transitions) == smallest_automaton(counts)


@given(WORDS)
def test_accepts_the_variants_and_nothing_else(counts: dict[tuple[str, ...], int]) -> None:
    dafsa = Dafsa.of(Variants.from_counts(counts))
    assert all(accepts(dafsa, word) for word in counts)
    near = {word[:-1] for word in counts} | {(*word, "a") for word in counts} | {("z",)}
    for word in near - counts.keys():
        assert not accepts(dafsa, word)


@given(WORDS, st.randoms(use_true_random=False))
def test_paths_follow_the_transitions_in_any_order_of_variants(
    counts: dict[tuple[str, ...], int], random: object
) -> None:
    variants = Variants.from_counts(counts)
    order = np.arange(len(variants))
    random.shuffle(order)  # type: ignore[attr-defined]
    variants = variants.take(order)
    dafsa = Dafsa.of(variants)
    taken = np.zeros(dafsa.transitions, dtype=int)
    for i, (word, count) in enumerate(variants):
        path = dafsa.path[variants.offsets[i] : variants.offsets[i + 1]]
        assert len(set(path.tolist())) == len(path)
        assert [dafsa.activities[c] for c in dafsa.label[path]] == list(word)
        state = 0
        for step in path:
            assert dafsa.source[step] == state
            state = dafsa.target[step]
        assert dafsa.final[state]
        taken[path] += count
    assert taken.tolist() == dafsa.counts.tolist()


def test_no_variant_and_the_empty_variant() -> None:
    nothing = Dafsa.of(Variants.empty(("a",)))
    assert (nothing.states, nothing.transitions) == (1, 0)
    assert not accepts(nothing, ())
    empty = Dafsa.of(Variants.from_counts({(): 3}))
    assert accepts(empty, ())
    assert (empty.states, empty.transitions) == (1, 0)


def test_drawings_show_every_transition_and_quote_labels() -> None:
    dafsa = Dafsa.of(Variants.from_counts({('say "hi"',): 2, ("b\\c",): 1}))
    assert 's0 -- "say #quot;hi#quot; (2)" --> s1' in dafsa.to_mermaid()
    assert 's0 -- "b\\c (1)" --> s1' in dafsa.to_mermaid()
    assert "s1(((s1)))" in dafsa.to_mermaid()
