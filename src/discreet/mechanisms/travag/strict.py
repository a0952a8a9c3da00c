"""Training that is private throughout: only the discriminator sees data, by noisy steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.dpsgd.clipping import clipped_sum
from discreet.dpsgd.sgd import (
    PrivateSteps,
    Recorder,
    Steps,
    Weights,
    calm_rate,
    fresh_weights,
    normals,
    plain,
)
from discreet.mechanisms.generative.base import Session, State, joined, under
from discreet.mechanisms.generative.over_dictionary import OverDictionary
from discreet.mechanisms.travag import networks
from discreet.mechanisms.travag.sizes import (
    DISCRIMINATOR,
    LATENT,
    decoder_layers,
    discriminator_layers,
    encoder_layers,
    generator_layers,
)
from discreet.privacy.randomness import Randomness

CLIP = 1.0
DRIFT, PUBLIC_DRIFT = 0.05, 0.3
"""How far all the noise may move a weight of the discriminator."""
MOST_TOTAL_RATE = 10.0
"""Learning rates of the discriminator's steps together are at most this."""
WEIGHT_BOUND = 1.0
"""Of the discriminator, which keeps it Lipschitz."""
FORGOTTEN_SHARE = 0.3
"""Share of its last weights that the discriminator loses at each step, so that it looks at what
is wrong now; without it the two chase each other in circles."""
RATE, PUBLIC_RATE = 0.03, 3.0
"""The generator's: a start made of noisy counts is worth keeping, an even one is not."""
GENERATED_CASES = 512
"""Cases on which the generator's side of the game is computed."""
COMPRESSING_STEPS, STARTING_STEPS = 100, 30
"""Steps of the autoencoder and of the generator's start; they read no case."""


def train_strict(mechanism: OverDictionary, counts: Integers, session: Session) -> State:
    """Take all planned steps, resuming from what was saved."""
    facts = session.facts
    run = StrictGame(mechanism, counts, facts, session.rng)
    if session.saved is None:
        run.begin(torch.tensor(facts["start"], dtype=torch.float64))
    else:
        networks.resume(run.networks, session.saved)
    save = partial(networks.kept, run.networks, facts)
    losses = (run.step() for _ in run.discriminator.remaining())
    session.follow(DISCRIMINATOR, run.discriminator, losses, save)
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
