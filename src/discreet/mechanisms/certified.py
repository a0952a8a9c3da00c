"""Ask the mechanism that a certificate names whether it would say the same."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from discreet._version import __version__
from discreet.certificate import Certificate, Finding
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism

# Tuned
ROUNDING = 1e-9
"""Relative difference of numbers taken as equal: other machines round logarithms differently."""

LAPLACE_BELOW_EPSILON = 0.3
"""Epsilon of a case below which `auto` chose laplace if delta was 0: between settings measured on
three logs (`python bench/headtail.py pure 5`)."""


def mechanism_of(certificate: Certificate) -> Mechanism:
    """The mechanism that a certificate names; for `auto`, which 0.1 had, the one it chose."""
    if certificate.mechanism == "auto":
        return _chosen_by_auto(**certificate.parameters)
    return mechanism(certificate.mechanism, **certificate.parameters)


def _chosen_by_auto(*, want: str, delta: float, alphabet: Any, **common: Any) -> Mechanism:
    """The mechanism that `auto` handed on to.

    The choice read parameters only, so a certificate is enough to repeat it, and the guarantee
    was that of the chosen mechanism.
    """
    if want == "real-variants":
        return mechanism("travas", delta=delta, **common)
    if delta == 0:
        pure = mechanism("laplace", delta=delta, alphabet=alphabet, **common)
        if pure.case_budget.epsilon < LAPLACE_BELOW_EPSILON:
            return pure
    return mechanism("headtail", delta=delta, alphabet=alphabet, **common)


def follows_from_parameters(certificate: Certificate) -> Finding:
    """Ask the mechanism again what these parameters promise."""
    check = "the guarantee follows from the mechanism and its parameters"
    try:
        promised = mechanism_of(certificate).guarantee()
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
