"""The network's linear maps; known without torch, so that a model's file can be checked."""

from __future__ import annotations

DENOISER = "denoiser"
TIME_FEATURES = 32


def denoiser_layers(columns: int, width: int) -> dict[str, tuple[int, int]]:
    """Three linear layers: from point and time to noise, or to the odds of each column."""
    return {
        "first": (columns + TIME_FEATURES, width),
        "second": (width, width),
        "last": (width, columns),
    }
