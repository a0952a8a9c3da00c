"""The networks' linear maps; known without torch, so that a model's file can be checked."""

from __future__ import annotations

DECODER, DISCRIMINATOR = "decoder", "discriminator"
LATENT = 128
"""Entries of a compressed case, and of the noise that a generated one begins with."""

Sizes = dict[str, tuple[int, int]]


def encoder_sizes(columns: int) -> Sizes:
    """Two layers: from a case's columns to its compressed form."""
    middle = (columns + LATENT) // 2
    return {"first": (columns, middle), "last": (middle, LATENT)}


def decoder_sizes(columns: int) -> Sizes:
    """Two layers back."""
    middle = (columns + LATENT) // 2
    return {"first": (LATENT, middle), "last": (middle, columns)}


def generator_sizes() -> Sizes:
    """Three layers, each of which adds to what it is given."""
    return dict.fromkeys(("first", "second", "last"), (LATENT, LATENT))


def discriminator_sizes(columns: int) -> Sizes:
    """Three layers: from a case's columns to one number."""
    wide, narrow = max(1, 2 * columns // 3), max(1, columns // 3)
    return {"first": (columns, wide), "second": (wide, narrow), "last": (narrow, 1)}
