"""How fast logs are read and written, beside r4pm, an XES reader in Rust that checks less.

Run `python bench/reading.py [CASES [REPEATS]]`, by default 30,000 generated cases of eight events
and two repeats; `125000 3` for a million events. RoadTrafficFines.xes.gz is read too, if it is in
DISCREET_LOGS. Each measurement runs alone in a fresh process; the best repeat counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
MEASURE = """
import resource, sys, time
{setup}
begin, spent = time.perf_counter(), time.process_time()
{statement}
seconds, spent = time.perf_counter() - begin, time.process_time() - spent
print(seconds, spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
R4PM = ("import r4pm", "r4pm.df.import_xes(sys.argv[1])")
READ = ("from discreet.log.loading import read_log", "read_log(sys.argv[1])")
STRICT = (READ[0], "read_log(sys.argv[1], xes_reader='strict')")
WRITE = (
    "from discreet.log.loading import read_log\n"
    "from discreet.log.writing import write_log\n"
    "log = read_log(sys.argv[1])\nlog.frame",
    "write_log(log, sys.argv[1] + '.copy.xes.gz')",
)
DIGEST = (
    "from discreet.log.loading import read_log\n"
    "from discreet.log.digest import content_digest\n"
    "log = read_log(sys.argv[1])\nlog.frame",
    "content_digest(log)",
)


def measured(code: tuple[str, str], path: Path, repeat: int) -> tuple[float, float, float]:
    """Wall and processor time in seconds and peak memory in MB of the fastest run."""
    script = MEASURE.format(setup=code[0], statement=code[1])
    runs = []
    for _ in range(repeat):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
        )
        seconds, spent, memory = map(float, done.stdout.split()[-3:])
        runs.append((seconds, spent, memory))
    return min(runs)


def generate(path: Path, cases: int, length: int = 8) -> None:
    """A log with a resource, an amount and a lifecycle."""
    import numpy as np
    import polars as pl

    from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, EventLog
    from discreet.log.writing import write_log

    random = np.random.default_rng(1)
    events = cases * length
    minutes = np.sort(random.integers(0, 2_000_000, (cases, length)), axis=1).ravel()
    table = pl.DataFrame(
        {
            CASE: np.repeat(np.arange(cases), length).astype(str),
            ACTIVITY: np.char.add("Activity ", random.integers(0, 30, events).astype(str)),
            TIME: pl.Series(minutes * 60_000_000).cast(pl.Datetime("us", "UTC")),
            LIFECYCLE: pl.repeat("complete", events, eager=True),
            "org:resource": np.char.add("Resource ", random.integers(0, 200, events).astype(str)),
            "amount": random.integers(0, 100_000, events) / 100,
        }
    )
    write_log(EventLog.from_table(table), path)


def main(cases: int = 30_000, repeats: int = 2) -> None:
    """Print one line per log and task."""
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / "generated.xes.gz"
        generate(made, cases)
        logs = {f"generated, {8 * cases:,} events": made}
        real = LOGS / "RoadTrafficFines.xes.gz"
        if real.is_file():
            (Path(work) / real.name).symlink_to(real.resolve())
            logs["Road Traffic Fines, 0.56M events"] = Path(work) / real.name
        for name, path in logs.items():
            print(name)
            base = None
            for task, code in {
                "r4pm alone": R4PM,
                "read_log": READ,
                "strict": STRICT,
                "write .xes.gz": WRITE,
                "digest": DIGEST,
            }.items():
                seconds, spent, memory = measured(code, path, 1 if task == "strict" else repeats)
                base = base or seconds
                print(
                    f"  {task:<13} {seconds:6.2f} s  {seconds / base:4.2f}x  "
                    f"processor {spent:6.2f} s  {memory:5.0f} MB"
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
