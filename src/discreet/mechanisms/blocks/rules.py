"""Behavioural rules between activities, how many of them a prefix breaks, and learned rules.

The rules are those of behavioural appropriateness: `a` is always, never or sometimes followed by
`b` (at any distance), always, never or sometimes preceded by it, and cases begin with one of a
few activities. In a sequence `b` follows `a` if some `b` comes after the first `a`; `b` precedes
`a` if some `b` comes before the last `a`. Both say first(·) < last(·). They are given as public
knowledge (`read_rules`) or learned from noisy counts (`learned_rules`, which has the proof).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.log.variants import Variants
from discreet.parameters import ParameterError
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Step, least_noise

KINDS = ("never_follows", "always_follows", "never_precedes", "always_precedes")
RuleRows = tuple[tuple[str, ...], ...]
"""Rules as rows of texts, as a certificate stores them: (kind, activity, other activity), or
("first", activity)."""

# Tuned
SURE_FACTOR = 10
"""Multiple of the noise's threshold that an activity's count reaches if rules may relate it."""


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules over the activities 0 … n−1; `never_follows[a, b]`: after an `a` there is never a `b`.

    `never_precedes[a, b]`: before an `a` there is never a `b`; the same for always. `first` marks
    the activities that a case may begin with.
    """

    first: Booleans
    never_follows: Booleans
    always_follows: Booleans
    never_precedes: Booleans
    always_precedes: Booleans

    @classmethod
    def of_variants(cls, variants: Variants) -> Rules:
        """The rules that every case of a raw log keeps: reads the log, as the paper does."""
        present, follows, begins = eventually_follows(variants)
        never = follows == 0
        return cls(
            first=begins > 0,
            never_follows=never,
            always_follows=(follows == present[:, None]) & ~never,
            never_precedes=never.T,
            always_precedes=((follows == present[None, :]) & ~never).T,
        )

    @classmethod
    def of_rows(cls, rows: RuleRows, labels: tuple[str, ...]) -> Rules:
        """The rules in these rows; a row that names an activity outside `labels` has no effect."""
        place = {label: code for code, label in enumerate(labels)}
        size = len(labels)
        matrices = {kind: np.zeros((size, size), dtype=np.bool_) for kind in KINDS}
        named = [row[1] for row in rows if row[0] == "first"]
        first = np.array([label in named or not named for label in labels], dtype=np.bool_)
        for kind, *activities in rows:
            codes = [place.get(label) for label in activities]
            if kind != "first" and None not in codes:
                matrices[kind][codes[0], codes[1]] = True
        return cls(first, **matrices)

    @cached_property
    def column_weights(self) -> tuple[Integers, Integers]:
        """Rules that a pair (x, y) breaks in column y if x comes before y, and if it does not."""
        broken = self.never_follows.astype(np.int64) + self.never_precedes.T
        return broken, self.always_precedes.T.astype(np.int64)


class Violations:
    """The number of broken rules of every prefix in a growing tree and of its extensions.

    Appending `a` changes one column of the relation "x comes before y" only: then all activities
    present come before a last `a`. So each prefix needs three rows: what is present, the broken
    rules by column, and the promises (always follows) still open by column.
    """

    def __init__(self, rules: Rules) -> None:
        size = len(rules.first)
        self._rules = rules
        self._present = np.zeros((1, size), dtype=np.int64)
        self._column = np.zeros((1, size), dtype=np.int64)
        self._promised = np.zeros((1, size), dtype=np.int64)
        self._at_root = True

    def of_candidates(self) -> Integers:
        """The number of rules that each candidate breaks, by prefix · symbols + symbol, ⊥ last.

        A prefix of one event is judged by the first activities alone, ⊥ at once breaks one rule.
        """
        if self._at_root:
            return np.append(1 - self._rules.first.astype(np.int64), 1)
        total = self._column.sum(axis=1, keepdims=True)
        extended = total - self._column + self._fresh_columns()
        ended = total + self._promised.sum(axis=1, keepdims=True)
        return np.hstack([extended, ended]).ravel()

    def _fresh_columns(self) -> Integers:
        before, missing = self._rules.column_weights
        fresh: Integers = self._present @ before + (1 - self._present) @ missing
        return fresh

    def grow(self, parent: Integers, symbol: Integers) -> None:
        """Follow the open prefixes that were kept, by parent and appended activity."""
        row = np.arange(len(parent))
        column = self._column[parent]
        column[row, symbol] = self._fresh_columns()[parent, symbol]
        present = self._present[parent]
        new = present[row, symbol] == 0
        promised = self._promised[parent]
        promised[row, symbol] = 0
        promised[new] += self._rules.always_follows[symbol[new]]
        present[row, symbol] = 1
        self._present, self._column, self._promised = present, column, promised
        self._at_root = False


def eventually_follows(variants: Variants) -> tuple[Integers, Integers, Integers]:
    """Cases that contain a, cases where first(a) < last(b), and cases that begin with a."""
    size = len(variants.activities)
    present = np.zeros(size, dtype=np.int64)
    follows = np.zeros((size, size), dtype=np.int64)
    begins = np.zeros(size, dtype=np.int64)
    np.add.at(begins, variants.codes[variants.offsets[:-1]], variants.counts)
    chunk = max(1, 4_000_000 // max(1, size * size))
    for start in range(0, len(variants), chunk):
        part = np.arange(start, min(start + chunk, len(variants)))
        first, last = first_and_last(variants, part)
        counts = variants.counts[part]
        present += counts @ (last >= 0).astype(np.int64)
        follows += np.tensordot(counts, first[:, :, None] < last[:, None, :], axes=1)
    return present, follows, begins


def first_and_last(variants: Variants, part: Integers) -> tuple[Integers, Integers]:
    """The first and last place of each activity in the chosen variants; absent: huge, and −1."""
    begin, end = variants.offsets[part[0]], variants.offsets[part[-1] + 1]
    owner = np.repeat(np.arange(len(part)), variants.lengths[part])
    place = np.arange(begin, end) - variants.offsets[:-1][part][owner]
    shape = (len(part), len(variants.activities))
    first = np.full(shape, np.iinfo(np.int64).max, dtype=np.int64)
    last = np.full(shape, -1, dtype=np.int64)
    codes = variants.codes[begin:end]
    np.maximum.at(last, (owner, codes), place)
    np.minimum.at(first, (owner, codes), place)
    return first, last


def read_rules(text: str) -> RuleRows:
    """Rules from a TOML file; see docs/mechanisms/sacofa.md for the format."""
    try:
        body = tomllib.loads(Path(text).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ParameterError(
            f"the rules {text!r} cannot be read ({error}); give a TOML file with the lists first, "
            f"{', '.join(KINDS)}"
        ) from error
    rows: list[tuple[str, ...]] = []
    for kind, given in body.items():
        if kind == "first" and isinstance(given, list):
            rows += [("first", label) for label in given]
        elif kind in KINDS and isinstance(given, dict):
            for label, others in given.items():
                listed = others if isinstance(others, list) else [others]
                rows += [(kind, label, other) for other in listed]
        else:
            raise ParameterError(
                f"the rules {text!r} have an unknown entry {kind!r}: known are the list first and "
                f"the tables {', '.join(KINDS)}"
            )
    return checked_rules(tuple(rows))


def checked_rules(rows: RuleRows) -> RuleRows:
    """The rows in order, each once; raises ParameterError for a row that is no rule."""
    for row in rows:
        wanted = 2 if row[:1] == ("first",) else 3
        known = row[:1] == ("first",) or row[0] in KINDS
        if not known or len(row) != wanted or not all(isinstance(text, str) for text in row):
            raise ParameterError(
                f"{list(row)} is not a rule: give ['first', activity], or one of "
                f"{', '.join(KINDS)} with an activity and another"
            )
    return tuple(sorted(set(rows)))


def learned_rules(variants: Variants, max_distinct: int, counting: Step, rng: Randomness) -> Rules:
    """The rules that noisy counts of a log support; spends `counting`.

    Of each case only its first d distinct activities count. Then a case adds at most one to each
    of d counts "contains a", d² counts "a is followed by b" and one count "begins with a": L1
    sensitivity d² + d + 1, L2 its root. Noise on all of them (nothing is left out for being
    zero) makes the vector as private as the step says, and the rules read nothing else.

    With τ from the noise: never if fewer than τ cases show the pair, always if fewer than τ fail
    to, and both only between activities of at least 10τ cases. Cases begin with what at least τ
    cases begin with, if anything stands out with 10τ.
    """
    size = len(variants.activities)
    distinct = min(max_distinct, size)
    present, follows, begins = eventually_follows(first_distinct(variants, distinct))
    sensitivity = distinct**2 + distinct + 1
    flat = np.concatenate([follows.ravel(), present, begins])
    noise = least_noise(counting, sensitivity, sensitivity, len(flat))
    flat = noise.added(flat, rng)
    least = noise.threshold(len(flat))
    follows = flat[: size * size].reshape(size, size)
    present = flat[size * size : size * size + size]
    frequent = present >= SURE_FACTOR * least
    sure = frequent[:, None] & frequent[None, :]
    never = (follows < least) & sure
    begins = flat[-size:]
    return Rules(
        first=(begins >= least) | (begins.max() < SURE_FACTOR * least),
        never_follows=never,
        always_follows=(present[:, None] - follows < least) & sure & ~never,
        never_precedes=never.T,
        always_precedes=((present[None, :] - follows < least) & sure & ~never).T,
    )


def first_distinct(variants: Variants, most: int) -> Variants:
    """Each sequence with the events of its first few distinct activities only."""
    if most >= len(variants.activities) or not len(variants):
        return variants
    keep = np.zeros(len(variants.codes), dtype=np.bool_)
    chunk = max(1, 4_000_000 // len(variants.activities))
    for start in range(0, len(variants), chunk):
        part: Integers = np.arange(start, min(start + chunk, len(variants)))
        first, _ = first_and_last(variants, part)
        rank = np.argsort(np.argsort(first, axis=1, kind="stable"), axis=1)
        owner = np.repeat(np.arange(len(part)), variants.lengths[part])
        span = slice(variants.offsets[part[0]], variants.offsets[part[-1] + 1])
        keep[span] = rank[owner, variants.codes[span]] < most
    return variants.keeping(keep)
