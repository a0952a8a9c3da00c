"""A library of telling neighbours: pairs of logs that differ in one case.

A new mechanism adds the pairs that tell most about it with `add_pair`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import polars as pl

from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.mechanisms.parameters import ParameterError
from discreet.privacy.guarantee import Neighbours

Trace = tuple[str, ...]
HOUR = 3_600_000_000
DAY = 24 * HOUR
START = 18_262 * DAY
"""2020-01-01 in microseconds."""


@dataclass(frozen=True)
class Case:
    """One case: its activities, when it begins and the time between its events."""

    trace: Trace
    start: int = START
    step: int = HOUR


@dataclass(frozen=True)
class Pair:
    """Two neighbouring logs: common cases, and what only the first or only the second has."""

    name: str
    story: str
    common: Mapping[Trace, int]
    added: Case
    removed: Case | None = None
    only: tuple[str, ...] = ()
    """Mechanisms it was made for; empty: any."""
    public: Mapping[str, object] = field(default_factory=dict)
    """Parameters that make it tell most, unless they are given."""
    canaries: tuple[Trace, ...] = ()
    """For audits in one run: cases that are put in or left out by a coin each."""

    @property
    def neighbours(self) -> Neighbours:
        """How the two logs are related."""
        return "add-remove" if self.removed is None else "swap"

    def fits(self, neighbours: Neighbours) -> bool:
        """Whether it could contradict a promise for such neighbours; canaries fit either."""
        return bool(self.canaries) or self.neighbours == neighbours

    @cached_property
    def logs(self) -> tuple[EventLog, EventLog]:
        """The log without and the log with the added case."""
        base = [
            Case(trace, START + DAY * number)
            for number, trace in enumerate(
                t for t, count in self.common.items() for _ in range(count)
            )
        ]
        first = [*base, self.removed] if self.removed else base
        return make_log(first), make_log([*base, self.added])

    @cached_property
    def alphabet(self) -> tuple[str, ...]:
        """All activities of both logs: what an audit declares as public."""
        labels = {label for log in self.logs for label in log.activities}
        return tuple(sorted(labels.union(*self.canaries)))

    @property
    def appears(self) -> Trace | None:
        """The trace that the added case brings and the first log does not have."""
        known = self.added.trace in self.common
        return None if known or self.added == self.removed else self.added.trace

    def describe(self) -> str:
        """Both logs in one line."""
        parts = [f"{count}× {arrow(trace)}" for trace, count in self.common.items()]
        change = f"plus {arrow(self.added.trace)}"
        if self.removed is not None:
            change = f"{arrow(self.removed.trace)} replaced by {arrow(self.added.trace)}"
        return f"{', '.join(parts)}; {change}"


def make_log(cases: Sequence[Case]) -> EventLog:
    """A log of these cases, numbered."""
    rows = [
        (str(number), label, case.start + place * case.step)
        for number, case in enumerate(cases)
        for place, label in enumerate(case.trace)
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return EventLog.from_table(
        pl.DataFrame(
            {
                CASE: pl.Series(columns[0], dtype=pl.String),
                ACTIVITY: pl.Series(columns[1], dtype=pl.String),
                TIME: pl.Series(columns[2], dtype=pl.Int64).cast(pl.Datetime("us", "UTC")),
            }
        )
    )


def arrow(trace: Sequence[str]) -> str:
    """A trace for people: ⟨a, b ×30, c⟩."""
    runs: list[tuple[str, int]] = []
    for label in trace:
        if runs and runs[-1][0] == label:
            runs[-1] = (label, runs[-1][1] + 1)
        else:
            runs.append((label, 1))
    words = [a if n == 1 else f"{a} ×{n}" for a, n in runs]
    if len(words) > 12:
        words = [*words[:6], f"… {len(trace)} events"]
    return "⟨" + ", ".join(words) + "⟩"


def _of(*words: str | int) -> dict[Trace, int]:
    """Traces of one-letter activities with their counts: "ab", 3, "ac", 1."""
    return {tuple(str(words[i])): int(words[i + 1]) for i in range(0, len(words), 2)}


HOSPITAL = _of("RHMD", 63, "RHSD", 25, "RHD", 12)
"""Table I of paper 000: Register, Hospitalize, Medication, Surgery, Discharge."""

_PAIRS: dict[str, Pair] = {}


def add_pair(pair: Pair) -> Pair:
    """Put a pair into the library."""
    if pair.name in _PAIRS:
        raise ValueError(f"there is a pair {pair.name!r} already")
    _PAIRS[pair.name] = pair
    return pair


def pair_names() -> list[str]:
    """The names of all pairs."""
    return list(_PAIRS)


def pair(name: str) -> Pair:
    """The pair of that name, or an error that suggests the nearest."""
    if name not in _PAIRS:
        near = difflib.get_close_matches(name, _PAIRS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(f"there is no pair {name!r}; {hint}known: {', '.join(_PAIRS)}")
    return _PAIRS[name]


def pairs_for(mechanism: str, neighbours: Neighbours) -> list[Pair]:
    """The pairs that a mechanism is audited on, by name and neighbour relation.

    Where one was made for auditing it in one run, that one only.
    """
    fitting = [
        pair
        for pair in _PAIRS.values()
        if pair.fits(neighbours) and (not pair.only or mechanism in pair.only)
    ]
    return [pair for pair in fitting if pair.canaries] or fitting


_CANARIES = tuple(tuple("a" + "".join(rest)) for rest in product("abcd", repeat=4))
_SWAPPED = Case(("R", "H", "M", "D"))

for _pair in (
    Pair(
        "one more",
        "a frequent variant gets one more case: shows the noise on its count",
        _of("ab", 8),
        Case(("a", "b")),
    ),
    Pair(
        "surgery twice",
        "variant 4 of Table I of paper 000: nobody else had surgery twice",
        HOSPITAL,
        Case(("R", "H", "S", "S", "D")),
    ),
    Pair(
        "no hospital",
        "variant 5 of Table I of paper 000: the only case that skips hospitalisation",
        HOSPITAL,
        Case(("R", "M", "D")),
    ),
    Pair(
        "new activity",
        "the only case with activity X: shows an alphabet read from the log",
        HOSPITAL,
        Case(("R", "H", "X", "D")),
    ),
    Pair(
        "unique variant",
        "a variant that one case has: must hardly ever be shown",
        _of("ab", 10, "ac", 3),
        Case(("a", "d")),
    ),
    Pair(
        "second case",
        "a rare variant grows from one case to two",
        _of("ab", 7, "ac", 1),
        Case(("a", "c")),
    ),
    Pair(
        "first case",
        "a log of one case gets a second, unlike the first",
        _of("ab", 1),
        Case(("c",)),
    ),
    Pair(
        "three steps",
        "one case on every level of a prefix tree, nobody else on its path",
        _of("d", 6),
        Case(("a", "b", "c")),
    ),
    Pair(
        "long loop",
        "a case that repeats one step thirty times: moves one pair of activities by 29",
        _of("abc", 12, "ac", 4),
        Case(("a", *["b"] * 30, "c")),
    ),
    Pair(
        "very long case",
        "a case of 200 events among cases of two",
        _of("ab", 20),
        Case(tuple("ab" * 100)),
    ),
    Pair(
        "broken rule",
        "d never follows a, until one case does it",
        _of("ab", 6, "ac", 4, "db", 5),
        Case(("a", "d")),
    ),
    Pair(
        "tied runs",
        "a rare variant grows from one case to two beside a frequent one",
        _of("ab", 7, "c", 1),
        Case(("c",)),
        only=("utravas",),
        public={"delta": 0.1},
    ),
    Pair(
        "extreme times",
        "a case of a known variant that began in 1970 and took 50 years per step",
        _of("ab", 12, "abc", 5),
        Case(("a", "b"), start=0, step=50 * 365 * DAY),
    ),
    Pair(
        "filled head",
        "a variant one case below being frequent: shows a head chosen by raw counts",
        _of("ab", 12, "ac", 9, *[w for v in ("abd", "acd", "ad", "abcd") for w in (v, 1)]),
        Case(("a", "c")),
    ),
    Pair(
        "emptied head",
        "a log where every variant is unique but one",
        _of(*[w for v in ("ab", "ac", "ad", "abc", "acb", "abd") for w in (v, 1)]),
        Case(("a", "b")),
    ),
    Pair(
        "canaries",
        "256 unusual cases, each put in or left out by a coin: audits a model in one training",
        _of("abc", 120, "acd", 60, "ad", 20),
        Case(_CANARIES[0]),
        only=("ddpm", "sequence", "travag"),
        canaries=_CANARIES,
    ),
    Pair(
        "swap: surgery twice",
        "variant 4 of Table I of paper 000 in place of an ordinary case",
        HOSPITAL,
        Case(("R", "H", "S", "S", "D")),
        removed=_SWAPPED,
    ),
    Pair(
        "swap: no hospital",
        "variant 5 of Table I of paper 000 in place of an ordinary case",
        HOSPITAL,
        Case(("R", "M", "D")),
        removed=_SWAPPED,
    ),
    Pair(
        "swap: new activity",
        "the only case with activity X in place of an ordinary case",
        HOSPITAL,
        Case(("R", "H", "X", "D")),
        removed=_SWAPPED,
    ),
    Pair(
        "swap: long loop",
        "thirty repetitions in place of an ordinary case",
        _of("abc", 12, "ac", 4),
        Case(("a", *["b"] * 30, "c")),
        removed=Case(("a", "c")),
    ),
    Pair(
        "swap: endless case",
        "300 events in the wrong order in place of two in the right one: moves pooled fitness",
        _of("ab", 200),
        Case(tuple("ba" * 150)),
        removed=Case(("a", "b")),
    ),
    Pair(
        "swap: other order",
        "a case that reverses everything in place of one that does not",
        _of("abcd", 6, "acbd", 3),
        Case(tuple("dcba")),
        removed=Case(tuple("abcd")),
    ),
):
    add_pair(_pair)
