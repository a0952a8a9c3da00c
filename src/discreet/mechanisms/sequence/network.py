"""The network: what comes next in a case, from what came before.

Two terms are added up. The first is linear in the last activity, the activities seen so far and
the position: little to learn, so it is learned under much noise. The second has a memory, a gated
recurrent unit with one gate; it starts at nothing and corrects the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from discreet.arrays import Integers
from discreet.dpsgd.sgd import plain, uniforms
from discreet.mechanisms.sequence.sizes import PHASES
from discreet.privacy.randomness import Randomness

AT_ONCE = 1 << 14
"""Cases that are generated together."""

Apply = Callable[[str, Tensor], Tensor]
"""A linear map by its name: `Recorder` while training, plain when generating."""


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
    """Of each case the negative logarithm of its probability.

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
