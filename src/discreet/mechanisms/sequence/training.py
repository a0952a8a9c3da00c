"""Training of the network by noisy steps, case by case."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.dpsgd.clipping import Factors
from discreet.dpsgd.sgd import PrivateSteps, Recorder, fresh_weights
from discreet.log.variants import Variants
from discreet.mechanisms.generative.base import Session, State, under
from discreet.mechanisms.sequence.network import surprises
from discreet.mechanisms.sequence.sizes import MEMORY, SEQUENCE_NETWORK, sequence_layers
from discreet.privacy.renyi import TrainingPlan
from discreet.privacy.steps import SampledGaussian

LEARNING_RATE, FULL_RATE_STEPS = 0.1, 60
"""Adam's rate, and up to how many steps; beyond it falls, so that noise moves no weight farther."""
LEAST_CLIP, MOST_CLIP = 3.0, 30.0
SHORTEST_ROW = 8
"""Cases are laid out in rows for this length, or for twice, four times, … as much."""
BLOCK_ENTRIES = 1 << 11
"""Symbols that are processed together, about: rows times their length."""


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
        """The chosen cases as rows, and which they are; rows that are nobody's are left blank."""
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


def trained(seen: Variants, spending: SampledGaussian, session: Session) -> State:
    """Train on the cases, resuming from what was saved; the mean of the later weights."""
    facts, rng, watch, saved = session.facts, session.rng, session.watch, session.saved
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

    def save() -> State:
        kept = steps.state() | {f"average/{name}": tensor for name, tensor in average.items()}
        return State({name: tensor.numpy() for name, tensor in kept.items()}, facts)

    if saved is None:
        watch.step(SEQUENCE_NETWORK, 0, plan.steps, math.nan, save)
    for loss in _losses(steps, CaseBlocks(seen)):
        steps.average_later(weights, average)
        watch.step(SEQUENCE_NETWORK, steps.taken, plan.steps, loss, save)
    return State({name: t.numpy().astype(np.float32) for name, t in average.items()}, facts)


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
