"""Amun: plain variants with times and attributes, and the algorithm as published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.log.errors import LogError
from discreet.log.events import Reads
from discreet.mechanisms.audit_cases import (
    DAYS_APART,
    EXTREME_TIMES,
    FIRST_CASE,
    FREQUENT,
    NEW_ACTIVITY,
    NO_CASE,
    OTHER_COLUMNS,
    SAME_COLUMNS,
    TIED_COLUMNS,
    TIED_TRAITS,
    AuditCase,
)
from discreet.mechanisms.base import Fidelity, Mechanism
from discreet.mechanisms.travas import TraVaS
from discreet.mechanisms.whole.mechanism import WholeLog
from discreet.parameters import Interval, ParameterError, between, fraction, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Statement, Step

if TYPE_CHECKING:
    from discreet.log.events import EventLog

PAPER = (
    "G. Elkoumy, A. Pankova, M. Dumas: Mine Me but Don't Single Me Out: Differentially Private "
    "Event Logs for Process Mining. ICPM 2021, arXiv:2103.11739"
)


@dataclass(frozen=True, kw_only=True)
class Amun(WholeLog):
    """A whole log with times: who did what when, or something like it.

    strict. Neighbours: one case more or less. Variants are those of plain partition selection
    (`TraVaS`; a case belongs to one variant), (ε₁, δ₁)-DP. Times and attributes are drawn from
    noisy tables: with the released variants and all answers so far fixed, each question is a
    function of these alone and what a case adds to a table is a function of that case alone,
    bounded in L2, so discrete Gaussian noise makes it ρᵢ-zCDP. The ρᵢ add up and are converted
    once; with the variants basic composition gives (ε, δ). `WholeLog` has the argument in full,
    with what is public.

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

    fidelity: Fidelity = parameter(
        "strict", "strict: proved; published: the paper's algorithm, not differentially private"
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
        if (self.asked or self.begun) and self.fidelity == "published":
            raise ParameterError(
                "attributes and begun need fidelity strict; published drops all columns but three"
            )

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """With and without attributes; see the base class."""
        strict = {"fidelity": "strict"}
        columns = ("case:channel", "case:amount:number", "org:group")
        return (
            AuditCase(strict, (DAYS_APART, EXTREME_TIMES, NEW_ACTIVITY, NO_CASE), usual=False),
            AuditCase({**strict, "delta": 1e-6}, (FREQUENT, NO_CASE), usual=False),
            AuditCase({**strict, "attributes": TIED_COLUMNS}, (TIED_TRAITS,), False),
            AuditCase({**strict, "attributes": columns}, (SAME_COLUMNS, OTHER_COLUMNS), False),
            AuditCase({"fidelity": "published"}, (FIRST_CASE, NEW_ACTIVITY, EXTREME_TIMES)),
        )

    @cached_property
    def inner(self) -> Mechanism[Any]:
        """Variants by plain partition selection."""
        return TraVaS(epsilon=self.of_variants.epsilon, delta=self.of_variants.delta)

    def _spending(self, budget: Budget) -> Step | None:
        return None if self.fidelity == "published" else super()._spending(budget)

    @property
    def _needs(self) -> Reads:
        return "events" if self.fidelity == "published" else self.reads

    def _statement(self, asked: Budget) -> Statement:
        if self.fidelity == "strict":
            return super()._statement(asked)
        advantage = self.guessing_advantage
        alone = (
            "exactly the variants of the log are shown, so a variant of one case betrays that case"
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
            f"guessing advantage: any fact about one {unit} is guessed with a probability that is "
            f"at most {bound:g} above the one before the release, whatever that was",
            *super()._notes(),
        )

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log."""
        if self.fidelity == "published":
            return ["this form is not differentially private: do not share its output as such"]
        return super().advice(log)

    def _draw(self, log: EventLog, rng: Randomness) -> EventLog:
        from discreet.mechanisms.whole import oversampling

        if self.fidelity == "strict":
            return super()._draw(log, rng)
        kept = oversampling.without_rare(log, self.min_count)
        if not kept.cases:
            raise LogError(
                f"no variant has {self.min_count} cases on each of its transitions, so nothing is "
                "left to publish; lower min_count"
            )
        fresh = oversampling.publish(kept, self.guessing_advantage, self.precision, rng)
        return fresh.assemble(kept, rng)


def advantage_bound(epsilon: float, delta: float = 0.0) -> float:
    """The guessing advantage that (epsilon, delta) allows, add-remove, for any fact about one unit.

    Let the secret x have any prior, G(o) be the set guessed after outcome o, P the largest prior
    of a set that may be guessed, M₀ the release without the unit. As M_x(S) ≤ e^ε·M₀(S) + δ, the
    guess is right with probability Σ prior(x)·M_x(x ∈ G) ≤ e^ε·P + δ; and as
    M_x(S) ≥ e^{−ε}(M₀(S) − δ), it is wrong with probability at least e^{−ε}(1 − P − δ). Hence

        advantage ≤ min(e^ε·P + δ, 1 − e^{−ε}(1 − P − δ)) − P ≤ (e^ε − 1 + 2δ)/(e^ε + 1),

    attained at P = (1 − δ)/(e^ε + 1). The mean is over outcomes; for δ = 0 it holds for each.
    """
    return min(1.0, math.tanh(epsilon / 2) + delta * (1 - math.tanh(epsilon / 2)))
