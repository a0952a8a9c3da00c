"""The four networks, and how cases are generated from two of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.mechanisms.trained.base import ModelState, joined, under
from discreet.mechanisms.trained.dictionary import Dictionary
from discreet.mechanisms.trained.layers import LATENT
from discreet.mechanisms.trained.sgd import Apply, Steps, Weights, normals, plain, uniforms
from discreet.privacy.randomness import Randomness

# Tuned
CASES_AT_ONCE = 8192
"""Cases generated together."""
LEAK_SLOPE = 0.3
"""Slope of the discriminator's leaky units below 0."""


def encode(apply: Apply, cases: Tensor) -> Tensor:
    """Compress cases."""
    return torch.tanh(apply("last", torch.tanh(apply("first", cases))))


def decode(apply: Apply, latent: Tensor) -> Tensor:
    """Log-odds of each column."""
    return apply("last", torch.tanh(apply("first", latent)))


def generate(apply: Apply, noise: Tensor) -> Tensor:
    """Compressed cases made from noise; each layer adds to its input."""
    hidden = noise + torch.tanh(apply("first", noise))
    hidden = hidden + torch.tanh(apply("second", hidden))
    return torch.tanh(apply("last", hidden))


def discriminate(apply: Apply, cases: Tensor) -> Tensor:
    """A number for each case, higher for real ones."""
    hidden = torch.nn.functional.leaky_relu(apply("first", cases), LEAK_SLOPE)
    hidden = torch.nn.functional.leaky_relu(apply("second", hidden), LEAK_SLOPE)
    return apply("last", hidden)[..., 0]


def columns_of(
    tensors: Mapping[str, Any], columns: Dictionary, cases: int, strict: bool, rng: Randomness
) -> Integers:
    """Columns of cases drawn from a trained model; never the one that stands for others.

    strict draws a column by the decoder's odds; published takes the likeliest, as the paper does.
    """
    weights = {name: torch.tensor(array, dtype=torch.float32) for name, array in tensors.items()}
    generator, decoder = (
        partial(plain, under(network, weights)) for network in ("generator", "decoder")
    )
    shown = len(columns.variants)
    found = [np.zeros(0, dtype=np.int64)]
    with torch.no_grad():
        for begin in range(0, cases, CASES_AT_ONCE):
            noise = normals((min(CASES_AT_ONCE, cases - begin), LATENT), rng)
            odds = decode(decoder, generate(generator, noise))[:, :shown]
            if strict:
                reached = odds.double().softmax(1).cumsum(1)
                drawn = uniforms((len(odds), 1), rng) * reached[:, -1:]
                chosen = (reached < drawn).sum(1)
            else:
                chosen = odds.argmax(1)
            found.append(chosen.numpy())
    return np.concatenate(found)


def kept(networks: Mapping[str, Steps], facts: dict[str, Any]) -> ModelState:
    """Training under way, for a checkpoint."""
    states = joined({network: steps.state() for network, steps in networks.items()})
    return ModelState({name: value.numpy() for name, value in states.items()}, facts)


def resume(networks: Mapping[str, Steps], saved: ModelState) -> None:
    """Continue from a state that `kept` returned."""
    for network, steps in networks.items():
        steps.restore(under(network, saved.tensors))


def model_of(weights: Weights, facts: dict[str, Any]) -> ModelState:
    """What is needed to generate: generator and decoder, as `joined` names their weights."""
    return ModelState({name: weight.numpy().copy() for name, weight in weights.items()}, facts)
