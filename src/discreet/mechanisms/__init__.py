"""Mechanisms: one file per family, each beside its proof."""

DEFAULT_MECHANISM = "headtail"
"""The one that is taken where none is named."""

WHOLE = "whole"
"""The one that completes variants with times and attributes."""
