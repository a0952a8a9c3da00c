"""Commands in as few processes as their tests allow, since starting one is most of the work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.bench.bench_plan import Cell
from discreet.bench.runner import run_cell
from discreet.bench.store import ResultRow

PROGRAM = """
import contextlib, io, json, sys
from discreet.cli import main
told = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["discreet", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            told.append((ended.code or 0, out.getvalue(), err.getvalue()))
print(json.dumps(told))
"""


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    code: int
    stdout: str
    stderr: str


def run_all(folder: Path, packages: Path, commands: Sequence[Sequence[str]]) -> list[Ended]:
    """Run commands one after another in a fresh process that finds these packages too."""
    paths = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths, "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Ended(*one) for one in json.loads(done.stdout)]


def run_cells_here(
    waiting: deque[Cell], workers: int, keep: Callable[[ResultRow], None]
) -> list[Cell]:
    """In place of a pool of workers, for tests of what a benchmark says; see `bench.runner`."""
    while waiting:
        keep(run_cell(waiting.popleft()))
    return []
