"""DDPM on Sepsis: an epoch of exact noisy steps against Opacus' hooks, sampling, and memory."""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from discreet.log.loading import read_log
from discreet.mechanisms.trained.ddpm import DDPM
from discreet.mechanisms.trained.ddpm.denoiser import (
    STEPS,
    blurred,
    columns_of,
    published_steps,
    time_features,
)
from discreet.mechanisms.trained.dictionary import Dictionary
from discreet.mechanisms.trained.layers import TIME_FEATURES, denoiser_layers
from discreet.mechanisms.trained.sgd import PrivateSteps, fresh_weights
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan
from discreet.privacy.steps import SampledGaussian

RATES = (Fraction(1, 4), Fraction(1, 16), Fraction(1, 2))
NOISE = 2.0
PAPER_SECONDS = 406.0
"""The authors' time to sample a log of the size of Sepsis on a processor."""


class Denoiser(nn.Module):
    """The same network in torch's own layers."""

    def __init__(self, columns: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(columns + TIME_FEATURES, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, columns)

    def forward(self, points: Tensor, times: Tensor) -> Tensor:
        """The noise in blurred points."""
        hidden = torch.relu(self.first(torch.cat([points, time_features(times)], dim=-1)))
        noise: Tensor = self.last(torch.relu(self.second(hidden)))
        return noise


def ours(counts: np.ndarray, width: int, rate: Fraction) -> Callable[[], None]:
    """One epoch by our steps: exact sums, discrete noise from the operating system."""
    rng = Randomness.system()
    weights = fresh_weights(denoiser_layers(len(counts), width), rng)

    def epoch() -> None:
        steps = PrivateSteps(
            weights,
            SampledGaussian("training", TrainingPlan(rate, round(1 / rate), NOISE)),
            clip=1.0,
            expected_cases=float(counts.sum() * rate),
            optimiser=partial(torch.optim.Adam, lr=0.005),
            rng=rng,
        )
        for _ in published_steps(steps, counts, 1, rng):
            pass

    return epoch


def theirs(counts: np.ndarray, width: int, rate: Fraction) -> Callable[[], None]:
    """One epoch by Opacus' default: hooks that write out every case's gradient."""
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    columns, cases = len(counts), int(counts.sum())
    column_of = torch.from_numpy(np.repeat(np.arange(columns), counts))
    model = GradSampleModule(Denoiser(columns, width))
    optimiser = DPOptimizer(
        torch.optim.Adam(model.parameters(), lr=0.005),
        noise_multiplier=NOISE,
        max_grad_norm=1.0,
        expected_batch_size=max(1, int(cases * rate)),
    )

    def epoch() -> None:
        for _ in range(round(1 / rate)):
            chosen = column_of[torch.rand(cases) < float(rate)]
            points = nn.functional.one_hot(chosen, columns).float()
            times, noise = torch.randint(STEPS, (len(chosen),)), torch.randn_like(points)
            optimiser.zero_grad()
            error = model(blurred(points, times, noise), times) - noise
            error.square().mean(1).mean().backward()
            optimiser.step()

    return epoch


def seconds(run: Callable[[], None], repetitions: int = 3) -> float:
    """The best of some runs, after one to warm up."""
    run()
    found = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return min(found)


def main() -> None:
    """Print ratios, all of one run."""
    folder = Path(os.environ.get("DISCREET_LOGS", "../shared/logs"))
    if not folder.is_dir():
        sys.exit(f"no real logs in {folder}; name their folder in DISCREET_LOGS")
    log = read_log(folder / "Sepsis.xes.gz")
    mechanism = DDPM(fidelity="published")
    columns = Dictionary.of(log.variants, other=False)
    counts, width = columns.counts(log.variants), mechanism.units
    print(f"Sepsis: {log.cases} cases, {columns.columns} columns, hidden layers of {width} units")

    weights = fresh_weights(denoiser_layers(columns.columns, width), Randomness.system())
    tensors = {name: weight.numpy() for name, weight in weights.items()}
    begin = time.perf_counter()
    columns_of(tensors, columns, log.cases, STEPS, False, Randomness.system())
    spent = time.perf_counter() - begin
    print(f"sampling a log of {log.cases} cases: {spent:.1f} s (the authors: {PAPER_SECONDS:g} s)")
    own = [seconds(ours(counts, width, rate)) for rate in RATES]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"memory at most, training and sampling: {memory:.2f} GB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rate, mine in zip(RATES, own, strict=True):
            peer = seconds(theirs(counts, width, rate))
            batch = round(log.cases * rate)
            print(
                f"an epoch in batches of about {batch}: {mine:.2f} s, Opacus' hooks {peer:.2f} s, "
                f"{peer / mine:.1f} times as fast"
            )


if __name__ == "__main__":
    main()
