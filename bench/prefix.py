"""Time and memory of our SaCoFa and Laplace query against PM4Py's SaCoFa, in one run.

python bench/prefix.py all    also RoadTrafficFines, where PM4Py takes long

PM4Py's Laplace query raises an error as shipped, so both of ours are compared with its SaCoFa. All
use the published algorithm with the settings of the literature (epsilon 1). The log is in memory
in each side's own form; counting its variants is part of our time, as it is of theirs.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import ModuleType

from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.laplace import LaplaceTree
from discreet.mechanisms.sacofa import SaCoFa

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
QUICK = ("Sepsis", "BPIC2013_incidents")
SETTINGS = (
    ("Sepsis", 23, 4),
    ("BPIC2013_incidents", 25, 8),
    ("RoadTrafficFines", 9, 2),
)


def cost(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The best time of some runs in seconds, and the peak of one more in megabytes."""
    best = float("inf")
    for _ in range(repeats):
        start = perf_counter()
        run()
        best = min(best, perf_counter() - start)
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return best, peak


def theirs(path: Path, length: int, least: int) -> Callable[[], object]:
    """PM4Py's SaCoFa on its own form of the log."""
    sys.modules["diffprivlib.models"] = ModuleType("models")  # PRIPEL's, if installed, may fail
    import pm4py
    from pm4py.algo.anonymization.trace_variant_query.variants import sacofa

    log = pm4py.read_xes(str(path), return_legacy_log_object=True)
    options = {"epsilon": 1.0, "k": length, "p": least, "show_progress_bar": False}
    return lambda: sacofa.apply(log, options)


def ours(mechanism: Mechanism, log: EventLog) -> Callable[[], object]:
    """A release of a log whose variants were not counted yet."""
    return lambda: mechanism.release(replace(log))


def main(names: tuple[str, ...] = ()) -> None:
    """Print one line per log and mechanism."""
    warnings.simplefilter("ignore")
    print(
        f"{'':<22}{'':<9}{'ours':>9}{'PM4Py':>9}{'ratio':>8}{'ours':>10}{'PM4Py':>10}{'ratio':>8}"
    )
    for name, length, least in SETTINGS:
        path = LOGS / f"{name}.xes.gz"
        if names != ("all",) and name not in (names or QUICK):
            continue
        if not path.is_file():
            print(f"{name}: not in {LOGS}; name the folder in DISCREET_LOGS")
            continue
        their_time, their_peak = cost(
            theirs(path, length, least), 1 if path.stat().st_size > 2e6 else 3
        )
        log = read_log(path)
        for kind in (SaCoFa, LaplaceTree):
            mechanism = kind(fidelity="published", epsilon=1, max_length=length, min_count=least)
            time, peak = cost(ours(mechanism, log), 5)
            print(
                f"{name:<22}{kind.name:<9}{time:>8.3f}s{their_time:>8.2f}s"
                f"{their_time / time:>7.0f}x{peak:>8.1f}MB{their_peak:>8.1f}MB"
                f"{their_peak / peak:>7.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
