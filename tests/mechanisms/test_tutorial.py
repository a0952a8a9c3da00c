"""The tutorial makes a mechanism of another package that works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run_all

PAGE = Path(__file__).parents[2] / "docs" / "add-a-mechanism.md"


def run(folder: Path, *command: str) -> None:
    """Run a module with the packages that are installed in a folder, and no plugins of pytest."""
    paths = os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


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
    shown = re.findall(r"^\$ discreet (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    commands = ("sample permits --cases 300 -o log.xes", *shown)
    ended = run_all(tmp_path, tmp_path / "site", [one.split() for one in commands])
    assert [one.code for one in ended] == [0, 0, 0, 0, 0]
    _, listed, _, checked, audited = ended
    assert "with which activity cases begin" in listed.stdout
    certificate = json.loads((tmp_path / "ends.csv.certificate.json").read_text())
    assert certificate["versions"]["discreet-ends"] == "0.1"
    assert certificate["guarantee"]["status"] == "proved"
    assert "✓ the guarantee follows" in checked.stdout
    assert "consistent" in audited.stdout
