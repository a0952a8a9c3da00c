"""Mechanisms of other packages: the tutorial's works, a broken one harms nobody."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "add-a-mechanism.md"


def run(folder: Path, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command with the packages that are installed in a folder."""
    paths = os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths, "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_the_tutorial_makes_a_package_that_works(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    for block in re.findall(r"```(?:toml|python)\n# (.*?)```", PAGE.read_text(), flags=re.DOTALL):
        name, _, content = block.partition("\n")
        (tmp_path / name).write_text(content)
    assert {path.name for path in tmp_path.iterdir()} == {
        "pyproject.toml",
        "discreet_ends.py",
        "test_ends.py",
    }
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(tmp_path, "pip", "install", *options, "--target", "site", ".")
    (tmp_path / "discreet_ends.py").unlink()
    run(tmp_path, "pytest", "-q", "test_ends.py")
    assert "with which activity cases begin" in run(tmp_path, "discreet.cli", "mechanisms").stdout
    run(tmp_path, "discreet.cli", "sample", "permits", "--cases", "300", "-o", "log.csv")
    arguments = ("log.csv", "-o", "ends.csv", "--mechanism", "ends", "--end", "last", "--json")
    body = json.loads(run(tmp_path, "discreet.cli", "release", *arguments).stdout)
    assert body["certificate"]["versions"]["discreet-ends"] == "0.1"
    assert body["certificate"]["guarantee"]["status"] == "proved"
    assert (
        "✓ the guarantee follows" in run(tmp_path, "discreet.cli", "certificate", "ends.csv").stdout
    )


GOOD = """
from dataclasses import dataclass
from typing import ClassVar
from discreet.mechanisms.travas import TraVaS

@dataclass(frozen=True, kw_only=True)
class Good(TraVaS):
    name: ClassVar[str] = "good"
    summary: ClassVar[str] = "works"

@dataclass(frozen=True, kw_only=True)
class Thief(TraVaS):
    summary: ClassVar[str] = "would replace travas"

@dataclass(frozen=True, kw_only=True)
class Mute(TraVaS):
    name: ClassVar[str] = "mute"
    summary: ClassVar[str] = ""

@dataclass(frozen=True, kw_only=True)
class Other(TraVaS):
    name: ClassVar[str] = "another"

class Nothing:
    pass
"""

ENTRIES = """[discreet.mechanisms]
good = plugs:Good
travas = plugs:Thief
mute = plugs:Mute
other = plugs:Other
nothing = plugs:Nothing
broken = absent_module:Broken
crash = crashing:Crash
"""


def test_what_does_not_work_is_named_and_skipped(tmp_path: Path) -> None:
    site = tmp_path / "site"
    metadata = site / "plugs-2.1.dist-info"
    metadata.mkdir(parents=True)
    (site / "plugs.py").write_text(GOOD)
    (site / "crashing.py").write_text("raise RuntimeError('no licence')\n")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugs\nVersion: 2.1\n")
    (metadata / "entry_points.txt").write_text(ENTRIES)
    done = run(tmp_path, "discreet.cli", "mechanisms", "--json")
    listed = {one["name"]: one["summary"] for one in json.loads(done.stdout)}
    assert listed["good"] == "works"
    assert "would replace" not in listed["travas"]
    assert not set(listed) & {"mute", "other", "another", "nothing", "broken", "crash"}
    for words in (
        "plugs 2.1 is not asked, since discreet",
        "plugs:Mute does not declare summary",
        "plugs:Other calls itself 'another', but its entry point 'other'",
        "plugs:Nothing is not a subclass of discreet.Mechanism",
        "plugs 2.1 cannot be loaded (ModuleNotFoundError",
        "plugs 2.1 cannot be loaded (RuntimeError: no licence)",
    ):
        assert words in done.stderr, (words, done.stderr)
    assert "Traceback" not in done.stderr
    run(tmp_path, "discreet.cli", "sample", "permits", "--cases", "50", "-o", "log.csv")
    run(tmp_path, "discreet.cli", "release", "log.csv", "-o", "x.csv", "-m", "good")
    refused = run(
        tmp_path, "discreet.cli", "release", "log.csv", "-o", "y.csv", "-m", "mute", code=2
    )
    assert "the mechanism 'mute' cannot be used: plugs 2.1" in refused.stderr
