"""Time and peak memory of generating sample logs; `--events 10000000` for ten million events."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from multiprocessing import get_context

from discreet.log.samples import SAMPLES, sample_log


def measure(name: str, events: int) -> str:
    """Generate one log in this process and say what it took."""
    pilot = sample_log(name, cases=1_000, seed=0)
    began = time.perf_counter()
    log = sample_log(name, cases=events * pilot.cases // pilot.events, seed=0)
    seconds = time.perf_counter() - began
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    return f"{name:10} {log.events:>12,} events {seconds:6.1f} s {peak:5.2f} GB"


def main() -> None:
    """Measure every sample, each in a fresh process so that its peak memory is its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    events = parser.parse_args().events
    for name in SAMPLES:
        with get_context("spawn").Pool(1) as pool:
            print(pool.apply(measure, (name, events)), flush=True)


if __name__ == "__main__":
    main()
