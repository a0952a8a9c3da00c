from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.variants import Variants
from discreet.mechanisms.blocks.rules import (
    KINDS,
    Rules,
    Violations,
    checked_rules,
    eventually_follows,
    first_distinct,
    learned_rules,
    read_rules,
)
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import laplace_or_gaussian

SEQUENCES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(tuple)
LOGS = st.dictionaries(SEQUENCES, st.integers(1, 5), min_size=1, max_size=6)


def comes_before(sequence: tuple[str, ...], x: str, y: str) -> bool:
    """Whether some y comes after the first x."""
    return x in sequence and y in sequence[sequence.index(x) + 1 :]


def broken(rules: Rules, labels: tuple[str, ...], prefix: tuple[str, ...], ended: bool) -> int:
    """Broken rules counted one by one, as the definition says."""
    if len(prefix) + ended == 1:
        return int(ended or not rules.first[labels.index(prefix[0])])
    total = 0
    for i, x in enumerate(labels):
        for j, y in enumerate(labels):
            follows, precedes = comes_before(prefix, x, y), comes_before(prefix, y, x)
            if x not in prefix:
                continue
            total += int(rules.never_follows[i, j] and follows)
            total += int(rules.never_precedes[i, j] and precedes)
            total += int(rules.always_precedes[i, j] and not precedes)
            total += int(ended and rules.always_follows[i, j] and not follows)
    return total


@given(LOGS, SEQUENCES)
def test_violations_are_counted_as_defined(
    log: dict[tuple[str, ...], int], walk: tuple[str, ...]
) -> None:
    variants = Variants.from_counts(log)
    labels = variants.activities
    walk = tuple(label for label in walk if label in labels)
    rules = Rules.of_variants(variants)
    violations = Violations(rules)
    for length in range(len(walk) + 1):
        prefix = walk[:length]
        expected = [broken(rules, labels, (*prefix, label), False) for label in labels]
        expected.append(broken(rules, labels, prefix, True))
        assert violations.of_candidates().tolist() == expected
        if length < len(walk):
            violations.grow(np.array([0]), np.array([labels.index(walk[length])]))


@given(LOGS)
def test_rules_of_a_log_are_kept_by_its_own_cases(log: dict[tuple[str, ...], int]) -> None:
    variants = Variants.from_counts(log)
    rules = Rules.of_variants(variants)
    for sequence in log:
        assert len(sequence) == 0 or broken(rules, variants.activities, sequence, True) == 0


@given(LOGS)
def test_eventually_follows_counts_cases(log: dict[tuple[str, ...], int]) -> None:
    variants = Variants.from_counts(log)
    present, follows, begins = eventually_follows(variants)
    for i, x in enumerate(variants.activities):
        assert present[i] == sum(n for s, n in log.items() if x in s)
        assert begins[i] == sum(n for s, n in log.items() if s[0] == x)
        for j, y in enumerate(variants.activities):
            assert follows[i, j] == sum(n for s, n in log.items() if comes_before(s, x, y))


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), st.integers(1, 5))
def test_a_case_adds_no_more_than_the_sensitivity_of_learned_rules(
    case: list[str], distinct: int
) -> None:
    bounded = first_distinct(Variants.from_counts({tuple(case): 1}), distinct)
    present, follows, begins = eventually_follows(bounded)
    total = np.concatenate([present, follows.ravel(), begins])
    assert total.max() <= 1
    assert total.sum() <= distinct**2 + distinct + 1
    assert begins.sum() == 1


def test_much_budget_learns_the_rules_of_the_log() -> None:
    log = Variants.from_counts({tuple("abc"): 5000, tuple("acb"): 4000})
    learned = learned_rules(
        log, 10, laplace_or_gaussian("rules", Budget(1000.0)), Randomness.system()
    )
    true = Rules.of_variants(log)
    assert (learned.first == true.first).all()
    for kind in KINDS:
        assert (getattr(learned, kind) == getattr(true, kind)).all(), kind


def test_little_budget_learns_nothing() -> None:
    log = Variants.from_counts({tuple("abc"): 50})
    learned = learned_rules(
        log, 10, laplace_or_gaussian("rules", Budget(0.001)), Randomness.seeded(1)
    )
    assert learned.first.all()
    assert not any(getattr(learned, kind).any() for kind in KINDS)


def test_rules_are_read_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(
        'first = ["Register"]\n[never_follows]\n"Release" = ["Triage", "Register"]\n'
        '[always_precedes]\n"Release" = "Register"\n',
        encoding="utf-8",
    )
    rows = read_rules(str(file))
    assert rows == (
        ("always_precedes", "Release", "Register"),
        ("first", "Register"),
        ("never_follows", "Release", "Register"),
        ("never_follows", "Release", "Triage"),
    )
    labels = ("Register", "Release", "Triage")
    rules = Rules.of_rows(rows, labels)
    assert rules.first.tolist() == [True, False, False]
    assert rules.never_follows[1].tolist() == [True, False, True]
    assert rules.always_precedes[1].tolist() == [True, False, False]
    narrow = Rules.of_rows(rows, ("Release", "Triage"))
    assert narrow.first.tolist() == [False, False]
    assert not narrow.always_precedes.any()
    assert Rules.of_rows((), labels).first.all()


@pytest.mark.parametrize(
    "text", ["first = 3", "[sometimes_follows]\na = ['b']", "not toml", "[never_follows]\na = [1]"]
)
def test_bad_rules_are_refused_with_a_reason(text: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(ParameterError):
        read_rules(str(file))
    with pytest.raises(ParameterError, match="cannot be read"):
        read_rules(str(tmp_path / "absent.toml"))
    with pytest.raises(ParameterError, match="is not a rule"):
        checked_rules((("first",),))
