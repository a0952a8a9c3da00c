"""Ask the mechanism that a certificate names whether it would say the same."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from discreet._version import __version__
from discreet.artefacts.certificate import Certificate, Finding
from discreet.mechanisms.registry import mechanism

ROUNDING = 1e-9
"""Relatively so far numbers may differ: logarithms end in other digits on another machine."""


def follows_from_parameters(certificate: Certificate) -> Finding:
    """Ask the mechanism again what these parameters promise."""
    check = "the guarantee follows from the mechanism and its parameters"
    try:
        promised = mechanism(certificate.mechanism, **certificate.parameters).guarantee()
    except (ValueError, TypeError) as error:
        return Finding(check, "unknown", str(error))
    stated = certificate.guarantee
    promised = replace(
        promised,
        randomness=stated.randomness,
        case_column=stated.case_column,
        individual_column=stated.individual_column,
    )
    if _same(promised.to_dict(), stated.to_dict()):
        return Finding(check, "holds", "")
    if certificate.versions.get("discreet") != __version__:
        return Finding(
            check,
            "unknown",
            f"written by discreet {certificate.versions.get('discreet')}, read by {__version__}, "
            "which states it differently",
        )
    return Finding(check, "fails", "the parameters and the stated guarantee do not belong together")


def _same(one: Any, other: Any) -> bool:
    """Whether plain values are equal, numbers up to rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=ROUNDING)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
