"""The audit cases of mechanisms: parameters, and pairs of neighbouring logs that tell much.

Every mechanism declares its own in `Mechanism.audit_cases`; the pairs here fit any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, Literal

from discreet.log.instants import DAY
from discreet.log.neighbours import Case, Pair, Value, traces


@dataclass(frozen=True)
class AuditCase:
    """Parameters to audit a mechanism with, and the pairs that tell most about it, best first.

    What is not given: ε = 1, a δ that thousands of runs can see, and as public alphabet the
    activities of both logs.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    usual: bool = True
    """Whether the usual pairs are tried as well; not where a release takes long."""
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """What the first steps are said to have answered: their costs are promised whatever that is,
    so a way that only large logs lead to is audited on small ones."""
    shared: bool = True
    """Whether the pair of a long variant that many have is tried even then; not where a release
    takes so long that few runs are affordable."""

    def all_pairs(self, neighbours: Literal["add-remove", "swap"]) -> tuple[Pair, ...]:
        """Its own pairs, then the usual ones of that neighbour relation."""
        usual: tuple[Pair, ...] = USUAL if neighbours == "add-remove" else USUAL_SWAP
        if not self.usual:
            usual = tuple(pair for pair in usual if pair in EVERYWHERE and self.shared)
        own = {pair.name for pair in self.pairs}
        return (*self.pairs, *(pair for pair in usual if pair.name not in own))


HOSPITAL = "63 RHMD, 25 RHSD, 12 RHD"
"""Table I of the DPIM paper: Register, Hospitalize, Medication, Surgery, Discharge."""

NO_CASE = Pair.told(
    "no case",
    "a log without a case gets its first: shows whatever is decided by whether anybody is there",
    "+ ab",
)
ONE_MORE = Pair.told(
    "one more", "a variant of eight cases gets one more: shows the noise on its count", "8 ab + ab"
)
FREQUENT = Pair.told(
    "frequent variant", "a variant that is always shown gets one more case", "120 ab, 60 ac + ab"
)
SURGERY_TWICE = Pair.told(
    "surgery twice",
    "variant 4 of Table I of the DPIM paper: nobody else had surgery twice",
    f"{HOSPITAL} + RHSSD",
)
NO_HOSPITAL = Pair.told(
    "no hospital",
    "variant 5 of Table I of the DPIM paper: the only case that skips hospitalisation",
    f"{HOSPITAL} + RMD",
)
NEW_ACTIVITY = Pair.told(
    "new activity",
    "the only case with activity X: shows an alphabet read from the log",
    f"{HOSPITAL} + RHXD",
)
UNIQUE_VARIANT = Pair.told(
    "unique variant", "a variant that one case has: must hardly ever be shown", "10 ab, 3 ac + ad"
)
SECOND_CASE = Pair.told(
    "second case", "a rare variant grows from one case to two", "7 ab, 1 ac + ac"
)
FIRST_CASE = Pair.told(
    "first case", "a log of one case gets a second, unlike the first", "1 ab + c"
)
THREE_STEPS = Pair.told(
    "three steps", "one case on every level of a prefix tree, nobody else on its path", "6 d + abc"
)
LONG_LOOP = Pair.told(
    "long loop",
    "a case that repeats one step thirty times: moves one pair of activities by 29",
    f"12 abc, 4 ac + a{'b' * 30}c",
)
VERY_LONG_CASE = Pair.told(
    "very long case", "a case of 200 events among cases of two", f"20 ab + {'ab' * 100}"
)
BROKEN_RULE = Pair.told(
    "broken rule", "d never follows a, until one case does it", "6 ab, 4 ac, 5 db + ad"
)
EXTREME_TIMES = Pair(
    "extreme times",
    "a case of a known variant that began in 1970 and took 50 years per step",
    traces("ab", 12, "abc", 5),
    Case(("a", "b"), start=0, step=50 * 365 * DAY),
)
COLUMN = "case:channel"
AMOUNT = "case:amount"
LONE_VALUE = Pair(
    "lone value",
    "a case of a known variant with a value in a further column that nobody else has",
    traces("ab", 120),
    Case(("a", "b"), values={COLUMN: "courier"}),
    values={COLUMN: "letter"},
)
COMMON_VALUE = Pair(
    "common value",
    "one more case with the value in a further column that all others have",
    traces("ab", 120),
    Case(("a", "b"), values={COLUMN: "letter"}),
    values={COLUMN: "letter"},
)
BEGUN = "start_timestamp"
_USUAL_VALUES: dict[str, Value] = {
    COLUMN: "letter",
    AMOUNT: 40.0,
    "org:group": "desk",
    BEGUN: datetime(2020, 1, 1, tzinfo=UTC),
}
SAME_COLUMNS = Pair(
    "same columns",
    "one more case, in many columns like all others: shows the tables of attributes",
    traces("ab", 120),
    Case(("a", "b"), values=_USUAL_VALUES),
    values=_USUAL_VALUES,
)
OTHER_COLUMNS = Pair(
    "other columns",
    "a case of a known variant with values in many columns that nobody else has",
    traces("ab", 120),
    Case(
        ("a", "b"),
        values={**_USUAL_VALUES, COLUMN: "courier", AMOUNT: 17.25, "org:group": "field"},
    ),
    values=_USUAL_VALUES,
)
_LONG = "abcd" * 5
SHARED_VARIANT = Pair(
    "shared long variant",
    "a long variant that many have gets one more case: shows bounds that are kept for lone cases "
    "only, and whatever counts cases without noise",
    traces(_LONG, 20),
    Case(tuple(_LONG), values=_USUAL_VALUES),
    values=_USUAL_VALUES,
)
SHARED_ENDLESS = Pair.told(
    "shared endless variant",
    "the same with 400 events a case: shows clips, which take a small part of the budget each",
    f"20 {'abcd' * 100} + {'abcd' * 100}",
)
DAYS_APART = Pair(
    "days apart",
    "a case of a variant that is always shown, with three days between its events: shows waits, "
    "durations and calendars",
    traces("ab", 120, "ac", 60),
    Case(("a", "b"), step=3 * DAY),
)
TIED_TRAITS = Pair(
    "tied traits",
    "columns that go with the last activity and with others alike, and a case that decides: "
    "shows how it is chosen what a column goes with",
    traces("ab", 200, "acd", 260),
    Case(("a", "b", "d"), values={COLUMN: "letter", AMOUNT: 40.0}),
    values={COLUMN: "letter", AMOUNT: 40.0},
    values_of={("a", "c", "d"): {COLUMN: "mail", AMOUNT: 900.0}},
)
TIED_COLUMNS = (f"{COLUMN}=letter|mail", f"{AMOUNT}:number")
"""To be asked for with it: what is public about a column is not drawn before the choice."""
FILLED_HEAD = Pair(
    "filled head",
    "a variant one case below being frequent: shows a head chosen by raw counts",
    traces("ab", 12, "ac", 9, *[w for v in ("abd", "acd", "ad", "abcd") for w in (v, 1)]),
    Case(("a", "c")),
)
EMPTIED_HEAD = Pair(
    "emptied head",
    "a log where every variant is unique but one",
    traces(*[w for v in ("ab", "ac", "ad", "abc", "acb", "abd") for w in (v, 1)]),
    Case(("a", "b")),
)
LONE_HIDDEN = Pair.told(
    "lone hidden case",
    "a frequent variant, and the first case that is none of it: shows what reads hidden cases",
    "60 ab + cdc",
)
_CANARIES = tuple(tuple("a" + "".join(rest)) for rest in product("abcd", repeat=4))
CANARIES = Pair(
    "canaries",
    "256 unusual cases, each put in or left out by a coin: audits a model in one training",
    traces("abc", 120, "acd", 60, "ad", 20),
    Case(_CANARIES[0]),
    canaries=_CANARIES,
)

SWAP_FAR_AHEAD = Pair.told(
    "swap: far ahead",
    "one of 2,000 equal cases becomes another: which pairs lead is certain, counts move by one",
    "1999 a + b - a",
)
SWAP_SURGERY_TWICE = SURGERY_TWICE.instead_of("RHMD")
SWAP_NO_HOSPITAL = NO_HOSPITAL.instead_of("RHMD")
SWAP_NEW_ACTIVITY = NEW_ACTIVITY.instead_of("RHMD")
SWAP_LONG_LOOP = LONG_LOOP.instead_of("ac")
SWAP_SHARED_VARIANT = replace(
    SHARED_VARIANT.instead_of("ab"), removed=Case(("a", "b"), values=_USUAL_VALUES)
)
SWAP_ENDLESS_CASE = Pair.told(
    "swap: endless case",
    "300 events in the wrong order in place of two in the right one: moves pooled fitness",
    f"200 ab + {'ba' * 150} - ab",
)
SWAP_OTHER_ORDER = Pair.told(
    "swap: other order",
    "a case that reverses everything in place of one that does not",
    "6 abcd, 3 acbd + dcba - abcd",
)
SWAP_ONLY_CASE = Pair.told(
    "swap: only case", "the only case of the log is another one", "+ ba - ab"
)

USUAL = (
    ONE_MORE,
    SHARED_VARIANT,
    UNIQUE_VARIANT,
    NEW_ACTIVITY,
    NO_CASE,
    FREQUENT,
    VERY_LONG_CASE,
    EXTREME_TIMES,
    SURGERY_TWICE,
)
"""For any mechanism whose neighbours differ by a case more or less."""

USUAL_SWAP = (
    SWAP_SURGERY_TWICE,
    SWAP_SHARED_VARIANT,
    SWAP_NEW_ACTIVITY,
    SWAP_OTHER_ORDER,
    SWAP_ONLY_CASE,
    SWAP_LONG_LOOP,
    SWAP_ENDLESS_CASE,
)
"""For any mechanism whose neighbours differ in one case that is replaced."""

EVERYWHERE = (SHARED_VARIANT, SWAP_SHARED_VARIANT)
"""Tried on every mechanism: each case is to be bounded by itself, however many are like it."""
