"""Ask the mechanism that a certificate names whether it would say the same."""

from __future__ import annotations

from dataclasses import replace

from discreet._version import __version__
from discreet.certificate import Certificate, Finding
from discreet.mechanisms.registry import mechanism


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
    if promised == stated:
        return Finding(check, "holds", "")
    if certificate.versions.get("discreet") != __version__:
        return Finding(
            check,
            "unknown",
            f"written by discreet {certificate.versions.get('discreet')}, read by {__version__}, "
            "which states it differently",
        )
    return Finding(check, "fails", "the parameters and the stated guarantee do not belong together")
