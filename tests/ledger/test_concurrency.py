"""Nobody gets past the cap, however many try at once and whoever dies while trying."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.privacy.guarantee import Budget
from tests.conftest import ROOT
from tests.ledger.racer import EPSILON


def run_race(url: str, folder: Path, *, processes: int, attempts: int, kills: int = 0) -> None:
    folder.mkdir()
    counts = [str(number) for number in (processes, attempts, kills)]
    finished = subprocess.run(
        [sys.executable, "-m", "tests.ledger.racer", url, str(folder), *counts],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert finished.returncode == 0, finished.stderr


def booked(ledger: Ledger) -> set[str]:
    return {str(row["number"]) for row in ledger.history("s") if row["kind"] == "release"}


@pytest.mark.parametrize("filter", ["basic", "best"])
def test_exactly_as_many_releases_as_the_cap_admits(
    ledger: Ledger, url: str, tmp_path: Path, filter: str
) -> None:
    cap = Budget(1) if filter == "basic" else Budget(1, 1e-6)
    ledger.set_budget("s", cap, filter=filter)  # type: ignore[arg-type]
    processes, attempts = (16, 48) if filter == "basic" else (8, 64)
    run_race(url, tmp_path / "out", processes=processes, attempts=attempts)
    released = {path.name for path in (tmp_path / "out").iterdir()}
    account = ledger.account("s")
    admitted = 25 if filter == "basic" else by_squares(account.limits[1].amount)
    assert len(released) == admitted
    assert admitted >= 20
    assert released == booked(ledger)
    assert account.releases == admitted
    assert ledger.verify()[1] == []


def by_squares(rho: object) -> int:
    """How many of the releases fit into ρ, one by one."""
    return int(float(str(rho)) / (EPSILON**2 / 2))


def test_killed_processes_lose_no_release_and_gain_none(
    ledger: Ledger, url: str, tmp_path: Path
) -> None:
    ledger.set_budget("s", Budget(1), filter="basic")
    run_race(url, tmp_path / "out", processes=8, attempts=48, kills=16)
    released = {path.name for path in (tmp_path / "out").iterdir()}
    on_ledger = booked(ledger)
    assert released <= on_ledger
    assert len(on_ledger) == 25
    assert ledger.verify()[1] == []
