"""The mechanism: parameters, guarantee, and how training and generating are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.arrays import Integers
from discreet.mechanisms.audit_cases import CANARIES, AuditCase
from discreet.mechanisms.trained.base import ModelState, Watch
from discreet.mechanisms.trained.dictionary import Dictionary, OverDictionary
from discreet.mechanisms.trained.layers import DENOISER, check_layers, denoiser_layers
from discreet.parameters import Interval, ParameterError, between, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan
from discreet.privacy.steps import Group, Statement, Step

PUBLISHED_WIDTH, STRICT_WIDTH = 256, 16


@dataclass(frozen=True, kw_only=True)
class DDPM(OverDictionary):
    """Learn to take noise out of blurred cases; generate by taking it out of pure noise.

    A case is a unit vector, one column for each variant. The diffusion blurs it in 300 steps; a
    network of three linear layers, told the step, is trained by noisy gradient steps to undo the
    blur; applied 300 times to a random vector it gives a new case.

    strict: proved, see `OverDictionary`; the one network takes noisy steps. It answers with the
    odds of each column, to which the known blur contributes a linear term by Bayes' rule, so at
    the start it is already the exact denoiser for the frequencies that the selection showed, and
    training moves it from there. Learning goes so fast that the noise moves no weight far:
    a public rule of the plan's noise and the noisy number of cases.

    published: the columns are the log's own variants and the sampling is divided by the true
    number of cases, so that anyone who sees a release learns both: conditional. The network
    predicts the noise, as in the paper, and learns from single cases. With microbatches a case
    moves a clipped gradient by up to twice the clip, and the grouping of the others with it,
    while the noise is made for once the clip: nothing is proved then.
    """

    name: ClassVar[str] = "ddpm"
    summary: ClassVar[str] = "variants by a diffusion model trained with noisy gradients"

    width: int | None = parameter(
        None,
        f"units of a hidden layer; by default {STRICT_WIDTH}, published {PUBLISHED_WIDTH}",
        between(1, 8192),
    )
    learning_rate: float = parameter(
        0.005, "published only: of its optimiser (Adam)", Interval(0, 10, open_low=True)
    )
    microbatch: int = parameter(
        1,
        "published only: how many cases are clipped together; above 1 breaks the proof",
        between(1, 1024),
    )
    strides: int = parameter(
        300, "in how many strides a case is generated, of 300 steps", between(1, 300)
    )

    def _validate(self) -> None:
        super()._validate()
        if self.microbatch > 1 and self.fidelity == "strict":
            raise ParameterError("strict clips every case by itself; leave microbatch at 1")

    @property
    def units(self) -> int:
        """Units of a hidden layer."""
        usual = STRICT_WIDTH if self.fidelity == "strict" else PUBLISHED_WIDTH
        return usual if self.width is None else self.width

    def _schedule(self) -> dict[str, TrainingPlan]:
        return {DENOISER: TrainingPlan(self._rate, self.planned_steps, 1.0)}

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The default, a public dictionary with a canary, the published form; see the base."""
        published = {
            "fidelity": "published",
            "delta": 1e-6,
            "cases": 20000,
            "strides": 20,
            "steps": 16,
        }
        return (*cls._strict_audit_cases(), AuditCase(published, (CANARIES,), False, shared=False))

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "strict":
            return self._strict_spending(budget, "training of the denoiser")
        if self.microbatch > 1:
            return None
        return Group("a case replaced", self._training("training", budget), 2)

    def _statement(self, asked: Budget) -> Statement:
        if self.fidelity == "strict":
            return self._strict_statement()
        if self.microbatch > 1:
            return Statement(
                "Gradients are clipped in microbatches: one case moves a clipped gradient by up to "
                "twice the clip, and how the other cases are grouped, while the noise is made for "
                "once the clip. The columns are the log's own variants.",
                status="unproved",
                claimed=asked,
            )
        return self._published_statement(asked)

    def _fit(
        self, counts: Integers, facts: dict[str, Any], rng: Randomness, watch: Watch
    ) -> ModelState:
        from discreet.mechanisms.trained.ddpm.denoiser import DenoiserSettings, trained

        settings = DenoiserSettings(self.units, self.learning_rate, self.microbatch)
        return trained(self, settings, counts, facts, rng, watch)

    def _columns_of(
        self, model: ModelState, columns: Dictionary, cases: int, rng: Randomness
    ) -> Integers:
        from discreet.mechanisms.trained.ddpm.denoiser import columns_of

        strict = self.fidelity == "strict"
        return columns_of(model.tensors, columns, cases, self.strides, strict, rng)

    def _check_model(self, model: ModelState) -> None:
        columns = Dictionary.from_facts(model.facts).columns
        check_layers(model.tensors, denoiser_layers(columns, self.units))
