"""The mechanism: parameters, guarantee, and how training and generating are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.mechanisms.generative import State, Watch
from discreet.mechanisms.one_hot import OneHot
from discreet.mechanisms.parameters import parameter
from discreet.mechanisms.parts.dictionary import Dictionary
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Integers, Randomness
from discreet.privacy.renyi import Plan
from discreet.privacy.steps import Statement, Step

DECODER, DISCRIMINATOR = "decoder", "discriminator"
LATENT = 128
"""Entries of a compressed case, and of the noise that a generated one begins with."""

Sizes = dict[str, tuple[int, int]]


def encoder_sizes(columns: int) -> Sizes:
    """Two layers: from a case's columns to its compressed form."""
    middle = (columns + LATENT) // 2
    return {"first": (columns, middle), "last": (middle, LATENT)}


def decoder_sizes(columns: int) -> Sizes:
    """Two layers back."""
    middle = (columns + LATENT) // 2
    return {"first": (LATENT, middle), "last": (middle, columns)}


def generator_sizes() -> Sizes:
    """Three layers, each of which adds to what it is given."""
    return dict.fromkeys(("first", "second", "last"), (LATENT, LATENT))


def discriminator_sizes(columns: int) -> Sizes:
    """Three layers: from a case's columns to one number."""
    wide, narrow = max(1, 2 * columns // 3), max(1, columns // 3)
    return {"first": (columns, wide), "second": (wide, narrow), "last": (narrow, 1)}


@dataclass(frozen=True, kw_only=True)
class TraVaG(OneHot):
    """Learn to compress cases, then let a generator and a discriminator compete over them.

    A case is a unit vector, one column for each variant. An autoencoder compresses it to 128
    numbers and back. A generator makes such numbers of random noise, the decoder makes a case of
    them, and a discriminator, trained as a Wasserstein critic, tells generated from real ones.

    strict: proved, see `OneHot`; only the discriminator sees data, and only by noisy steps. The
    autoencoder learns to compress the columns of the dictionary, each alike: the columns are
    known once the dictionary is, so this costs nothing. The generator starts from the frequencies
    that the selection showed and afterwards learns from the discriminator alone: post-processing.
    Its side of the discriminator's loss reads no case and needs no noise.

    published: refuted. The decoder's noisy steps assume that a case moves the sum of gradients by
    the clip at most. But the decoder's inputs come from an encoder trained on the same cases
    without noise, so that one case moves the gradients of all: by 17 times the clip in a batch of
    64 and 143 times in one of 512, measured. No finite bound is known. The columns are the log's
    own variants besides.
    """

    name: ClassVar[str] = "travag"
    summary: ClassVar[str] = "variants by an autoencoder and a GAN trained with noisy gradients"

    discriminator_steps: int = parameter(
        15,
        "published only: steps of the discriminator for each step of the generator",
        low=1,
        high=1000,
    )

    def _schedule(self) -> dict[str, Plan]:
        if self.fidelity == "strict":
            return {DISCRIMINATOR: Plan(self._rate, self.planned_steps, 1.0)}
        return {
            name: Plan(self._rate, self.planned_steps, 1.0) for name in (DECODER, DISCRIMINATOR)
        }

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
        self,
        counts: Integers,
        facts: dict[str, Any],
        source: Randomness,
        watch: Watch,
        saved: State | None,
    ) -> State:
        if self.fidelity == "strict":
            from discreet.mechanisms.travag.strict import trained
        else:
            from discreet.mechanisms.travag.published import trained
        return trained(self, counts, facts, source, watch, saved)

    def _columns_of(
        self, model: State, columns: Dictionary, cases: int, source: Randomness
    ) -> Integers:
        from discreet.mechanisms.travag.networks import columns_of

        return columns_of(model.tensors, columns, cases, self.fidelity == "strict", source)

    def _check_model(self, model: State) -> None:
        columns = Dictionary.from_facts(model.facts).columns
        wanted = {"generator": generator_sizes(), "decoder": decoder_sizes(columns)}
        for network, layers in wanted.items():
            for name, (inputs, outputs) in layers.items():
                if model.tensors[f"{network}/{name}"].shape != (outputs, inputs + 1):
                    raise ValueError(f"its {network}'s layer {name} has another shape")
