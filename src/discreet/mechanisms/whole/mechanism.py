"""Whole logs: the variants of another mechanism, with private times and attributes.

`WholeLog` is what all such mechanisms share, with the proof; `Whole` takes variants of any.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.log.cases import AMOUNT
from discreet.log.events import Reads
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import (
    BEGUN,
    DAYS_APART,
    EXTREME_TIMES,
    FREQUENT,
    NO_CASE,
    ONE_MORE,
    OTHER_COLUMNS,
    SAME_COLUMNS,
    TIED_COLUMNS,
    TIED_TRAITS,
    VERY_LONG_CASE,
    AuditCase,
)
from discreet.mechanisms.base import Mechanism, delta_parameter
from discreet.mechanisms.blocks.alphabet import alphabet_parameter
from discreet.mechanisms.whole.allocation import spending
from discreet.mechanisms.whole.declared_attributes import (
    DeclaredAttribute,
    check_name,
    listed,
    read_attributes,
)
from discreet.parameters import ParameterError, fraction, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Statement, Step

if TYPE_CHECKING:
    from discreet.log.events import EventLog

# Proof

LEAST_FOR_VARIANTS = 1e-4
"""Smallest epsilon that a mechanism takes."""

MARGIN = 1 - 1e-8
"""Factor on the share of the variants: room for a mechanism that rounds its accounting up."""


@dataclass(frozen=True, kw_only=True)
class WholeLog(Mechanism["EventLog"]):
    """Variants by another mechanism, completed into a whole log with times and attributes.

    Nothing is copied from a case: everything is drawn from noisy tables. Neighbours: one case,
    with all its events, more or less. The argument:

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
         together: one to a cell for each such event; C² from the released variants.
       - Working time of each event, and whether it overlaps the one before, if asked: one to a
         cell for each event; C² from the released variants.
       - Attributes: tables of the same kind; see `value_cells.py` and `attribute_values.py`.
    3. Names of values that are not public are shown where the noisy count passes a threshold.
       Values that only the further case has pass it with probability at most δ′ altogether. Given
       that none does, the answers are those of a ρ-zCDP table, so this is δ′-approximate ρ-zCDP.
    4. With which trait of a case an attribute goes is chosen by the exponential mechanism
       (`choose_trait` bounds how far a case moves the scores), ε²/8-zCDP (Cesar, Rogers 2021).
    5. The ρᵢ are fixed shares, so adaptive composition gives (Σδ′)-approximate (Σρᵢ)-zCDP, which
       is converted once; with the variants basic composition gives (ε, δ).

    All fits, ranges and drawings read noisy numbers only. The number of cases is never used, only
    the released one. Public: the grids, the stretch from 1970 to 2048 (what lies outside counts
    at its edge), the time zone, and the names and declared types of the attributes.
    """

    returns: ClassVar[str] = "log"
    reads: ClassVar[Reads] = "cases"

    delta: float = delta_parameter()
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

    def _validate(self) -> None:
        from discreet.mechanisms.whole.timelines import is_zone

        super()._validate()
        if not is_zone(self.zone):
            raise ParameterError(
                f"there is no time zone {self.zone!r}; name one such as Europe/Amsterdam"
            )
        check_name("begun", self.begun or "")
        _ = self.asked

    @cached_property
    def asked(self) -> tuple[DeclaredAttribute, ...]:
        """The attributes to release."""
        return read_attributes(tuple(self.attributes))

    @property
    @abstractmethod
    def inner(self) -> Mechanism[Variants]:
        """The mechanism that releases the variants, with its share of the budget."""

    @property
    def of_variants(self) -> Budget:
        """The budget of a case for the variants."""
        share = self.case_budget.share((1 - self.times_share) * MARGIN)
        if share.epsilon < LEAST_FOR_VARIANTS:
            raise ParameterError(
                f"the variants would have {share}, too little to say anything: raise epsilon, or "
                "lower times_share"
            )
        return share

    def _spending(self, budget: Budget) -> Step | None:
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
            f"The variants are released by {self.inner.name}. Every further table adds up what "
            "each case gives by itself, bounded in L2, with discrete Gaussian noise on each cell; "
            "the new log is drawn from noisy tables only.",
            status=promise.status,
            conditions=tuple(dict.fromkeys((*promise.conditions, *names))),
        )

    def _notes(self) -> tuple[str, ...]:
        columns = [self.begun] * bool(self.begun) + [one.column for one in self.asked]
        kept = "".join(f", {column}" for column in columns)
        return (
            f"variants by {self.inner.name}, which has {self.inner.target} of the budget",
            "times are samples from private statistics; none is copied from an event",
            f"columns other than case, activity, timestamp{kept} are dropped",
            *self._names_notes(),
            *self.inner._notes(),
        )

    def _names_notes(self) -> tuple[str, ...]:
        """The number of cases a value needs to be named, which follows from the budget alone."""
        from discreet.mechanisms.whole.value_cells import least_named

        return tuple(
            f"values of {attribute.column} in fewer than about {least:,} cases become (other)"
            for attribute in self.asked
            if (least := least_named(attribute, self.spending))
        )

    @property
    def _columns(self) -> tuple[str, ...]:
        named = (one.column for one in self.asked)
        return (*([self.begun] if self.begun else []), *named)

    def check(self, log: EventLog) -> None:
        """Refuse a log before anything is spent, also if it lacks times or a column to release."""
        from discreet.log.engines.view import sums_over
        from discreet.mechanisms.whole.declared_attributes import check_attribute
        from discreet.mechanisms.whole.working_times import check_begun

        super().check(log)
        schema = sums_over(log, self._columns).schema
        if self.begun:
            check_begun(schema, log.schema(), self.begun)
        for attribute in self.asked:
            check_attribute(schema, log.schema(), attribute)
        if self.spending is not None:
            self.inner.check(log)

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log."""
        from discreet.log.engines.view import sums_over
        from discreet.mechanisms.whole.timelines import outside_stretch
        from discreet.mechanisms.whole.value_cells import rare_values

        found = super().advice(log)
        sums = sums_over(log, self._columns)
        outside = int(sums.total(outside_stretch)[AMOUNT].sum())
        if outside:
            found.append(
                f"{outside} events lie before 1970 or after June 2048; the release moves them to "
                "the edge of that stretch"
            )
        for attribute in self.asked:
            found += rare_values(sums, attribute, self.spending)
        return found

    def _draw(self, log: EventLog, rng: Randomness) -> EventLog:
        from discreet.log.engines.view import sums_over
        from discreet.mechanisms.whole.log_simulation import complete

        variants = self.inner._draw(log, rng)
        assert isinstance(variants, Variants)
        assert self.spending is not None
        sums = sums_over(log, self._columns)
        return complete(sums, variants, self.asked, self.begun, self.zone, self.spending, rng)


def _down(value: Fraction) -> float:
    """The largest float that is no larger."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, 0.0)


@dataclass(frozen=True, kw_only=True)
class Whole(WholeLog):
    """Variants by any mechanism, completed into a whole log with times and attributes.

    Neighbours: one case, with all its events, more or less. The variants are (ε₁, δ₁)-DP by their
    own mechanism. Times and attributes are drawn from noisy tables: with the released variants and
    all answers so far fixed, each question is a function of these alone and what a case adds to a
    table is a function of that case alone, bounded in L2, so discrete Gaussian noise makes it
    ρᵢ-zCDP; names of values and what an attribute goes with are chosen privately. The ρᵢ are
    fixed shares that add up and are converted once; with the variants basic composition gives
    (ε, δ). `WholeLog` has the argument in full, with what is public.
    """

    name: ClassVar[str] = "whole"
    summary: ClassVar[str] = "variants by another mechanism, with private times and attributes"
    paper: ClassVar[str] = "this library"

    variants: str = parameter("headtail", "the mechanism that releases the variants, by name")
    options: tuple[str, ...] | str = parameter(
        (), "parameters of that mechanism, as in runs=3,choose=private", read=listed
    )
    alphabet: tuple[str, ...] | str | None = alphabet_parameter()

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The default, and quick variants alone and with every kind of attribute."""
        pairs = DAYS_APART, EXTREME_TIMES, ONE_MORE, NO_CASE, VERY_LONG_CASE
        columns = ("case:channel", "case:amount:number", "org:group")
        quick = {"variants": "travas"}
        return (
            AuditCase(quick, pairs, usual=False),
            AuditCase({**quick, "attributes": TIED_COLUMNS}, (TIED_TRAITS,), usual=False),
            AuditCase(
                {**quick, "attributes": columns, "begun": BEGUN},
                (SAME_COLUMNS, OTHER_COLUMNS),
                usual=False,
            ),
            AuditCase({}, (FREQUENT,), usual=False),
        )

    def _validate(self) -> None:
        super()._validate()
        _ = self.inner

    @cached_property
    def inner(self) -> Mechanism[Any]:
        """The mechanism that releases the variants, with its share of the budget."""
        from discreet.mechanisms.registry import mechanism, mechanism_class

        if self.variants == self.name or mechanism_class(self.variants).returns != "variants":
            raise ParameterError(
                f"variants: {self.variants} does not return variants; name a mechanism that does, "
                "such as headtail or travas"
            )
        usual: dict[str, Any] = {
            "epsilon": self.of_variants.epsilon,
            "delta": self.of_variants.delta,
        }
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


def _options(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parameters from texts name=value, where values are JSON or else texts."""
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
