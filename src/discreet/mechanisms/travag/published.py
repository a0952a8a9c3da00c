"""Training as the paper does: an autoencoder with a noisy decoder, then a GAN with a noisy critic."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.dpsgd.sgd import PrivateSteps, Recorder, Steps, fresh_weights, normals, plain
from discreet.mechanisms.generative.base import Session, State, joined
from discreet.mechanisms.generative.over_dictionary import OverDictionary
from discreet.mechanisms.travag import networks
from discreet.mechanisms.travag.sizes import (
    DECODER,
    DISCRIMINATOR,
    LATENT,
    decoder_layers,
    discriminator_layers,
    encoder_layers,
    generator_layers,
)
from discreet.privacy.randomness import Randomness

PUBLISHED_RATE = 0.005
DECODER_CLIP, DISCRIMINATOR_CLIP = 0.012, 0.022
PUBLISHED_WEIGHT_BOUND = 0.1
"""Of the critic, which keeps it Lipschitz; the paper does not name its bound."""


class PublishedGame:
    """The four networks of one training."""

    def __init__(
        self, mechanism: OverDictionary, counts: Integers, size: int, rng: Randomness
    ) -> None:
        columns = len(counts)
        self.plans = mechanism.plans
        self.rng = rng
        self.column_of = np.repeat(np.arange(columns), counts)
        self.columns = columns
        self.expected = size * float(self.plans[DECODER].sampling_rate)
        adam = partial(torch.optim.Adam, lr=PUBLISHED_RATE)
        rmsprop = partial(torch.optim.RMSprop, lr=PUBLISHED_RATE, alpha=0.99)
        self.encoder = Steps(fresh_weights(encoder_layers(columns), rng), adam)
        self.generator = Steps(fresh_weights(generator_layers(), rng), rmsprop)
        private = partial(PrivateSteps, expected_cases=self.expected, rng=rng)
        weights, step = (
            fresh_weights(decoder_layers(columns), rng),
            mechanism.noisy_step(DECODER),
        )
        self.decoder = private(weights, step, clip=DECODER_CLIP, optimiser=adam)
        weights = fresh_weights(discriminator_layers(columns), rng)
        step = mechanism.noisy_step(DISCRIMINATOR)
        self.discriminator = private(weights, step, clip=DISCRIMINATOR_CLIP, optimiser=rmsprop)

    @property
    def networks(self) -> dict[str, Steps]:
        """All of them by name."""
        return {
            "encoder": self.encoder,
            "generator": self.generator,
            DECODER: self.decoder,
            DISCRIMINATOR: self.discriminator,
        }

    def compress(self) -> float:
        """One step of the autoencoder, binary cross-entropy; returns the raw loss."""
        cases = self._sample(self.decoder)
        if len(cases) == 0:
            self.decoder.step(None)
            return math.nan
        leaves = self.encoder.leaves()
        run = Recorder(self.decoder.weights)
        odds = networks.decode(run, networks.encode(partial(plain, leaves), cases))
        each = torch.nn.functional.binary_cross_entropy_with_logits(odds, cases, reduction="none")
        loss = each.mean(1).sum()
        mean = torch.autograd.grad(loss / len(cases), list(leaves.values()), retain_graph=True)
        self.encoder.apply(dict(zip(leaves, mean, strict=True)))
        self.decoder.step(run.factors(loss))
        return float(loss.detach()) / len(cases)

    def criticise(self) -> float:
        """One step of the discriminator: real cases against as many generated ones."""
        cases = self._sample(self.discriminator)
        if len(cases) == 0:
            self.discriminator.step(None)
            return math.nan
        with torch.no_grad():
            fakes = self._fakes(partial(plain, self.generator.weights), len(cases))
        run = Recorder(self.discriminator.weights)
        scores = networks.discriminate(run, torch.stack([cases, fakes], dim=1))
        loss = (scores[:, 1] - scores[:, 0]).sum()
        self.discriminator.step(run.factors(loss))
        for weight in self.discriminator.weights.values():
            weight.clamp_(-PUBLISHED_WEIGHT_BOUND, PUBLISHED_WEIGHT_BOUND)
        return float(loss.detach()) / len(cases)

    def compete(self, rounds: int) -> Iterator[float]:
        """All steps of the discriminator, and one of the generator after each `rounds` of them."""
        for _ in self.discriminator.remaining():
            loss = self.criticise()
            if self.discriminator.taken % rounds == 0:
                self.imitate()
            yield loss

    def imitate(self) -> None:
        """One step of the generator."""
        leaves = self.generator.leaves()
        fakes = self._fakes(partial(plain, leaves), max(1, round(self.expected)))
        scores = networks.discriminate(partial(plain, self.discriminator.weights), fakes)
        found = torch.autograd.grad(-scores.mean(), list(leaves.values()))
        self.generator.apply(dict(zip(leaves, found, strict=True)))

    def _fakes(self, generator: partial[Tensor], cases: int) -> Tensor:
        latent = networks.generate(generator, normals((cases, LATENT), self.rng))
        return torch.sigmoid(networks.decode(partial(plain, self.decoder.weights), latent))

    def _sample(self, steps: PrivateSteps) -> Tensor:
        chosen = self.column_of[steps.sample(len(self.column_of))]
        cases = torch.zeros(len(chosen), self.columns)
        cases[np.arange(len(chosen)), chosen] = 1
        return cases


def train_published(
    mechanism: OverDictionary, discriminator_steps: int, counts: Integers, session: Session
) -> State:
    """Take all planned steps of both phases, resuming from what was saved."""
    run = PublishedGame(mechanism, counts, session.facts["trained_on"], session.rng)
    if session.saved is not None:
        networks.resume(run.networks, session.saved)
    save = partial(networks.kept, run.networks, session.facts)
    compressed = (run.compress() for _ in run.decoder.remaining())
    session.follow(DECODER, run.decoder, compressed, save)
    session.follow(DISCRIMINATOR, run.discriminator, run.compete(discriminator_steps), save)
    parts = {"generator": run.generator.weights, DECODER: run.decoder.weights}
    return networks.model_of(joined(parts), session.facts)
