"""What the ledger costs: its overhead on a release, and grants per second in each database.

The peer is the database itself: one bare, durable insert per transaction in SQLite.
"""

from __future__ import annotations

import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import discreet
from discreet.ledger.ledger import Ledger
from discreet.privacy.guarantee import Budget

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.ledger.postgres import programs, temporary_server

GRANTS = 300


def timed(action: Callable[[], object], runs: int) -> list[float]:
    """Milliseconds of each run."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        found.append(1000 * (time.perf_counter() - start))
    return found


def overhead(folder: Path) -> None:
    """What the ledger does around one release of a middling log, step by step."""
    log = discreet.sample_log("hospital", cases=5000, seed=1)
    mechanism = discreet.mechanism("travas", epsilon=0.001, delta=1e-9)
    ledger = Ledger(folder / "release.db", create=True)
    ledger.set_budget("hospital", Budget(1, 1e-5), filter="basic")
    made = ledger.release(mechanism, log, source="hospital")
    ledger.recognise(log, "hospital")
    promise, certificate = mechanism.promise(log), made.release.certificate()
    steps: dict[str, Callable[[], object]] = {
        "check": lambda: ledger.check("hospital", promise),
        "recognise": lambda: ledger.recognise(log, "hospital"),
        "book": lambda: ledger.book(
            "hospital", promise, mechanism=mechanism.name, parameters=mechanism.settings
        ),
        "confirm": lambda: ledger.confirm(made, certificate),
    }
    spent: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(100):
        for name, step in steps.items():
            spent[name] += timed(step, 1)
    for label, of in (("median", statistics.median), ("fastest", min)):
        each = {name: of(times) for name, times in spent.items()}
        listed = ", ".join(f"{name} {value:.2f}" for name, value in each.items())
        print(f"added to a release, SQLite, {label:7} {sum(each.values()):6.2f} ms ({listed})")
    imported = "import time; t = time.perf_counter(); import discreet.ledger.ledger; "
    needed = subprocess.run(
        [sys.executable, "-c", imported + "print(1000 * (time.perf_counter() - t))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    print(f"import it, once per process:   {float(needed):6.0f} ms")


def grants_per_second(where: str) -> float:
    """Grants one after another, each checked against the cap and durable."""
    ledger = Ledger(where, create=True)
    ledger.set_budget("s", Budget(1000), filter="basic")
    promise = (
        discreet.mechanism("travas", epsilon=0.01, delta=1e-9).guarantee().naming("case", None)
    )
    ledger.set_budget("s", Budget(1000, 1e-3), filter="basic", raised=True)

    def grant() -> None:
        ledger.book("s", promise, mechanism="travas", parameters={"epsilon": 0.01})

    grant()
    spent = sum(timed(grant, GRANTS))
    ledger.close()
    return 1000 * GRANTS / spent


def bare_inserts_per_second(folder: Path) -> float:
    """What SQLite does without us, equally durable."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, body TEXT)")

    def put() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (body) VALUES (?)", ("x" * 1000,))
        connection.execute("COMMIT")

    spent = sum(timed(put, GRANTS))
    connection.close()
    return 1000 * GRANTS / spent


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        overhead(folder)
        bare = bare_inserts_per_second(folder)
        print(f"one bare durable insert:      {1000 / bare:7.2f} ms")
        sqlite = grants_per_second(str(folder / "grants.db"))
        print(f"grants per second, SQLite:     {sqlite:7.0f} ({sqlite / bare:.2f} of bare inserts)")
    if programs() is None:
        print("grants per second, PostgreSQL: not measured, it is not installed")
        return
    with temporary_server() as url:
        postgres = grants_per_second(url)
        print(f"grants per second, PostgreSQL: {postgres:7.0f} ({postgres / bare:.2f} of them)")


if __name__ == "__main__":
    main()
