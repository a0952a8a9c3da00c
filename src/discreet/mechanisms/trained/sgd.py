"""Noisy gradient steps: Poisson samples, bounded parts, exact noise, an optimiser behind it.

`PrivateSteps` is the only thing that brings data into weights. A step samples cases, bounds and
adds up their gradients in integers (`clipping`), adds discrete Gaussian noise from the operating
system, divides by a *public* expected number of cases and hands the result to an ordinary
optimiser. All that comes after the noise is post-processing: momentum, moments, learning rates,
averages. A sample without any case is a step of noise like any other. What the steps cost is
in `privacy/renyi.py`; a step beyond the plan is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.mechanisms.trained.clipping import Factors, exact_sum, grid_bound
from discreet.privacy.randomness import Randomness, public_coins
from discreet.privacy.renyi import TrainingPlan
from discreet.privacy.steps import SampledGaussian

Weights = dict[str, Tensor]
"""Linear maps by name, out × (in + 1), the bias last."""
Apply = Callable[[str, Tensor], Tensor]
"""Applies a linear map by its name: a `Recorder` in training, `plain` for generating."""
Optimiser = Callable[[Iterable[Tensor]], torch.optim.Optimizer]
"""Makes an optimiser of these weights."""

# Tuned, on two cores
WORTH_A_THREAD = 1 << 16
"""Weights from which on a thread draws noise ahead and several threads multiply."""


class Recorder:
    """Applies linear maps and remembers how each was used, for gradients case by case.

    The first axis of whatever is passed is the cases. The weights themselves need no gradient.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._weights = weights
        self._uses: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in weights}

    def __call__(self, name: str, inputs: Tensor) -> Tensor:
        """W·[inputs, 1]; inputs are cases × in, or cases × uses × in."""
        weight = self._weights[name]
        output = inputs @ weight[:, :-1].T + weight[:, -1]
        if not output.requires_grad:
            output.requires_grad_()
        self._uses[name].append((inputs.detach(), output))
        return output

    def factors(self, loss: Tensor) -> dict[str, Factors]:
        """Inputs and backprops of every map; `loss` is the sum over cases of their losses."""
        outputs = [output for uses in self._uses.values() for _, output in uses]
        found = iter(torch.autograd.grad(loss, outputs, allow_unused=True))
        return {
            name: _stacked([(inputs, next(found), output) for inputs, output in uses])
            for name, uses in self._uses.items()
            if uses
        }


def _stacked(uses: list[tuple[Tensor, Tensor | None, Tensor]]) -> Factors:
    """Uses of one map side by side, with the constant input of the bias."""
    inputs, backprops = [], []
    for given, backprop, output in uses:
        if backprop is None:
            backprop = torch.zeros_like(output)
        flat = given.unsqueeze(1) if given.dim() == 2 else given
        inputs.append(torch.cat([flat, torch.ones_like(flat[:, :, :1])], dim=2))
        backprops.append(backprop.unsqueeze(1) if backprop.dim() == 2 else backprop)
    if len(inputs) == 1:
        return Factors(inputs[0], backprops[0])
    return Factors(torch.cat(inputs, dim=1), torch.cat(backprops, dim=1))


def plain(weights: Mapping[str, Tensor], name: str, inputs: Tensor) -> Tensor:
    """W·[inputs, 1] without a record, for generating."""
    weight = weights[name]
    return inputs @ weight[:, :-1].T + weight[:, -1]


def fresh_weights(
    sizes: Mapping[str, tuple[int, int]], rng: Randomness, dtype: torch.dtype = torch.float32
) -> Weights:
    """Uniform weights within ±1/√in, as torch's own layers start; reads nothing."""
    return {
        name: ((uniforms((out, inputs + 1), rng) * 2 - 1) / inputs**0.5).to(dtype)
        for name, (inputs, out) in sizes.items()
    }


def uniforms(shape: tuple[int, ...], rng: Randomness) -> Tensor:
    """Uniform numbers in (0, 1) for starts and samples; privacy never rests on them."""
    size = int(np.prod(shape))
    words = public_coins(rng).words(-(-size // 2)).view(np.uint32)[:size]
    return torch.from_numpy((words + 0.5) / 2**32).reshape(shape)


def normals(shape: tuple[int, ...], rng: Randomness) -> Tensor:
    """Standard normal numbers for starts and samples; privacy never rests on them."""
    seed = int(public_coins(rng).words(1)[0] >> np.uint64(1))
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def calm_rate(
    plan: TrainingPlan, clip: float, expected_cases: float, drift: float, most: float
) -> float:
    """A learning rate with which the noise of all steps together moves a weight by `drift`.

    The rates of all steps add up to `most` at the most. Reads public numbers only.
    """
    moved = plan.noise_multiplier * clip * math.sqrt(plan.steps) / expected_cases
    return min(most / plan.steps, drift / moved)


class Steps:
    """Weights, the optimiser that moves them and how often it did; can be kept and resumed."""

    def __init__(self, weights: Weights, optimiser: Optimiser) -> None:
        self.weights = weights
        self.taken = 0
        self._optimiser = optimiser(list(weights.values()))

    def leaves(self) -> Weights:
        """The weights as autograd sees them: the same memory, with gradients."""
        return {name: weight.detach().requires_grad_() for name, weight in self.weights.items()}

    def apply(self, gradients: Mapping[str, Tensor]) -> None:
        """Move the weights by what the optimiser makes of these gradients."""
        for name, weight in self.weights.items():
            weight.grad = gradients[name].to(weight.dtype)
        self._optimiser.step()
        self.taken += 1

    def state(self) -> dict[str, Tensor]:
        """Weights, the optimiser's memory and the steps taken: enough to continue later."""
        found = {f"weight/{name}": weight for name, weight in self.weights.items()}
        for name, weight in self.weights.items():
            for key, value in self._optimiser.state.get(weight, {}).items():
                if value is not None:
                    found[f"optimiser/{key}/{name}"] = torch.as_tensor(value)
        found["taken"] = torch.tensor(self.taken)
        return {key: value.detach().clone().contiguous() for key, value in found.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from an earlier `state`."""
        self.taken = int(state["taken"])
        for name, weight in self.weights.items():
            weight.copy_(torch.as_tensor(state[f"weight/{name}"]))
            memory = self._optimiser.state[weight]
            for key, value in state.items():
                kind, _, rest = key.partition("/")
                if kind == "optimiser" and rest.partition("/")[2] == name:
                    memory[rest.partition("/")[0]] = torch.as_tensor(value).clone()


class PrivateSteps(Steps):
    """The steps of one network, as many and as noisy as a step of the mechanism's spending says."""

    def __init__(
        self,
        weights: Weights,
        spending: SampledGaussian,
        *,
        clip: float,
        expected_cases: float,
        optimiser: Optimiser,
        rng: Randomness,
    ) -> None:
        if not expected_cases > 0:
            raise ValueError("the expected number of cases in a sample must be positive")
        super().__init__(weights, optimiser)
        self.plan = plan = spending.plan
        self.clip = clip
        self._expected = expected_cases
        self._rng = rng
        self.bound = grid_bound(plan.noise_multiplier)
        self.noise = spending.noise(self.bound**2)
        self._size = sum(weight.numel() for weight in weights.values())
        self._worker = ThreadPoolExecutor(1)
        self._ahead = self._drawn_ahead()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from an earlier `state` of the same plan."""
        if not 0 <= int(state["taken"]) <= self.plan.steps:
            raise ValueError(f"no plan of {self.plan.steps} steps was left after {state['taken']}")
        super().restore(state)

    @property
    def left(self) -> int:
        """How many steps the plan still allows."""
        return self.plan.steps - self.taken

    def remaining(self) -> Iterator[int]:
        """Continue as long as the plan allows, meanwhile with as many processors as are of use.

        Small products gain nothing by a second one, and threads that wait for each other crawl
        where something else runs beside them: one for small networks, and of large ones one is
        left to the thread that draws noise.
        """
        threads = torch.get_num_threads()
        if self._size < WORTH_A_THREAD:
            torch.set_num_threads(1)
        elif self._ahead is not None:
            torch.set_num_threads(max(1, threads - 1))
        try:
            while self.left:
                yield self.left
        finally:
            torch.set_num_threads(threads)

    def average_later(self, weights: Weights, average: Weights) -> None:
        """Keep in `average` the mean of these weights over the second half of the plan."""
        share = 1 / max(1, self.taken - self.plan.steps // 2)
        for name, weight in weights.items():
            average[name].lerp_(weight, share)

    def sample(self, cases: int) -> Integers:
        """Positions of the cases of one step: each with the sampling rate, independently."""
        rate = self.plan.sampling_rate
        if rate == 1:
            return np.arange(cases)
        drawn = self._rng.integers(rate.denominator, cases)
        return np.flatnonzero(drawn < rate.numerator)

    def sample_counts(self, counts: Integers) -> Integers:
        """How many of the cases of each kind a step takes, every case on its own."""
        if self.plan.sampling_rate == 1:
            return counts
        kind = np.repeat(np.arange(len(counts)), counts)
        return np.bincount(kind[self.sample(len(kind))], minlength=len(counts))

    def step(
        self,
        factors: Mapping[str, Factors] | None,
        counts: Integers | None = None,
        public: Mapping[str, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """One noisy step from what the sampled cases did; None where the sample is empty.

        `counts` says how many equal cases each row stands for; `public` are gradients of a loss
        that reads no case, added after the noise. Returns the noisy gradients, which are as
        public as the weights.
        """
        return self.step_from(self.bounded(factors, counts) if factors else None, public)

    def step_from(
        self, sums: Sequence[Tensor] | None, public: Mapping[str, Tensor] | None = None
    ) -> dict[str, Tensor]:
        """One noisy step from the sums of `bounded`, of one block of cases or added up."""
        if self.left <= 0:
            raise RuntimeError(f"all {self.plan.steps} steps of the plan were taken")
        noisy = self._noised(sums)
        unit = self.clip / self.bound / self._expected
        gradients = {}
        for name, weight in self.weights.items():
            found = noisy[name] * unit
            gradients[name] = (found if public is None else found + public[name]).to(weight.dtype)
        self.apply(gradients)
        return gradients

    def bounded(
        self, factors: Mapping[str, Factors], counts: Integers | None = None
    ) -> list[Tensor]:
        """Integer sums of the cases' bounded parts, not yet noisy, weight by weight."""
        weighted = None if counts is None else torch.from_numpy(counts)
        return exact_sum([factors[name] for name in self.weights], self.clip, self.bound, weighted)

    def _noised(self, sums: Sequence[Tensor] | None) -> dict[str, Tensor]:
        flat = torch.zeros(self._size, dtype=torch.float64)
        if sums is not None:
            torch.cat([total.ravel() for total in sums], out=flat)
        noisy = torch.from_numpy(self.noise.joined(flat.numpy(), self._drawn()))
        parts = torch.split(noisy, [weight.numel() for weight in self.weights.values()])
        return {
            name: part.reshape(weight.shape)
            for (name, weight), part in zip(self.weights.items(), parts, strict=True)
        }

    def _drawn(self) -> Integers:
        """The noise of this step; that of the next one is drawn from now on."""
        noise = self._draw() if self._ahead is None else self._ahead.result()
        self._ahead = self._drawn_ahead() if self.left > 1 else None
        return noise

    def _draw(self) -> Integers:
        return self.noise.draw(self._size, self._rng)

    def _drawn_ahead(self) -> Future[Integers] | None:
        """Much noise is drawn by a thread of its own, while a step's gradients are computed.

        Only the operating system can be asked by two threads at once.
        """
        if not self._rng.secure or self._size < WORTH_A_THREAD:
            return None
        return self._worker.submit(self._draw)
