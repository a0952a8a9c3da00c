"""What the package exports, and what importing it costs."""

from __future__ import annotations

import doctest
import subprocess
import sys

import discreet

EXPORTED = {
    "Budget",
    "Certificate",
    "CertificateError",
    "Evaluation",
    "EventLog",
    "Follows",
    "Guarantee",
    "Ledger",
    "LedgerError",
    "LogError",
    "Mechanism",
    "ParameterError",
    "Randomness",
    "Release",
    "TrainedModel",
    "Variants",
    "__version__",
    "audit",
    "check_certificate",
    "evaluate",
    "load_model",
    "mechanism",
    "mechanism_names",
    "read_certificate",
    "read_log",
    "relative_log_similarity",
    "sample_log",
    "train",
    "write_log",
}


def test_exported_names() -> None:
    assert set(vars(discreet)["__all__"]) == EXPORTED
    assert set(dir(discreet)) == EXPORTED
    for name in EXPORTED:
        assert getattr(discreet, name) is not None


def test_the_example_in_the_docstring() -> None:
    assert doctest.testmod(discreet).failed == 0


def test_importing_is_light() -> None:
    heavy = "torch, pm4py, pyspark, opendp, dp_accounting, pandas, scipy, polars"
    code = (
        "import sys, discreet, discreet.cli.app\n"
        f"print([name for name in {heavy!r}.split(', ') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
