"""The tutorial makes a mechanism of another package that works."""

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
