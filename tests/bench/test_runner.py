from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.bench.bench_plan import load_plan
from discreet.bench.runner import DIED, limited, run, run_cell
from discreet.bench.store import ResultRow, Store
from discreet.mechanisms.travas import TraVaS
from tests.bench.conftest import PLAN


def test_a_grid_runs_once_and_counts_everything(small_plan: Path) -> None:
    cells, _ = load_plan(str(small_plan)).cells(small_plan.parent)
    bad = replace(cells[-1], mechanism="vanished", label="vanished")
    store = Store(small_plan.parent / "r.sqlite")
    seen: list[ResultRow] = []
    assert run([*cells, bad], store, workers=1, on_row=seen.append) == len(cells) + 1
    rows = store.rows()
    assert {row.key for row in rows} == {cell.key for cell in [*cells, bad]}
    assert sorted(row.key for row in seen) == sorted(row.key for row in rows)
    by_label = {row.label: row for row in rows}
    assert by_label["original"].figures["similarity"] == 1.0
    assert by_label["travas"].status == "proved"
    assert by_label["vanished"].outcome == "failed"
    assert "there is no mechanism 'vanished'" in by_label["vanished"].error
    assert run([*cells, bad], store, workers=2) == 0


def test_an_empty_release_is_counted(small_plan: Path) -> None:
    cells, _ = load_plan(str(small_plan)).cells(small_plan.parent)
    cell = replace(cells[-1], parameters={"epsilon": 0.01, "delta": 1e-9})
    row = run_cell(cell)
    assert row.outcome == "empty"
    assert row.figures["similarity"] == 0.0


def test_a_run_that_takes_too_long_fails(small_plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells, _ = load_plan(str(small_plan)).cells(small_plan.parent)
    assert run_cell(cells[-1]).outcome in ("ok", "empty")
    monkeypatch.setattr(TraVaS, "_draw", forever)
    row = run_cell(replace(cells[-1], timeout=0.2))
    assert row.outcome == "failed"
    assert row.error == "TimeoutError: took longer than 0.2 s"


def test_a_limit_that_a_destructor_ignores_holds_all_the_same() -> None:
    """Python prints what is raised in a destructor or on collecting garbage, and goes on."""

    class Endless:
        def __del__(self) -> None:
            forever()

    def begin() -> None:
        Endless()
        forever()

    with pytest.raises(TimeoutError), limited(0.01):
        begin()


def test_a_worker_that_dies_costs_only_its_own_run(
    small_plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism that kills its process, found by an entry point as third parties' are."""
    package = installed(small_plan.parent, "deadly", "os.kill(os.getpid(), signal.SIGKILL)")
    monkeypatch.syspath_prepend(package)
    cells, _ = load_plan(str(small_plan)).cells(small_plan.parent)
    plenty = {"epsilon": 100.0, "delta": 0.1}  # nothing is empty by chance
    one, other = (replace(cell, parameters=cell.parameters | plenty) for cell in cells[-2:])
    deadly = replace(other, mechanism="deadly", label="deadly")
    store = Store(small_plan.parent / "r.sqlite")
    run([one, deadly, other], store, workers=2)
    outcomes = {row.key: (row.outcome, row.error) for row in store.rows()}
    assert outcomes.pop(deadly.key) == ("failed", DIED)
    assert {key: outcome for key, (outcome, _) in outcomes.items()} == {
        one.key: "ok",
        other.key: "ok",
    }


def forever(*_: object) -> None:
    """Wait for what never comes, until a signal handler raises; ten minutes would be a failure."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        time.sleep(0.05)


def installed(folder: Path, name: str, drawing: str) -> Path:
    """A package with a mechanism that does this before it draws."""
    package = folder / f"package-{name}"
    info = package / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[discreet.mechanisms]\n{name} = {name}:Third\n")
    (package / f"{name}.py").write_text(
        "import os, signal\n"
        "from dataclasses import dataclass\n"
        "from discreet.mechanisms.travas import TraVaS\n"
        "@dataclass(frozen=True, kw_only=True)\n"
        "class Third(TraVaS):\n"
        f"    name = '{name}'\n"
        "    def _draw(self, log, source):\n"
        f"        {drawing}\n"
        "        return super()._draw(log, source)\n"
    )
    return package


def count(path: Path) -> int:
    """How many rows are there, as another process sees them."""
    try:
        with sqlite3.connect(path, timeout=10) as connection:
            return int(connection.execute("select count(*) from results").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_killed_and_started_again_no_row_is_lost_or_double(small_plan: Path) -> None:
    """Killed while a mechanism waits for what never comes, and finished where that is not there."""
    folder = small_plan.parent
    paths = [str(installed(folder, "endless", "signal.pause()")), os.environ.get("PYTHONPATH", "")]
    small_plan.write_text(PLAN.format(repetitions=3).replace("not-there", "endless"))
    cells, _ = load_plan(str(small_plan)).cells(folder)
    results = folder / "out" / "results.sqlite"
    command = [sys.executable, "-m", "discreet.cli", "bench", str(small_plan)]
    command += ["--logs", str(folder), "-o", str(folder / "out"), "--workers", "2", "--json"]
    first = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 600
    while count(results) < 5 and time.monotonic() < deadline:
        assert first.poll() is None
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    survived = {row.key: row for row in Store(results).rows()}
    assert 5 <= len(survived) < len(cells)
    alone = [*command[:-2], "1", "--json"]
    subprocess.run(alone, check=True, stdout=subprocess.DEVNULL, timeout=1200)
    rows = Store(results).rows()
    assert sorted(row.key for row in rows) == sorted(cell.key for cell in cells)
    for row in rows:
        assert survived.get(row.key, row) == row
    assert (folder / "out" / "report.html").is_file()
