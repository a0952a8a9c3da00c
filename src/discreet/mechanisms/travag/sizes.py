"""The networks' linear maps; known without torch, so that a model's file can be checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

DECODER, DISCRIMINATOR = "decoder", "discriminator"
LATENT = 128
"""Entries of a compressed case, and of the noise that a generated one begins with."""

Layers = dict[str, tuple[int, int]]


def encoder_layers(columns: int) -> Layers:
    """Two layers: from a case's columns to its compressed form."""
    middle = (columns + LATENT) // 2
    return {"first": (columns, middle), "last": (middle, LATENT)}


def decoder_layers(columns: int) -> Layers:
    """Two layers back."""
    middle = (columns + LATENT) // 2
    return {"first": (LATENT, middle), "last": (middle, columns)}


def generator_layers() -> Layers:
    """Three layers, each of which adds to what it is given."""
    return dict.fromkeys(("first", "second", "last"), (LATENT, LATENT))


def discriminator_layers(columns: int) -> Layers:
    """Three layers: from a case's columns to one number."""
    wide, narrow = max(1, 2 * columns // 3), max(1, columns // 3)
    return {"first": (columns, wide), "second": (wide, narrow), "last": (narrow, 1)}


def check_layers(
    tensors: Mapping[str, npt.NDArray[Any]], layers: Mapping[str, tuple[int, int]]
) -> None:
    """Raise unless the tensors are exactly these linear maps with a bias, in single precision."""
    found = {name: tensor.shape for name, tensor in tensors.items()}
    shapes = {name: (outputs, inputs + 1) for name, (inputs, outputs) in layers.items()}
    if found != shapes:
        raise ValueError(f"expected tensors {shapes}, found {found}")
    if any(tensor.dtype != np.float32 for tensor in tensors.values()):
        raise ValueError("its tensors are not of single precision")
