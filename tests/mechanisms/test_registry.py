"""Mechanisms by name, ours and others'."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.ledger import Ledger
from discreet.log.samples import sample_log
from discreet.mechanisms.parameters import ParameterError
from discreet.mechanisms.registry import mechanism, mechanism_class
from discreet.privacy.guarantee import Budget

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from discreet.log.variants import Variants
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.parameters import between, parameter
from discreet.privacy.steps import Proved, Statement


@dataclass(frozen=True, kw_only=True)
class Silence(Mechanism):
    """Says nothing, so it is private whatever epsilon."""

    name: ClassVar[str] = "silence"
    summary: ClassVar[str] = "releases nothing"
    paper: ClassVar[str] = "none"
    returns: ClassVar[str] = "variants"
    loudness: int = parameter(0, "how loud to be silent", between(0, 11))

    def _spending(self, budget):
        return Proved("nothing", 0.0, 0.0, "constant")

    def _statement(self, asked):
        return Statement("Constant.")

    def _draw(self, log, source):
        return Variants.empty()
'''


def test_a_third_party_registers_through_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "silence.py").write_text(MODULE)
    metadata = tmp_path / "silence-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: silence\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[discreet.mechanisms]\nsilence = silence:Silence\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths, "COLUMNS": "100"}

    def discreet(*arguments: str) -> str:
        run = subprocess.run(
            [sys.executable, "-m", "discreet.cli", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    assert "silence" in discreet("mechanisms")
    assert "--loudness" in discreet("release", "--help")
    discreet("sample", "loans", "--cases", "5", "-o", "log.csv")
    released = discreet("release", "log.csv", "-o", "out.csv", "-m", "silence", "--loudness", "3")
    assert "ε = 0" in released
    assert "✓ the guarantee follows" in discreet("certificate", "out.csv")


@pytest.mark.parametrize("delta", [1e-12, 1e-300])
@pytest.mark.parametrize(
    ("name", "cases"),
    [
        *((name, 10_000) for name in ("df-laplace", "dpim", "laplace", "travas", "utravas")),
        ("df-laplace", 99),
        ("dpim", 99),
    ],
)
def test_a_budget_too_small_is_refused_before_anything_is_booked(
    name: str, delta: float, cases: int, tmp_path: Path
) -> None:
    """Noise that does not fit into 64 bits, or a selection that cannot be made, costs nothing."""
    log = replace(sample_log("permits", cases=10, seed=1), individual="case:person")
    known = mechanism_class(name).parameters()
    usual = {"delta": delta, "alphabet": ("Register",), "max_length": 3}
    given = {key: value for key, value in usual.items() if key in known}
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.set_budget("s", Budget(9, 1e-5), neighbours="swap", unit="individual")
        try:
            chosen = mechanism(name, epsilon=1e-4, cases_per_individual=cases, **given)
            ledger.release(chosen, log, source="s")
        except ParameterError:
            assert ledger.account("s").releases == 0
        else:
            assert ledger.account("s").releases == 1
