"""The network: what comes next in a case, from what came before; and its training, case by case.

Two terms are added up. The first is linear in the last activity, the activities seen so far and
the position: little to learn, so it is learned under much noise. The second has a memory, a gated
recurrent unit with one gate; it starts at nothing and corrects the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.log.variants import Variants
from discreet.mechanisms.trained.base import ModelState, Watch, under
from discreet.mechanisms.trained.clipping import Factors
from discreet.mechanisms.trained.layers import MEMORY, PHASES, SEQUENCE_NETWORK, sequence_layers
from discreet.mechanisms.trained.sgd import (
    Apply,
    PrivateSteps,
    Recorder,
    fresh_weights,
    plain,
    uniforms,
)
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan
from discreet.privacy.steps import SampledGaussian

# Tuned, on public logs; two cores for those of size
AT_ONCE = 1 << 14
"""Cases generated together."""
LEARNING_RATE, FULL_RATE_STEPS = 0.1, 60
"""Adam's rate, and the steps it is kept for; with more it falls, so that noise moves no weight
farther."""
LEAST_CLIP, MOST_CLIP = 3.0, 30.0
"""Range of the clip."""
SHORTEST_ROW = 8
"""Shortest row that a case is laid out in; longer ones have twice the length, four times, …"""
BLOCK_ENTRIES = 1 << 11
"""Symbols processed together: rows times their length, about."""


def phases(positions: Tensor) -> Tensor:
    """The phase of each position."""
    doubled = torch.ceil(torch.log2(positions.clamp_min(1).double())).long() + (positions > 0)
    return doubled.clamp_max(PHASES - 1)


def last_symbols(cases: Tensor, mark: int) -> Tensor:
    """At each position the symbol before it."""
    return torch.cat([torch.full_like(cases[:, :1], mark), cases[:, :-1]], dim=1)


def direct_features(last: Tensor, seen: Tensor, positions: Tensor, symbols: int) -> Tensor:
    """One-hot last symbol, which labels were seen, one-hot phase."""
    one_hot = torch.nn.functional.one_hot
    phase = one_hot(phases(positions), PHASES).expand(*last.shape, PHASES)
    return torch.cat([one_hot(last, symbols).double(), seen, phase.double()], dim=-1)


def advanced(apply: Apply, last: Tensor, memory: Tensor) -> Tensor:
    """The memory after one more symbol, given one-hot."""
    gate, fresh = apply("memory", torch.cat([last, memory], dim=1)).chunk(2, dim=1)
    return torch.lerp(torch.tanh(fresh), memory, torch.sigmoid(gate))


def surprises(apply: Apply, cases: Tensor, mark: int, width: int) -> Tensor:
    """Negative logarithm of the probability of each case.

    `cases` are rows of symbols, ended and filled up by `mark`; what fills up is not counted.
    """
    symbols = mark + 1
    last = last_symbols(cases, mark)
    one_hot = torch.nn.functional.one_hot(last, symbols).double()
    seen = one_hot.cumsum(1).clamp_max(1)[:, :, :mark]
    positions = torch.arange(cases.shape[1])
    logits = apply("direct", direct_features(last, seen, positions, symbols))
    memory = torch.zeros(len(cases), width, dtype=torch.float64)
    memories = []
    for position in range(cases.shape[1]):
        memory = advanced(apply, one_hot[:, position], memory)
        memories.append(memory)
    logits = logits + apply("correction", torch.stack(memories, dim=1))
    counted = (last != mark) | (positions == 0)
    surprise = torch.logsumexp(logits, 2) - logits.gather(2, cases[..., None])[..., 0]
    return (surprise * counted).sum(1)


def written(
    arrays: Mapping[str, npt.NDArray[np.float32]],
    labels: int,
    width: int,
    max_length: int,
    cases: int,
    rng: Randomness,
) -> tuple[Integers, Integers]:
    """Fresh cases of a trained network: their codes one after another, and their lengths."""
    weights = {name: torch.tensor(array, dtype=torch.float64) for name, array in arrays.items()}
    found = [
        _written(
            partial(plain, weights), labels, width, max_length, min(AT_ONCE, cases - begin), rng
        )
        for begin in range(0, cases, AT_ONCE)
    ]
    none = np.zeros(0, dtype=np.int64)
    return (
        np.concatenate([none, *(codes for codes, _ in found)]),
        np.concatenate([none, *(lengths for _, lengths in found)]),
    )


def _written(
    apply: Apply, mark: int, width: int, max_length: int, cases: int, rng: Randomness
) -> tuple[Integers, Integers]:
    symbols = mark + 1
    drawn = torch.full((cases, max_length), mark)
    last = torch.full((cases,), mark)
    seen = torch.zeros(cases, mark, dtype=torch.float64)
    memory = torch.zeros(cases, width, dtype=torch.float64)
    running = torch.arange(cases)
    for position in range(max_length):
        one_hot = torch.nn.functional.one_hot(last, symbols).double()
        memory = advanced(apply, one_hot, memory)
        features = direct_features(last, seen, torch.tensor(position), symbols)
        logits = apply("direct", features) + apply("correction", memory)
        if position == 0:
            logits[:, mark] = -torch.inf
        reach = torch.softmax(logits, 1).cumsum(1)
        point = uniforms((len(running), 1), rng) * reach[:, -1:]
        last = (reach < point).sum(1).clamp_max(mark)
        drawn[running, position] = last
        going = last != mark
        running, last, memory, seen = running[going], last[going], memory[going], seen[going]
        if not len(running):
            break
        seen[torch.arange(len(last)), last] = 1.0
    lengths = (drawn != mark).sum(1)
    return drawn[drawn != mark].numpy(), lengths.numpy()


class CaseBlocks:
    """The distinct cases of a log in blocks of rows of one length, ended and filled up by a mark.

    Blocks have a fixed number of rows for their length, so that what is computed for a case does
    not depend on how many others there are.
    """

    def __init__(self, log: Variants) -> None:
        self.mark = len(log.activities)
        self.counts = log.counts.astype(np.int64)
        self._codes = torch.from_numpy(log.codes.astype(np.int64))
        self._offsets = torch.from_numpy(log.offsets)
        self._row = (
            2 ** np.ceil(np.log2(np.maximum(log.lengths, SHORTEST_ROW))).astype(np.int64) + 1
        )

    def blocks(self, chosen: Integers) -> Iterator[tuple[Tensor, Integers]]:
        """The chosen cases as rows, with their numbers; rows without a case are blank."""
        for length in np.unique(self._row[chosen]).tolist():
            same = chosen[self._row[chosen] == length]
            height = max(1, BLOCK_ENTRIES // length)
            for begin in range(0, len(same), height):
                block = same[begin : begin + height]
                yield self._rows(torch.from_numpy(block), height, length), block

    def _rows(self, block: Tensor, height: int, length: int) -> Tensor:
        rows = torch.full((height, length), self.mark)
        begin, end = self._offsets[block], self._offsets[block + 1]
        place = begin[:, None] + torch.arange(length)
        inside = place < end[:, None]
        rows[: len(block)][inside] = self._codes[place[inside]]
        return rows


def trained(
    seen: Variants, spending: SampledGaussian, facts: dict[str, Any], rng: Randomness, watch: Watch
) -> ModelState:
    """Train on the cases, resuming from what was saved; the mean of the later weights."""
    saved = watch.resumed()
    plan = spending.plan
    sizes = sequence_layers(len(seen.activities), MEMORY)
    weights = fresh_weights(sizes, rng, torch.float64)
    for name in ("direct", "correction"):
        weights[name].zero_()
    rate = LEARNING_RATE * min(1.0, math.sqrt(FULL_RATE_STEPS / plan.steps))
    steps = PrivateSteps(
        weights,
        spending,
        clip=clip_for(plan, facts["trained_on"]),
        expected_cases=float(plan.sampling_rate) * facts["trained_on"],
        optimiser=partial(torch.optim.Adam, lr=rate),
        rng=rng,
    )
    average = {name: weight.clone() for name, weight in weights.items()}
    if saved is not None:
        steps.restore(saved.tensors)
        for name, array in under("average", saved.tensors).items():
            average[name] = torch.tensor(array)

    def save() -> ModelState:
        kept = steps.state() | {f"average/{name}": tensor for name, tensor in average.items()}
        return ModelState({name: tensor.numpy() for name, tensor in kept.items()}, facts)

    if saved is None:
        watch.step(SEQUENCE_NETWORK, 0, plan.steps, math.nan, save)
    for loss in _losses(steps, CaseBlocks(seen)):
        steps.average_later(weights, average)
        watch.step(SEQUENCE_NETWORK, steps.taken, plan.steps, loss, save)
    return ModelState({name: t.numpy().astype(np.float32) for name, t in average.items()}, facts)


def clip_for(plan: TrainingPlan, cases: int) -> float:
    """A larger clip where cases outweigh the noise: it favours usual cases less.

    Where it is small almost every gradient is cut to one length, so that a few ways through the
    process crowd out the others; where it is large the noise is. Reads public and noisy numbers.
    """
    signal = cases * float(plan.sampling_rate) * math.sqrt(plan.steps) / plan.noise_multiplier
    return min(MOST_CLIP, max(LEAST_CLIP, 0.45 * math.sqrt(signal)))


def _losses(steps: PrivateSteps, cases: CaseBlocks) -> Iterator[float]:
    """Take the steps that are left; yields the raw surprise per case after each."""
    for _ in steps.remaining():
        taken = steps.sample_counts(cases.counts)
        surprise = 0.0
        sums: list[Tensor] | None = None
        for rows, block in cases.blocks(np.flatnonzero(taken)):
            factors, losses = case_factors(steps.weights, rows, cases.mark)
            counts = np.pad(taken[block], (0, len(rows) - len(block)))
            part = steps.bounded(factors, counts)
            sums = part if sums is None else [a + b for a, b in zip(sums, part, strict=True)]
            surprise += float(losses @ torch.from_numpy(counts).double())
        steps.step_from(sums)
        yield surprise / max(1, int(taken.sum()))


def case_factors(
    weights: dict[str, Tensor], rows: Tensor, mark: int
) -> tuple[dict[str, Factors], Tensor]:
    """What each case would do to the weights, and its loss."""
    run = Recorder(weights)
    losses = surprises(run, rows, mark, MEMORY)
    return run.factors(losses.sum()), losses.detach()
