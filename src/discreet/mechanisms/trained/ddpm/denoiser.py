"""The diffusion, which blurs a case step by step, and the network that is trained to undo it.

A case is a point. Published training blurs the sampled cases, as the paper does; strict training
blurs every column and weights it by how many sampled cases have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.mechanisms.trained.base import ModelState, Watch, joined, under
from discreet.mechanisms.trained.clipping import Factors
from discreet.mechanisms.trained.dictionary import Dictionary, OverDictionary
from discreet.mechanisms.trained.layers import DENOISER, TIME_FEATURES, denoiser_layers
from discreet.mechanisms.trained.sgd import (
    Apply,
    Optimiser,
    PrivateSteps,
    Recorder,
    Weights,
    calm_rate,
    fresh_weights,
    normals,
    plain,
)
from discreet.privacy.randomness import Randomness, public_coins

# Tuned, by the paper
STEPS = 300
"""Steps of blurring."""
FIRST_BETA, LAST_BETA = 1e-4, 0.02
"""Variance that the first and the last step of blurring add."""

# Tuned, on public logs
CASES_AT_ONCE = 4096
"""Cases generated together."""
CLIP = 1.0
"""Largest norm of a case's gradient; rates are relative to it."""
MOST_DRAWS, MOST_ROWS = 16, 4096
"""Most blurs of a column per step of strict training, and of all columns together."""
DRIFT, PUBLIC_DRIFT = 0.02, 0.3
"""Deviation that the noise of all steps gives a weight, if columns were found or are public. A
start made of noisy counts is worth keeping."""
MOST_TOTAL_RATE = 100.0
"""Largest sum of the learning rates of all strict steps."""

NoiseIn = Callable[[Tensor, Tensor], Tensor]
"""Estimates the noise in points after some steps of blurring."""

BETA = torch.linspace(FIRST_BETA, LAST_BETA, STEPS, dtype=torch.float64)
KEPT = torch.cumprod(1 - BETA, 0)
"""Share of the variance that is still the case's own after t steps (the paper's ᾱ)."""


def time_features(times: Tensor) -> Tensor:
    """Sines and cosines of the step's number at geometric frequencies."""
    half = TIME_FEATURES // 2
    frequency = torch.exp(-math.log(10_000.0) * torch.arange(half) / half)
    angle = (times[..., None] + 1) * frequency
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def network(apply: Apply, points: Tensor, times: Tensor) -> Tensor:
    """The three layers; the last axis of `points` is the columns."""
    features = time_features(times).to(points.dtype)
    hidden = torch.relu(apply("first", torch.cat([points, features], dim=-1)))
    return apply("last", torch.relu(apply("second", hidden)))


def blurred(points: Tensor, times: Tensor, noise: Tensor) -> Tensor:
    """Points after several steps of blurring at once (Equation 3)."""
    kept = KEPT[times][..., None]
    return (kept.sqrt() * points + (1 - kept).sqrt() * noise).to(points.dtype)


def odds(apply: Apply, points: Tensor, times: Tensor) -> Tensor:
    """Logits of the column that a blurred point came from.

    Bayes' rule for the known blur is a linear term; the network adds what depends on the cases:
    the columns' frequencies. With no data at all this is already the right answer up to those.
    """
    kept = KEPT[times][..., None]
    return (kept.sqrt() / (1 - kept)).to(points.dtype) * points + network(apply, points, times)


def noise_from_odds(points: Tensor, times: Tensor, chances: Tensor) -> Tensor:
    """The noise in a point, if its column has these chances (Equation 3 solved for the noise)."""
    kept = KEPT[times][..., None]
    return ((points - kept.sqrt() * chances) / (1 - kept).sqrt()).to(points.dtype)


def generate(noise_in: NoiseIn, columns: int, cases: int, steps: int, rng: Randomness) -> Tensor:
    """Cases, the largest entry of each its column: from pure noise to points (Equations 5, 6).

    With fewer than all steps the blur is undone in longer strides, evenly spaced.
    """
    found = [
        _reverse(noise_in, (min(CASES_AT_ONCE, cases - begin), columns), steps, rng)
        for begin in range(0, cases, CASES_AT_ONCE)
    ]
    return torch.cat(found) if found else torch.zeros(0, columns)


def _reverse(noise_in: NoiseIn, shape: tuple[int, int], steps: int, rng: Randomness) -> Tensor:
    stops = torch.linspace(STEPS - 1, 0, steps).round().long().tolist()
    point = normals(shape, rng)
    for time, following in zip(stops, [*stops[1:], -1], strict=True):
        kept = float(KEPT[time])
        before = float(KEPT[following]) if following >= 0 else 1.0
        alpha = kept / before
        noise = noise_in(point, torch.full(shape[:1], time))
        point = (point - (1 - alpha) / math.sqrt(1 - kept) * noise) / math.sqrt(alpha)
        if following >= 0:
            deviation = math.sqrt((1 - alpha) * (1 - before) / (1 - kept))
            point += deviation * normals(shape, rng)
    return point


def columns_of(
    tensors: Mapping[str, Any],
    columns: Dictionary,
    cases: int,
    strides: int,
    strict: bool,
    rng: Randomness,
) -> Integers:
    """Columns of cases drawn from a trained model; never the one that stands for others."""
    weights = {name: torch.tensor(array, dtype=torch.float32) for name, array in tensors.items()}
    apply = partial(plain, weights)
    shown = len(columns.variants)

    def noise_in(points: Tensor, times: Tensor) -> Tensor:
        if not strict:
            return network(apply, points, times)
        logits = odds(apply, points, times)
        logits[:, shown:] = -torch.inf
        return noise_from_odds(points, times, logits.softmax(1))

    with torch.no_grad():
        points = generate(noise_in, columns.columns, cases, strides, rng)
    found: Integers = points[:, :shown].argmax(1).numpy()
    return found


@dataclass(frozen=True)
class DenoiserSettings:
    """The mechanism's own parameters of training."""

    units: int
    learning_rate: float
    microbatch: int


def trained(
    mechanism: OverDictionary,
    settings: DenoiserSettings,
    counts: Integers,
    facts: dict[str, Any],
    rng: Randomness,
    watch: Watch,
) -> ModelState:
    """Take all planned steps, resuming from what was saved; the weights then are the model."""
    saved = watch.resumed()
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

    def save() -> ModelState:
        kept = joined({"steps": steps.state(), "average": average})
        return ModelState({name: value.numpy().copy() for name, value in kept.items()}, facts)

    if strict:
        losses = strict_steps(steps, counts, average, rng)
    else:
        losses = published_steps(steps, counts, settings.microbatch, rng)
    watch.follow(DENOISER, steps, losses, save)
    final = average if strict else steps.weights
    return ModelState({name: weight.numpy().copy() for name, weight in final.items()}, facts)


def published_steps(
    steps: PrivateSteps, counts: Integers, microbatch: int, rng: Randomness
) -> Iterator[float]:
    """The paper's steps: each sampled case has its own time and noise; the loss is squared error.

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
    """The factors of one case of each column, and its loss."""
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
