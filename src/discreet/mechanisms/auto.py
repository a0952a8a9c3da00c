"""auto: the mechanism that fits what is wanted, chosen by public facts, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from discreet.log.events import EventLog, Reads
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import FREQUENT, ONE_MORE, AuditCase
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.blocks.alphabet import alphabet_parameter, delta_or_alphabet_parameter
from discreet.mechanisms.headtail import HeadTail
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.travas import TraVaS
from discreet.parameters import ParameterError, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Statement, Step

LAPLACE_BELOW_EPSILON = 0.3
"""Per case; below it laplace comes closer than headtail if delta is 0."""


@dataclass(frozen=True, kw_only=True)
class Auto(Mechanism[Variants]):
    """Choose between headtail, travas and laplace without reading the log, and say why.

    The choice depends on the parameters alone, so it costs nothing, the guarantee is that of the
    chosen mechanism, and whoever has the certificate can repeat the choice. What must depend on
    the log, such as whether it has frequent variants at all, is decided inside headtail, under
    its budget.

    - Only variants that really occurred are wanted: travas, the one that invents nothing.
    - δ = 0 and little ε: laplace, whose tree of noisy prefixes then comes closer. Both it and
      headtail need a public alphabet if δ = 0; travas needs δ > 0 always.
    - Otherwise headtail.
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "headtail, or travas or laplace where they suit better; says why"
    paper: ClassVar[str] = "this library"
    returns: ClassVar[str] = "variants"
    reads: ClassVar[Reads] = "variants"

    delta: float = delta_or_alphabet_parameter()
    alphabet: tuple[str, ...] | str | None = alphabet_parameter()
    want: Literal["likeness", "real-variants"] = parameter(
        "likeness",
        "likeness: the log as a whole, rare cases stood for by invented ones; real-variants: only "
        "variants that occur in the log",
    )

    def _validate(self) -> None:
        super()._validate()
        if self.want == "real-variants" and self.delta == 0:
            raise ParameterError(
                "real variants cannot be shown with delta = 0; give a small one such as 1e-6, or "
                "--want likeness with a public alphabet"
            )
        _ = self.choice

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """Each of the mechanisms that it may choose; see the base class."""
        pairs = ONE_MORE, FREQUENT
        return (
            AuditCase({}, pairs, usual=False),
            AuditCase({"want": "real-variants"}, pairs, usual=False),
            AuditCase({"delta": 0.0, "epsilon": 0.2}, pairs, usual=False),
        )

    @cached_property
    def choice(self) -> tuple[Mechanism[Variants], str]:
        """The chosen mechanism and the reason."""
        common: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "cases_per_individual": self.cases_per_individual,
        }
        if self.want == "real-variants":
            return TraVaS(**common), (
                "only variants that occur in the log were asked for, and it invents nothing"
            )
        little = self.case_budget.epsilon < LAPLACE_BELOW_EPSILON
        if self.delta == 0 and little and self.alphabet is not None:
            return Laplace(**common, alphabet=self.alphabet), (
                "with delta = 0 and an epsilon this small a tree of noisy prefixes comes closest"
            )
        return HeadTail(**common, alphabet=self.alphabet), (
            "it stands for rare cases too, and comes closest to the log at the same budget"
        )

    def _spending(self, budget: Budget) -> Step | None:
        return self.choice[0].spending

    def _statement(self, asked: Budget) -> Statement:
        return self.choice[0]._statement(asked)

    def _notes(self) -> tuple[str, ...]:
        chosen, reason = self.choice
        return (f"{chosen.name} was chosen: {reason}", *chosen._notes())

    def advice(self, log: EventLog) -> list[str]:
        """Warnings of the chosen mechanism for the holder of the log."""
        return self.choice[0].advice(log)

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent what the chosen mechanism refuses."""
        self.choice[0].check(log)

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        return self.choice[0]._draw(log, rng)

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Variants]:
        return self.choice[0]._draw_many(log, runs, rng)
