"""The networks' linear maps, known without torch, so that a model's file can be checked.

A map has a name, a number of inputs and a number of outputs; its tensor has a further column for
the bias. Names of networks are names of noisy steps: certificates and checkpoints hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Layers = dict[str, tuple[int, int]]
"""Inputs and outputs of linear maps by name."""


def check_layers(tensors: Mapping[str, npt.NDArray[Any]], layers: Layers) -> None:
    """Raise unless the tensors are exactly these linear maps with a bias, in single precision."""
    found = {name: tensor.shape for name, tensor in tensors.items()}
    shapes = {name: (outputs, inputs + 1) for name, (inputs, outputs) in layers.items()}
    if found != shapes:
        raise ValueError(f"expected tensors {shapes}, found {found}")
    if any(tensor.dtype != np.float32 for tensor in tensors.values()):
        raise ValueError("its tensors are not of single precision")


SEQUENCE_NETWORK = "network"

# Tuned, on public logs
MEMORY = 8
"""Units of memory of the recurrent network."""
PHASES = 8
"""Classes of positions: 0, 1, 2, 3–4, 5–8, …, more than 32."""


def sequence_layers(labels: int, width: int = MEMORY) -> Layers:
    """Inputs and outputs of each map; the symbol after the last label is start and end."""
    symbols = labels + 1
    return {
        "direct": (symbols + labels + PHASES, symbols),
        "memory": (symbols + width, 2 * width),
        "correction": (width, symbols),
    }


DENOISER = "denoiser"

# Tuned
TIME_FEATURES = 32
"""Sines and cosines that encode the step of the diffusion."""


def denoiser_layers(columns: int, width: int) -> Layers:
    """Three linear layers: from point and time to noise, or to the odds of each column."""
    return {
        "first": (columns + TIME_FEATURES, width),
        "second": (width, width),
        "last": (width, columns),
    }


DECODER, DISCRIMINATOR = "decoder", "discriminator"

# Tuned, by the paper
LATENT = 128
"""Entries of a compressed case, and of the noise that a generated case starts from."""


def encoder_layers(columns: int) -> Layers:
    """Two layers: from a case's columns to its compressed form."""
    middle = (columns + LATENT) // 2
    return {"first": (columns, middle), "last": (middle, LATENT)}


def decoder_layers(columns: int) -> Layers:
    """Two layers: from the compressed form back to the columns."""
    middle = (columns + LATENT) // 2
    return {"first": (LATENT, middle), "last": (middle, columns)}


def generator_layers() -> Layers:
    """Three layers; each adds to its input."""
    return dict.fromkeys(("first", "second", "last"), (LATENT, LATENT))


def discriminator_layers(columns: int) -> Layers:
    """Three layers: from a case's columns to one number."""
    wide, narrow = max(1, 2 * columns // 3), max(1, columns // 3)
    return {"first": (columns, wide), "second": (wide, narrow), "last": (narrow, 1)}
