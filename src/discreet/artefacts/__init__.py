"""Artefacts: what is released, with its certificate, and how both are written."""
