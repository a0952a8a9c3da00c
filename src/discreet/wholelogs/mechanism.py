"""The mechanism: parameters, guarantee and proof."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.log.instants import DAY
from discreet.log.neighbours import Case, Pair, traces
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import (
    BEGUN,
    EXTREME_TIMES,
    FREQUENT,
    NO_CASE,
    ONE_MORE,
    OTHER_COLUMNS,
    SAME_COLUMNS,
    VERY_LONG_CASE,
    AuditCase,
)
from discreet.mechanisms.base import Mechanism, delta_parameter
from discreet.mechanisms.blocks.alphabet import alphabet_parameter
from discreet.mechanisms.parameters import ParameterError, fraction, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Statement, Step
from discreet.wholelogs.declaring import Attribute, listed, read_attributes
from discreet.wholelogs.spending import spending

if TYPE_CHECKING:
    from discreet.log.events import EventLog

DAYS_APART = Pair(
    "days apart",
    "a case of a variant that is always shown, with three days between its events: shows waits, "
    "durations and calendars",
    traces("ab", 120, "ac", 60),
    Case(("a", "b"), step=3 * DAY),
)

MARGIN = 1 - 1e-8
"""Shares leave room for a mechanism that rounds its own accounting up."""


@dataclass(frozen=True, kw_only=True)
class Whole(Mechanism):
    """Variants by any mechanism, completed into a whole log with times and attributes.

    Nothing is copied from a case: all is drawn from noisy tables. Neighbours: one case, with all
    its events, more or less. The argument:

    1. The variants are released by another mechanism, (ε₁, δ₁)-DP for every log.
    2. Each further question is a table: every case adds a vector of counts, and the tables are
       the sums of these vectors. Fix the released variants and all answers so far. Then the next
       question (rows, cells, the bound C², its ρᵢ) is a function of these alone, and what a case
       adds is a function of that case alone, scaled down by itself to a sum of squares of at most
       C², in whole multiples of a grid and rounded towards zero. So the tables of neighbours
       differ by one vector of L2 norm at most C, and discrete Gaussian noise of variance C²/2ρᵢ
       on every cell is ρᵢ-zCDP (Canonne, Kane, Steinke 2020).
       - Start: week, weekday, slot of the day, weekday and hour; a case adds one to one cell of
         each (C² = 1).
       - Duration of the case: one to one cell (C² = 1) of the row of its number of events.
       - Waits: for each step whose relation the release has, one to a cell of that relation's
         row; C² from the released variants.
       - Weekday and slot of each event half a day or more after the one before, apart and
         together: likewise.
       - Working time of each event, and whether it overlaps the one before: likewise, if asked.
       - Attributes: see `values.py`; each table likewise.
    3. Names of values that are not public are shown where the noisy count passes a threshold.
       Values that only the further case has pass it with probability at most δ′ altogether; given
       that none does, the answers are those of a ρ-zCDP table: δ′-approximate ρ-zCDP.
    4. The ρᵢ are fixed shares, so adaptive composition gives (Σδ′)-approximate (Σρᵢ)-zCDP, which
       is converted once; with the variants basic composition gives (ε, δ).

    All fits, ranges and drawings read noisy numbers only. The number of cases is never used, only
    the released one. Public: the grids, the stretch from 1970 to 2048 (what lies outside counts
    at its edge), the time zone, and the names and declared types of the attributes.
    """

    name: ClassVar[str] = "whole"
    summary: ClassVar[str] = "variants by another mechanism, with private times and attributes"
    paper: ClassVar[str] = "this library"
    returns: ClassVar[str] = "log"

    delta: float = delta_parameter()
    variants: str = parameter("headtail", "the mechanism that releases the variants, by name")
    options: tuple[str, ...] | str = parameter(
        (), "parameters of that mechanism, as in k=3,want=likeness", read=listed
    )
    alphabet: tuple[str, ...] | str | None = alphabet_parameter()
    times_share: float = parameter(
        0.5,
        "part of epsilon and delta for times and attributes; the rest is for the variants",
        fraction,
    )
    attributes: tuple[str, ...] | str = parameter(
        (),
        "attributes to release, as in org:resource,case:amount:number; others are dropped",
        read=listed,
    )
    attributes_share: float = parameter(
        0.4,
        "part of what times and attributes get that is for the attributes, if any",
        fraction,
    )
    begun: str | None = parameter(
        None,
        "column of the time at which each event began, as in start_timestamp; released too, so "
        "that working and waiting are apart",
    )
    zone: str = parameter("UTC", "time zone of weekdays and hours, public, as in Europe/Amsterdam")

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The default, and variants that are quick to draw, also with every kind of attribute."""
        pairs = DAYS_APART, EXTREME_TIMES, ONE_MORE, NO_CASE, VERY_LONG_CASE
        columns = ("case:channel", "case:amount:number", "org:group")
        quick = {"variants": "travas"}
        return (
            AuditCase(quick, pairs, usual=False),
            AuditCase(
                {**quick, "attributes": columns, "begun": BEGUN},
                (SAME_COLUMNS, OTHER_COLUMNS),
                usual=False,
            ),
            AuditCase({}, (FREQUENT,), usual=False),
        )

    def _validate(self) -> None:
        from discreet.wholelogs.clock import is_zone

        super()._validate()
        if not is_zone(self.zone):
            raise ParameterError(
                f"there is no time zone {self.zone!r}; name one such as Europe/Amsterdam"
            )
        _ = self.asked, self.inner

    @cached_property
    def asked(self) -> tuple[Attribute, ...]:
        """The attributes asked for."""
        return read_attributes(tuple(self.attributes))

    @cached_property
    def inner(self) -> Mechanism:
        """The mechanism that releases the variants, with its share of the budget."""
        from discreet.mechanisms.registry import mechanism, mechanism_class

        if self.variants == self.name or mechanism_class(self.variants).returns != "variants":
            raise ParameterError(
                f"variants: {self.variants} does not return variants; name a mechanism that does, "
                "such as headtail or travas"
            )
        share = self.case_budget.share((1 - self.times_share) * MARGIN)
        usual: dict[str, Any] = {"epsilon": share.epsilon, "delta": share.delta}
        if self.alphabet is not None:
            usual["alphabet"] = self.alphabet
        known = mechanism_class(self.variants).parameters()
        given = {name: value for name, value in usual.items() if name in known}
        for name, value in _options(tuple(self.options)).items():
            if name in ("epsilon", "delta", "cases_per_individual", "alphabet"):
                raise ParameterError(f"options: {name} is a parameter of {self.name} itself")
            given[name] = value
        built = mechanism(self.variants, **given)
        promise = built.guarantee()
        if not promise.proved or promise.neighbours != "add-remove":
            raise ParameterError(
                f"{self.variants} is {promise.status} for {promise.neighbours} neighbours; whole "
                "logs need variants that are proved for add-remove"
            )
        return built

    def _spending(self, budget: Budget) -> Step:
        promise = self.inner.guarantee()
        assert promise.holds is not None
        rest = Budget(
            _down(Fraction(budget.epsilon) - Fraction(promise.holds.epsilon)),
            _down(Fraction(budget.delta) - Fraction(promise.holds.delta)),
        )
        steps = {attribute.column: attribute.steps for attribute in self.asked}
        times = 1 - self.attributes_share if steps else 1.0
        return spending(promise, rest, times, bool(self.begun), steps)

    def _statement(self, asked: Budget) -> Statement:
        promise = self.inner.guarantee()
        names = (("the names and types of the attributes",) if self.asked else ()) + (
            "the grids of times and the stretch from 1970 to 2048",
            f"the time zone {self.zone}",
        )
        return Statement(
            f"The variants are released by {self.variants}. Every further table adds up what each "
            "case gives by itself, bounded in L2, with discrete Gaussian noise on each cell; the "
            "new log is drawn from noisy tables only.",
            status=promise.status,
            conditions=tuple(dict.fromkeys((*promise.conditions, *names))),
        )

    def _notes(self) -> tuple[str, ...]:
        columns = [self.begun] * bool(self.begun) + [one.column for one in self.asked]
        kept = "".join(f", {column}" for column in columns)
        return (
            f"variants by {self.variants}, which has {self.inner.target} of the budget",
            "times are samples from private statistics; none is copied from an event",
            f"columns other than case, activity, timestamp{kept} are dropped",
            *self._names_notes(),
            *self.inner._notes(),
        )

    def _names_notes(self) -> tuple[str, ...]:
        """From how many cases on a value is named: follows from the budget alone."""
        from discreet.wholelogs.naming import least_named

        return tuple(
            f"values of {attribute.column} in fewer than about {least:,} cases become (other)"
            for attribute in self.asked
            if (least := least_named(attribute, self.spending))
        )

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent: also a log without times or an attribute asked for."""
        from discreet.log.instants import microseconds
        from discreet.wholelogs.attributes import check_attribute
        from discreet.wholelogs.work import begun_at

        super().check(log)
        microseconds(log)
        if self.begun:
            begun_at(log, self.begun)
        for attribute in self.asked:
            check_attribute(log, attribute)
        self.inner.check(log)

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log."""
        from discreet.log.instants import microseconds
        from discreet.wholelogs.clock import within
        from discreet.wholelogs.naming import rare_values

        found = super().advice(log)
        times = microseconds(log)
        outside = int(np.count_nonzero(times != within(times)))
        if outside:
            found.append(
                f"{outside} events lie before 1970 or after June 2048; the release moves them to "
                "the edge of that stretch"
            )
        for attribute in self.asked:
            found += rare_values(log, attribute, self.spending)
        return found

    def _draw(self, log: EventLog, rng: Randomness) -> EventLog:
        from discreet.wholelogs.completing import complete

        variants = self.inner._draw(log, rng)
        assert isinstance(variants, Variants)
        assert self.spending is not None
        return complete(log, variants, self.asked, self.begun, self.zone, self.spending, rng)


def _options(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parameters written as name=value; values as JSON writes them, or else texts."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ParameterError(f"options: write name=value, not {text!r}")
        try:
            found[name.strip().replace("-", "_")] = json.loads(value)
        except json.JSONDecodeError:
            found[name.strip().replace("-", "_")] = value.strip()
    return found


def _down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, 0.0)
