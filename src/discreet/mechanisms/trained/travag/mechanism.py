"""The mechanism: parameters, guarantee, and how training and generating are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.arrays import Integers
from discreet.mechanisms.audit_cases import CANARIES, AuditCase
from discreet.mechanisms.trained.base import ModelState, Watch, joined
from discreet.mechanisms.trained.dictionary import Dictionary, OverDictionary
from discreet.mechanisms.trained.layers import (
    DECODER,
    DISCRIMINATOR,
    check_layers,
    decoder_layers,
    generator_layers,
)
from discreet.parameters import between, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan
from discreet.privacy.steps import Statement, Step


@dataclass(frozen=True, kw_only=True)
class TraVaG(OverDictionary):
    """Learn to compress cases, then let a generator and a discriminator compete over them.

    A case is a unit vector, one column for each variant. An autoencoder compresses it to 128
    numbers and back. A generator makes such numbers of random noise, the decoder makes a case of
    them, and a discriminator, trained as a Wasserstein critic, tells generated from real ones.

    strict: proved, see `OverDictionary`; only the discriminator sees data, by noisy steps. The
    autoencoder learns to compress the columns of the dictionary, each alike: the columns are
    known once the dictionary is, so this costs nothing. The generator starts from the frequencies
    that the selection showed and afterwards learns from the discriminator alone: post-processing.
    Its side of the discriminator's loss reads no case and needs no noise.

    published: refuted. The decoder's noisy steps assume that a case moves the sum of gradients by
    the clip at most. But the decoder's inputs come from an encoder trained on the same cases
    without noise, so that one case moves the gradients of all: by 17 times the clip in a batch of
    64 and 143 times in one of 512, measured. No finite bound is known. Besides, the columns are the
    log's own variants.
    """

    name: ClassVar[str] = "travag"
    summary: ClassVar[str] = "variants by an autoencoder and a GAN trained with noisy gradients"

    discriminator_steps: int = parameter(
        15,
        "published only: steps of the discriminator for each step of the generator",
        between(1, 1000),
    )

    def _schedule(self) -> dict[str, TrainingPlan]:
        if self.fidelity == "strict":
            return {DISCRIMINATOR: TrainingPlan(self._rate, self.planned_steps, 1.0)}
        return {
            name: TrainingPlan(self._rate, self.planned_steps, 1.0)
            for name in (DECODER, DISCRIMINATOR)
        }

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The default, a public dictionary with a canary, the published form; see the base."""
        published = {"fidelity": "published", "delta": 1e-6, "cases": 20000, "steps": 30}
        return (*cls._strict_audit_cases(), AuditCase(published, (CANARIES,), False, shared=False))

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "published":
            return None
        return self._strict_spending(budget, "training of the discriminator")

    def _statement(self, asked: Budget) -> Statement:
        if self.fidelity == "strict":
            return self._strict_statement()
        return Statement(
            "The encoder is trained on the cases without noise, and the decoder's noisy steps take "
            "its outputs for independent of all cases but one: a single case moves their sum by 17 "
            "times the clip in a batch of 64, and by 143 times in one of 512. No finite bound is "
            "known. The columns are the log's own variants besides.",
            status="refuted",
            claimed=asked,
        )

    def _fit(
        self, counts: Integers, facts: dict[str, Any], rng: Randomness, watch: Watch
    ) -> ModelState:
        if self.fidelity == "strict":
            from discreet.mechanisms.trained.travag.games import train_strict

            return train_strict(self, counts, facts, rng, watch)
        from discreet.mechanisms.trained.travag.games import train_published

        return train_published(self, self.discriminator_steps, counts, facts, rng, watch)

    def _columns_of(
        self, model: ModelState, columns: Dictionary, cases: int, rng: Randomness
    ) -> Integers:
        from discreet.mechanisms.trained.travag.networks import columns_of

        return columns_of(model.tensors, columns, cases, self.fidelity == "strict", rng)

    def _check_model(self, model: ModelState) -> None:
        columns = Dictionary.from_facts(model.facts).columns
        wanted = {"generator": generator_layers(), "decoder": decoder_layers(columns)}
        check_layers(model.tensors, joined(wanted))
