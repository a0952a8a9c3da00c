"""The diffusion: a case as a point, blurred step by step, and a network that undoes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.dpsgd.sgd import normals, plain
from discreet.mechanisms.ddpm.sizes import TIME_FEATURES
from discreet.mechanisms.generative.dictionary import Dictionary
from discreet.privacy.randomness import Randomness

STEPS = 300
FIRST_BETA, LAST_BETA = 1e-4, 0.02
CASES_AT_ONCE = 4096
"""Cases that are generated together."""

Apply = Callable[[str, Tensor], Tensor]
"""A linear map by its name: `Recorder` while training, plain when generating."""

NoiseIn = Callable[[Tensor, Tensor], Tensor]
"""What a network takes for the noise in points after some steps of blurring."""

BETA = torch.linspace(FIRST_BETA, LAST_BETA, STEPS, dtype=torch.float64)
KEPT = torch.cumprod(1 - BETA, 0)
"""How much of the variance is still the case's own after t steps (the paper's ᾱ)."""


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
