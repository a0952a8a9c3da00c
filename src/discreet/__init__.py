"""Differentially private process mining with guarantees that hold.

>>> import discreet
>>> log = discreet.sample_log("hospital", cases=1000, seed=1)
>>> release = discreet.mechanism("travas", epsilon=1, delta=1e-6).release(log)
>>> release.guarantee.status
'proved'

Names are loaded when first used, so that importing the package is cheap.
"""

from importlib import import_module
from typing import Any

from discreet._version import __version__

_HOMES = {
    "Budget": "discreet.privacy.guarantee",
    "Certificate": "discreet.certificate",
    "CertificateError": "discreet.certificate",
    "Evaluation": "discreet.utility.evaluation",
    "EventLog": "discreet.log.events",
    "Follows": "discreet.log.follows",
    "Guarantee": "discreet.privacy.guarantee",
    "Ledger": "discreet.ledger.ledger",
    "LedgerError": "discreet.ledger.errors",
    "LogError": "discreet.log.errors",
    "Mechanism": "discreet.mechanisms.base",
    "ParameterError": "discreet.mechanisms.parameters",
    "Randomness": "discreet.privacy.randomness",
    "Release": "discreet.release",
    "TrainedModel": "discreet.generative.model",
    "Variants": "discreet.log.variants",
    "audit": "discreet.audits",
    "check_certificate": "discreet.verification",
    "evaluate": "discreet.utility.evaluation",
    "load_model": "discreet.generative.model",
    "mechanism": "discreet.mechanisms.registry",
    "mechanism_names": "discreet.mechanisms.registry",
    "read_certificate": "discreet.verification",
    "read_log": "discreet.log.reading",
    "relative_log_similarity": "discreet.distances.similarity",
    "sample_log": "discreet.log.samples",
    "train": "discreet.generative.run",
    "write_log": "discreet.log.writing",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
