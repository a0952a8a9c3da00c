"""Training of TraVaG: strict, with noisy steps wherever data are seen, and as published.

strict: only the discriminator sees data, by noisy steps. published: an autoencoder with a noisy
decoder, then a GAN with a noisy critic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.mechanisms.trained.base import ModelState, Watch, joined, under
from discreet.mechanisms.trained.clipping import clipped_sum
from discreet.mechanisms.trained.dictionary import OverDictionary
from discreet.mechanisms.trained.layers import (
    DECODER,
    DISCRIMINATOR,
    LATENT,
    decoder_layers,
    discriminator_layers,
    encoder_layers,
    generator_layers,
)
from discreet.mechanisms.trained.sgd import (
    PrivateSteps,
    Recorder,
    Steps,
    Weights,
    calm_rate,
    fresh_weights,
    normals,
    plain,
)
from discreet.mechanisms.trained.travag import networks
from discreet.privacy.randomness import Randomness

# Tuned, on public logs
CLIP = 1.0
"""Largest norm of a case's gradient; rates are relative to it."""
DRIFT, PUBLIC_DRIFT = 0.05, 0.3
"""Deviation that the noise of all steps gives a weight of the discriminator, if columns were
found or are public."""
MOST_TOTAL_RATE = 10.0
"""Largest sum of the learning rates of the discriminator's steps."""
WEIGHT_BOUND = 1.0
"""Largest weight of the discriminator, which keeps it Lipschitz."""
FORGOTTEN_SHARE = 0.3
"""Share of its last weights that the discriminator loses at each step, so that it looks at what
is wrong now; without it the two chase each other in circles."""
RATE, PUBLIC_RATE = 0.03, 3.0
"""Learning rate of the generator, from a start of noisy counts, worth keeping, or an even one."""
GENERATED_CASES = 512
"""Cases generated to compute the generator's gradient."""
COMPRESSING_STEPS, STARTING_STEPS = 100, 30
"""Steps of the autoencoder and of the generator's start; they read no case."""


def train_strict(
    mechanism: OverDictionary,
    counts: Integers,
    facts: dict[str, Any],
    rng: Randomness,
    watch: Watch,
) -> ModelState:
    """Take all planned steps, resuming from what was saved."""
    run = StrictGame(mechanism, counts, facts, rng)
    saved = watch.resumed()
    if saved is None:
        run.begin(torch.tensor(facts["start"], dtype=torch.float64))
    else:
        networks.resume(run.networks, saved)
    save = partial(networks.kept, run.networks, facts)
    losses = (run.step() for _ in run.discriminator.remaining())
    watch.follow(DISCRIMINATOR, run.discriminator, losses, save)
    return networks.model_of(run.average, facts)


class StrictGame:
    """A discriminator that sees noisy sums, against a generator that sees the discriminator."""

    def __init__(
        self, mechanism: OverDictionary, counts: Integers, facts: dict[str, Any], rng: Randomness
    ) -> None:
        self.counts, self.rng = counts, rng
        self.columns = torch.eye(len(counts))
        spending = mechanism.noisy_step(DISCRIMINATOR)
        plan = spending.plan
        expected = facts["trained_on"] * float(plan.sampling_rate)
        known = mechanism.dictionary is None
        drift, self.speed = (DRIFT, RATE) if known else (PUBLIC_DRIFT, PUBLIC_RATE)
        rate = calm_rate(plan, CLIP, expected, drift, MOST_TOTAL_RATE)
        layers = {"generator": generator_layers(), "decoder": decoder_layers(len(counts))}
        self.generator = Steps(
            fresh_weights(joined(layers), rng), partial(torch.optim.SGD, lr=self.speed)
        )
        self.averaged = Steps(
            {name: weight.clone() for name, weight in self.generator.weights.items()},
            partial(torch.optim.SGD, lr=0.0),
        )
        weights = fresh_weights(discriminator_layers(len(counts)), rng)
        weights["first"] *= len(counts) ** 0.5  # of a unit vector's entries only one counts
        weights["last"].zero_()
        self.discriminator = PrivateSteps(
            weights,
            spending,
            clip=CLIP,
            expected_cases=expected,
            optimiser=partial(torch.optim.SGD, lr=rate),
            rng=rng,
        )

    @property
    def average(self) -> Weights:
        """The mean of the generator's and decoder's weights over the second half of the game."""
        return self.averaged.weights

    @property
    def networks(self) -> dict[str, Steps]:
        """What a checkpoint keeps."""
        return {
            "generator": self.generator,
            "average": self.averaged,
            DISCRIMINATOR: self.discriminator,
        }

    def begin(self, start: Tensor) -> None:
        """Learn to compress the columns, then meet the frequencies that are known; no data."""
        columns = self.columns
        encoder = fresh_weights(encoder_layers(len(columns)), self.rng)
        decoder = under("decoder", self.generator.weights)
        both = [weight.requires_grad_() for weight in (*encoder.values(), *decoder.values())]
        adam = torch.optim.Adam(both, lr=0.005)
        for _ in range(COMPRESSING_STEPS):
            adam.zero_grad()
            odds = networks.decode(
                partial(plain, decoder), networks.encode(partial(plain, encoder), columns)
            )
            torch.autograd.backward(
                torch.nn.functional.cross_entropy(odds, torch.arange(len(columns)))
            )
            adam.step()
        for weight in both:
            weight.requires_grad_(False)
        wanted = start / start.sum()
        bias = decoder["last"][:, -1]
        with torch.no_grad():
            for _ in range(STARTING_STEPS):
                bias += (wanted.log() - self.chances(self.generator.weights).log()).to(bias.dtype)
        for name, weight in self.generator.weights.items():
            self.average[name].copy_(weight)

    def imitate(self, scores: Tensor) -> None:
        """One step of generator and decoder towards what the discriminator takes for real.

        All their weights follow the gradient of the mean score of what they generate. Of the
        decoder's last constants, the columns' odds, it is taken by each column's own measure
        (a natural gradient): otherwise rare columns would hardly move.
        """
        leaves = self.generator.leaves()
        score = self.chances(leaves) @ scores.double()
        uphill = torch.autograd.grad(score, list(leaves.values()))
        gradients = {name: -found for name, found in zip(leaves, uphill, strict=True)}
        gradients["decoder/last"][:, -1] = scores.mean() - scores
        self.generator.apply(gradients)

    def chances(self, weights: Weights) -> Tensor:
        """How often each column is generated."""
        noise = normals((GENERATED_CASES, LATENT), self.rng)
        latent = networks.generate(partial(plain, under("generator", weights)), noise)
        return (
            networks.decode(partial(plain, under("decoder", weights)), latent)
            .double()
            .softmax(1)
            .mean(0)
        )

    def step(self) -> float:
        """One step of each; returns how far the discriminator tells real from generated, raw."""
        sampled = self.discriminator.sample_counts(self.counts)
        run = Recorder(self.discriminator.weights)
        scores = networks.discriminate(run, self.columns)
        real = run.factors(-scores.sum())
        with torch.no_grad():
            chances = self.chances(self.generator.weights)
        fake = clipped_sum([real[name] for name in self.discriminator.weights], CLIP, -chances)
        public = dict(zip(self.discriminator.weights, fake, strict=True))
        self.discriminator.step(real, sampled, public)
        last = self.discriminator.weights["last"]
        last.clamp_(-WEIGHT_BOUND, WEIGHT_BOUND)
        with torch.no_grad():
            fresh = networks.discriminate(partial(plain, self.discriminator.weights), self.columns)
        last *= 1 - FORGOTTEN_SHARE
        self.imitate(fresh)
        self.discriminator.average_later(self.generator.weights, self.average)
        scores = fresh.double()
        mean = float(scores @ torch.from_numpy(sampled).double()) / max(1, int(sampled.sum()))
        return float(chances @ scores) - mean


# Tuned, by the paper, but for the bound, which it does not name
PUBLISHED_RATE = 0.005
DECODER_CLIP, DISCRIMINATOR_CLIP = 0.012, 0.022
PUBLISHED_WEIGHT_BOUND = 0.1
"""Largest weight of the critic, which keeps it Lipschitz."""


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
    mechanism: OverDictionary,
    discriminator_steps: int,
    counts: Integers,
    facts: dict[str, Any],
    rng: Randomness,
    watch: Watch,
) -> ModelState:
    """Take all planned steps of both phases, resuming from what was saved."""
    run = PublishedGame(mechanism, counts, facts["trained_on"], rng)
    saved = watch.resumed()
    if saved is not None:
        networks.resume(run.networks, saved)
    save = partial(networks.kept, run.networks, facts)
    compressed = (run.compress() for _ in run.decoder.remaining())
    watch.follow(DECODER, run.decoder, compressed, save)
    watch.follow(DISCRIMINATOR, run.discriminator, run.compete(discriminator_steps), save)
    parts = {"generator": run.generator.weights, DECODER: run.decoder.weights}
    return networks.model_of(joined(parts), facts)
