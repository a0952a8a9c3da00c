"""Training of the denoiser: as the paper does, and on columns and their counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.dpsgd.clipping import Factors
from discreet.dpsgd.sgd import (
    Optimiser,
    PrivateSteps,
    Recorder,
    Weights,
    calm_rate,
    fresh_weights,
    normals,
)
from discreet.mechanisms.ddpm.diffusion import STEPS, blurred, network, odds
from discreet.mechanisms.ddpm.sizes import DENOISER, denoiser_layers
from discreet.mechanisms.generative.base import Session, State, joined, under
from discreet.mechanisms.generative.over_dictionary import OverDictionary
from discreet.privacy.randomness import Randomness, public_coins

CLIP = 1.0
MOST_DRAWS, MOST_ROWS = 16, 4096
"""How often each column is blurred per step, in strict training, and how many blurs that may be."""
DRIFT, PUBLIC_DRIFT = 0.02, 0.3
"""How far all the noise may move a weight: the start made of noisy counts is worth keeping."""
MOST_TOTAL_RATE = 100.0
"""Learning rates of all strict steps together are at most this."""


@dataclass(frozen=True)
class DenoiserSettings:
    """What the mechanism's own parameters say of its training."""

    units: int
    learning_rate: float
    microbatch: int


def trained(
    mechanism: OverDictionary, settings: DenoiserSettings, counts: Integers, session: Session
) -> State:
    """Take all planned steps, resuming from what was saved; the weights then are the model."""
    facts, rng, saved = session.facts, session.rng, session.saved
    spending = mechanism.noisy_step(DENOISER)
    plan = spending.plan
    expected = facts["trained_on"] * float(plan.sampling_rate)
    weights = fresh_weights(denoiser_layers(len(counts), settings.units), rng)
    strict = mechanism.fidelity == "strict"
    if strict:
        start = torch.tensor(facts["start"])
        weights["last"][:, :-1] = 0
        weights["last"][:, -1] = (start / start.sum()).log()
        drift = DRIFT if mechanism.dictionary is None else PUBLIC_DRIFT
        rate = calm_rate(plan, CLIP, expected, drift, MOST_TOTAL_RATE)
        optimiser: Optimiser = partial(torch.optim.SGD, lr=rate)
    else:
        optimiser = partial(torch.optim.Adam, lr=settings.learning_rate)
    steps = PrivateSteps(
        weights, spending, clip=CLIP, expected_cases=expected, optimiser=optimiser, rng=rng
    )
    average = {name: weight.clone() for name, weight in weights.items()}
    if saved is not None:
        steps.restore(under("steps", saved.tensors))
        for name, array in under("average", saved.tensors).items():
            average[name] = torch.tensor(array)

    def save() -> State:
        kept = joined({"steps": steps.state(), "average": average})
        return State({name: value.numpy().copy() for name, value in kept.items()}, facts)

    if strict:
        losses = strict_steps(steps, counts, average, rng)
    else:
        losses = published_steps(steps, counts, settings.microbatch, rng)
    session.follow(DENOISER, steps, losses, save)
    final = average if strict else steps.weights
    return State({name: weight.numpy().copy() for name, weight in final.items()}, facts)


def published_steps(
    steps: PrivateSteps, counts: Integers, microbatch: int, rng: Randomness
) -> Iterator[float]:
    """The paper's: each sampled case with a time and noise of its own, squared error of the noise.

    Yields the raw loss of each step. Cases are clipped by microbatch.
    """
    columns = len(counts)
    column_of = np.repeat(np.arange(columns), counts)
    for _ in steps.remaining():
        chosen = steps.sample(len(column_of))
        chosen = chosen[rng.permutation(len(chosen))] if microbatch > 1 else chosen
        groups = len(chosen) // microbatch
        chosen = chosen[: groups * microbatch]
        if groups == 0:
            steps.step(None)
            yield float("nan")
            continue
        points = torch.nn.functional.one_hot(torch.from_numpy(column_of[chosen]), columns).float()
        points = points.reshape(groups, microbatch, columns)
        times = torch.from_numpy(rng.integers(STEPS, len(chosen))).reshape(groups, microbatch)
        noise = normals((groups, microbatch, columns), rng)
        run = Recorder(steps.weights)
        error = (network(run, blurred(points, times, noise), times) - noise).square().mean(2)
        loss = error.mean(1).sum()
        steps.step(run.factors(loss))
        yield float(loss.detach()) / groups


def strict_steps(
    steps: PrivateSteps, counts: Integers, average: Weights, rng: Randomness
) -> Iterator[float]:
    """Every column blurred several times, weighted by how many sampled cases have it.

    What a case does to the weights is thus a function of its column and of public things alone.
    The loss is the surprise at the true column. `average` receives the mean of the later weights.
    """
    columns = len(counts)
    draws = max(1, min(MOST_DRAWS, MOST_ROWS // columns))
    points = torch.eye(columns)[:, None].expand(columns, draws, columns)
    rows = torch.arange(columns)[:, None].expand(columns, draws)
    for _ in steps.remaining():
        sampled = steps.sample_counts(counts)
        factors, losses = column_factors(steps.weights, points, rows, rng)
        steps.step(factors, sampled)
        steps.average_later(steps.weights, average)
        yield float(losses.double() @ torch.from_numpy(sampled).double()) / max(1, sampled.sum())


def column_factors(
    weights: Weights, points: Tensor, rows: Tensor, rng: Randomness
) -> tuple[dict[str, Factors], Tensor]:
    """What one case of each column would do to the weights, and its loss."""
    columns, draws = rows.shape
    first = public_coins(rng).integers(STEPS, columns)[:, None]
    spread = np.arange(draws) * STEPS // draws
    times = torch.from_numpy((first + spread) % STEPS)
    noise = normals((columns, draws, columns), rng)
    run = Recorder(weights)
    logits = odds(run, blurred(points, times, noise), times)
    surprise = torch.logsumexp(logits, 2) - logits.gather(2, rows[..., None])[..., 0]
    losses = surprise.mean(1)
    return run.factors(losses.sum()), losses.detach()
