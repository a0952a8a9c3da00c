"""The network's linear maps; known without torch, so that a model's file can be checked."""

from __future__ import annotations

SEQUENCE_NETWORK = "network"
MEMORY = 8
"""Units of memory."""
PHASES = 8
"""Positions 0, 1, 2, 3–4, 5–8, …, more than 32 are told apart."""


def sequence_layers(labels: int, width: int = MEMORY) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of each map; the symbol after the last label is start and end."""
    symbols = labels + 1
    return {
        "direct": (symbols + labels + PHASES, symbols),
        "memory": (symbols + width, 2 * width),
        "correction": (width, symbols),
    }
