"""What the package exports, and what importing it costs."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import discreet
from discreet import shortcuts

ROOT = Path(__file__).parents[1]

EXPORTED = {
    "Budget",
    "Certificate",
    "CertificateError",
    "DiscreetError",
    "DiscreetWarning",
    "Evaluation",
    "EventLog",
    "Follows",
    "Guarantee",
    "Ledger",
    "LedgerError",
    "LogError",
    "Mechanism",
    "ParameterError",
    "PeopleWarning",
    "Randomness",
    "Release",
    "TrainedModel",
    "TransitionsWarning",
    "Tree",
    "TreeDocument",
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
    "release",
    "sample_log",
    "train",
    "write_log",
}


def test_exported_names() -> None:
    assert set(vars(discreet)["__all__"]) == EXPORTED
    assert set(dir(discreet)) == EXPORTED
    for name in EXPORTED:
        assert getattr(discreet, name) is not None


def test_type_checkers_see_the_names_that_are_exported() -> None:
    """The face is written twice, for type checkers and for Python: both say the same."""
    assert discreet.__file__ is not None
    module = ast.parse(Path(discreet.__file__).read_text(encoding="utf-8"))
    (typed,) = (node for node in module.body if isinstance(node, ast.If))
    seen = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = vars(discreet)["_MODULES"]
    assert seen == {name: f"{home}.{name}" for name, home in homes.items()}


PROGRAM = """
import polars as pl

import discreet
from discreet.mechanisms.travas import TraVaS

log = discreet.read_log("log.csv", case="patient")
reveal_type(log)
made = TraVaS(epsilon=1).release(log)
reveal_type(made)
frame: pl.DataFrame = made.to_polars()
reveal_type(discreet.release("log.csv", epsilon=1).guarantee.holds)
tree: discreet.Tree = discreet.Tree("a")
try:
    discreet.read_log("none.csv")
except discreet.DiscreetError:
    pass
discreet.raed_log("log.csv")
discreet.read_log("log.csv", cse="patient")
made.artefact.cuonts
"""


def test_a_type_checker_reads_the_face(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(program)],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = PROGRAM.splitlines()
    told: dict[str, str] = {}
    for said in run.stdout.splitlines():
        _, _, place = said.partition("program.py:")
        number, _, words = place.partition(": ")
        if number and " defined in " not in words:
            told[lines[int(number) - 1]] = words
    assert len(told) == 6, run.stdout + run.stderr
    assert '"discreet.log.events.EventLog"' in told["reveal_type(log)"]
    assert "Release[discreet.log.variants.Variants]" in told["reveal_type(made)"]
    assert "Budget | None" in told[lines[11]].replace("discreet.privacy.guarantee.", "")
    assert 'no attribute "raed_log"' in told['discreet.raed_log("log.csv")']
    assert '"cse"' in told['discreet.read_log("log.csv", cse="patient")']
    assert '"Variants" has no attribute "cuonts"' in told["made.artefact.cuonts"]


def test_every_error_has_one_root() -> None:
    for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and value.__name__.endswith("Error"):
                ours = value.__module__.startswith("discreet")
                assert not ours or issubclass(value, discreet.DiscreetError), value


def test_the_examples_in_docstrings() -> None:
    assert doctest.testmod(discreet).failed == 0
    assert doctest.testmod(shortcuts).failed == 0


def test_importing_is_light() -> None:
    heavy = "torch, pm4py, pyspark, opendp, dp_accounting, pandas, scipy, polars"
    code = (
        "import sys, discreet, discreet.cli.app\n"
        f"print([name for name in {heavy!r}.split(', ') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
