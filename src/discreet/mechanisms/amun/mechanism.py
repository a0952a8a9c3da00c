"""The mechanism: parameters, guarantee and proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.instants import microseconds
from discreet.mechanisms.amun.columns import chance, check_column
from discreet.mechanisms.amun.risk import advantage_bound
from discreet.mechanisms.amun.spending import VARIANTS, spending, values_of
from discreet.mechanisms.amun.starts import outside_stretch
from discreet.mechanisms.audit_cases import (
    COLUMN,
    COMMON_VALUE,
    EXTREME_TIMES,
    FIRST_CASE,
    FREQUENT,
    LONE_VALUE,
    NEW_ACTIVITY,
    NO_CASE,
    AuditCase,
)
from discreet.mechanisms.base import Fidelity, Mechanism, delta_parameter
from discreet.mechanisms.parameters import Interval, ParameterError, between, fraction, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.partition import Selection
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Selecting, Sequential, Statement, Step

PAPER = (
    "G. Elkoumy, A. Pankova, M. Dumas: Mine Me but Don't Single Me Out: Differentially Private "
    "Event Logs for Process Mining. ICPM 2021, arXiv:2103.11739"
)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True, kw_only=True)
class Amun(Mechanism["EventLog"]):
    """A whole log with times: who did what when, or something like it.

    strict. Neighbours: one case more or less. The log is read in these steps and nowhere else,
    each (ε′, δ′)-DP with the budget that the certificate lists; they add up by basic
    composition, which also holds where a step's question depends on the answers before it.

    1. Variants: partition selection. A case belongs to one variant (`OptimalSelection`).
    2. Start times: a public stretch of weeks is halved where many cases start (`Halving` has
       the proof), then the cases of each part, of each weekday and of each hour of the day are
       counted. A case counts once in each, so discrete Laplace noise of scale 1/ε′ is ε′-DP.
    3. Durations from event to event, in public bins that double: of all steps, by the activity
       they lead to, by relation. A case with g steps adds ⌊W/g⌋ to one cell for each, at most W
       in L1, and the noise has scale W/ε′. Only relations that occur in the released variants
       are asked for, so no other is disclosed.
    4. Further columns, only those named: a case gives one random event's (activity, value), or
       its own value for a column of cases, to a partition selection.

    The new log is drawn from these answers alone: cases in random order under fresh names, each
    with a start and, added up, a duration per step, so the order of its events is kept. Public:
    the bins, the stretch of weeks (1970 to 2048; what lies outside counts at its edge), the
    names and types of the columns asked for.

    published is the paper's algorithm. It takes a guessing advantage and a precision in place of
    ε and δ, which it ignores, and it is not differentially private: it shows exactly the
    variants of the log, so a variant that only one case follows is shown iff that case is in the
    log (δ = 1 for every ε). Nor does its own bound hold. To see whether someone went through a
    subtrace: a variant that nobody else follows settles it, an advantage of (1 + guessing
    advantage)/2 over the worst prior; noise |z| in [c, c + 1) proves absence; and one case
    changes every transition on its path where one was accounted for. For times the bound is
    unproved: its ε comes from the very times it is to hide, and start times are not hidden.
    """

    name: ClassVar[str] = "amun"
    summary: ClassVar[str] = "a full log with times; published: cases oversampled, times noised"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "log"

    delta: float = delta_parameter()
    fidelity: Fidelity = parameter(
        "strict", "strict: proved; published: the paper's algorithm, not differentially private"
    )
    times_share: float = parameter(
        0.5,
        "strict: part of epsilon for start times and durations; the rest is for the variants",
        fraction,
    )
    columns: tuple[str, ...] | str = parameter(
        (),
        "strict: further columns to release, as in org:resource,case:channel; others are dropped",
        read=_listed,
    )
    columns_share: float = parameter(
        0.2, "strict: part of epsilon and delta for the further columns together, if any", fraction
    )
    guessing_advantage: float = parameter(
        0.2,
        "published: how much better one may guess after the release, as the paper claims",
        fraction,
    )
    precision: float = parameter(
        0.1,
        "published: a guessed time counts as right within this part of the range of times",
        Interval(0, 1, open_low=True),
    )
    min_count: int = parameter(
        1,
        "published: first drop variants with a transition that fewer cases take; 1 drops none",
        between(1, 1_000_000),
    )

    def _validate(self) -> None:
        super()._validate()
        names = self._columns
        for name in names:
            if name in ("case:concept:name", "concept:name", "time:timestamp"):
                raise ParameterError(f"columns: {name} is no further column: it is released anyway")
        if len(set(names)) < len(names):
            raise ParameterError("columns: a column is named twice")
        if names and self.fidelity == "published":
            raise ParameterError("columns need fidelity strict; published drops all but three")

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """With and without a further column; see the base class."""
        strict, times = {"fidelity": "strict"}, (FREQUENT, NO_CASE, EXTREME_TIMES, NEW_ACTIVITY)
        return (
            AuditCase(strict, times),
            AuditCase({**strict, "delta": 1e-6}, (FREQUENT, NO_CASE), usual=False),
            AuditCase({**strict, "columns": (COLUMN,)}, (COMMON_VALUE, LONE_VALUE), usual=False),
            AuditCase({"fidelity": "published"}, (FIRST_CASE, NEW_ACTIVITY, EXTREME_TIMES)),
        )

    @property
    def _columns(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def selection(self) -> Selection:
        """The selection of variants that the budget buys."""
        return self.step(VARIANTS, Selecting).selection

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "published":
            return None
        return spending(budget, self.times_share, self._columns, self.columns_share)

    def _statement(self, asked: Budget) -> Statement:
        if self.fidelity == "published":
            advantage = self.guessing_advantage
            alone = (
                "exactly the variants of the log are shown, so a variant of one case betrays that "
                "case"
                if self.min_count == 1
                else "variants are kept or dropped by exact counts, so one that just reaches "
                f"{self.min_count} betrays every case of it"
            )
            return Statement(
                f"Not differentially private: {alone} (δ = 1 for every ε). The paper claims "
                f"a guessing advantage of at most {advantage:g} instead. For prefixes and "
                "suffixes that is refuted: such a variant gives the advantage "
                f"{(1 + advantage) / 2:g}. For times it is unproved, and start times are not "
                "hidden at all. Epsilon and delta play no part.",
                status="refuted",
            )
        return Statement(
            "A case has one variant and one start, and its durations weigh as one case however "
            "many they are; every count gets noise of its own, and the new log is drawn from noisy "
            "counts only.",
            conditions=(
                "the bins of durations and the stretch of weeks from 1970 to 2048",
                *(("the names and types of the columns asked for",) if self._columns else ()),
            ),
        )

    def _notes(self) -> tuple[str, ...]:
        if self.fidelity == "published":
            return (
                "times are the true ones with noise, start times are true",
                "the released log has every variant of the original"
                if self.min_count == 1
                else f"variants with a transition of fewer than {self.min_count} cases are dropped",
            )
        bound = math.ceil(1e4 * advantage_bound(self.target.epsilon, self.target.delta)) / 1e4
        unit = "case" if self.cases_per_individual is None else "individual"
        return (
            "times are samples from private statistics; none is copied from an event",
            f"guessing advantage: any fact about one {unit} is guessed with a probability that is "
            f"at most {bound:g} above the one before the release, whatever that was",
            f"variants with a noisy count of at most {self.selection.threshold} are left out",
            "columns other than case, activity, timestamp"
            + "".join(f", {name}" for name in self._columns)
            + " are dropped",
        )

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent: also a log without times or a column asked for."""
        super().check(log)
        microseconds(log)
        for name in self._columns:
            check_column(log, name)

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log."""
        if self.fidelity == "published":
            return ["this form is not differentially private: do not share its output as such"]
        found = super().advice(log)
        outside = outside_stretch(microseconds(log)[log.offsets[:-1]])
        if outside:
            found.append(
                f"{outside} cases start before 1970 or after June 2048; the release moves them to "
                "the edge of that stretch"
            )
        for name in self._columns:
            likely = chance(log, name, self.step(values_of(name), Selecting))
            if likely < 0.5:
                found.append(
                    f"values of the column {name!r} are too rare to be shown, even the most "
                    f"frequent one (its chance: {100 * likely:.2g}%); leave the column out, or "
                    "give more to columns_share (--columns-share) or epsilon"
                )
        return found

    def _draw(self, log: EventLog, rng: Randomness) -> EventLog:
        from discreet.mechanisms.amun import published, strict

        if self.fidelity == "strict":
            return strict.draw(log, self._columns, self.step("release", Sequential), rng)
        kept = published.without_rare(log, self.min_count)
        if not kept.cases:
            raise LogError(
                f"no variant has {self.min_count} cases on each of its transitions, so nothing is "
                "left to publish; lower min_count"
            )
        fresh = published.publish(kept, self.guessing_advantage, self.precision, rng)
        return fresh.assemble(kept, rng)
