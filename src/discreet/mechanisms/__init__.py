"""Mechanisms: one file per family, each beside its proof."""
