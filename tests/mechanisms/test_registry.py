"""Mechanisms by name, ours and others'."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from discreet.log.variants import Variants
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.parameters import parameter
from discreet.privacy.steps import Proved, Statement


@dataclass(frozen=True, kw_only=True)
class Silence(Mechanism):
    """Says nothing, so it is private whatever epsilon."""

    name: ClassVar[str] = "silence"
    summary: ClassVar[str] = "releases nothing"
    paper: ClassVar[str] = "none"
    returns: ClassVar[str] = "variants"
    loudness: int = parameter(0, "how loud to be silent", low=0, high=11)

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
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "COLUMNS": "100"}

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
