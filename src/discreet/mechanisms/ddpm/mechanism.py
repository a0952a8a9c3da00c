"""The mechanism: parameters, guarantee, and how training and generating are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.mechanisms.generative import State, Watch
from discreet.mechanisms.one_hot import OneHot
from discreet.mechanisms.parameters import ParameterError, parameter
from discreet.mechanisms.parts.dictionary import Dictionary
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Integers, Randomness
from discreet.privacy.renyi import Plan
from discreet.privacy.steps import Statement, Step

NETWORK = "denoiser"
TIME_FEATURES = 32
PUBLISHED_WIDTH, STRICT_WIDTH = 256, 16


def layer_sizes(columns: int, width: int) -> dict[str, tuple[int, int]]:
    """Three linear layers: from point and time to noise, or to the odds of each column."""
    return {
        "first": (columns + TIME_FEATURES, width),
        "second": (width, width),
        "last": (width, columns),
    }


@dataclass(frozen=True, kw_only=True)
class DDPM(OneHot):
    """Learn to take noise out of blurred cases; generate by taking it out of pure noise.

    A case is a unit vector, one column for each variant. The diffusion blurs it in 300 steps; a
    network of three linear layers, told the step, is trained by noisy gradient steps to undo the
    blur; applied 300 times to a random vector it gives a new case.

    strict: proved, see `OneHot`; the one network is trained by noisy steps. It answers with the
    odds of each column, to which the known blur contributes a linear term by Bayes' rule, so at
    the start it is already the exact denoiser for the frequencies that the selection showed, and
    training moves it from there. Learning goes so fast that the noise moves no weight far:
    a public rule of the plan's noise and the noisy number of cases.

    published: the columns are the log's own variants and the sampling is divided by the true
    number of cases, so that both are open to whoever sees a release: conditional. The network
    predicts the noise, as in the paper, and learns from single cases. With microbatches a case
    moves a clipped gradient by up to twice the clip, and the grouping of the others with it,
    while the noise is made for once the clip: nothing is proved then.
    """

    name: ClassVar[str] = "ddpm"
    summary: ClassVar[str] = "variants by a diffusion model trained with noisy gradients"

    width: int | None = parameter(
        None,
        f"units of a hidden layer; by default {STRICT_WIDTH}, published {PUBLISHED_WIDTH}",
        low=1,
        high=8192,
    )
    learning_rate: float = parameter(
        0.005, "published only: of its optimiser (Adam)", low=0, high=10, open_low=True
    )
    microbatch: int = parameter(
        1,
        "published only: how many cases are clipped together; above 1 breaks the proof",
        low=1,
        high=1024,
    )
    strides: int = parameter(
        300, "in how many strides a case is generated, of 300 steps", low=1, high=300
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

    def _schedule(self) -> dict[str, Plan]:
        return {NETWORK: Plan(self._rate, self.planned_steps, 1.0)}

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "strict":
            return self._strict_spending(budget, "training of the denoiser")
        return None if self.microbatch > 1 else self._training("training", budget)

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
        return self._published_statement()

    def _fit(
        self,
        counts: Integers,
        facts: dict[str, Any],
        source: Randomness,
        watch: Watch,
        saved: State | None,
    ) -> State:
        from discreet.mechanisms.ddpm.training import trained

        return trained(self, counts, facts, source, watch, saved)

    def _columns_of(
        self, model: State, columns: Dictionary, cases: int, source: Randomness
    ) -> Integers:
        from discreet.mechanisms.ddpm.diffusion import columns_of

        strict = self.fidelity == "strict"
        return columns_of(model.tensors, columns, cases, self.strides, strict, source)

    def _check_model(self, model: State) -> None:
        columns = Dictionary.from_facts(model.facts).columns
        for name, (inputs, outputs) in layer_sizes(columns, self.units).items():
            if model.tensors[name].shape != (outputs, inputs + 1):
                raise ValueError(f"its layer {name} has another shape")
