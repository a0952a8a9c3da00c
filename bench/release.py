"""A whole release against r4pm's reading alone, and the command line's start against numpy's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = "import sys, r4pm.df; r4pm.df.import_xes(sys.argv[1])"
WATCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def timed(*command: str) -> tuple[float, float]:
    """Seconds and peak megabytes of a command."""
    began = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", WATCH, *command], check=True, capture_output=True, text=True
    )
    return time.perf_counter() - began, float(run.stdout)


def best(times: int, *command: str) -> tuple[float, float]:
    """The quickest of several runs."""
    return min(timed(*command) for _ in range(times))


def start() -> None:
    """Compare `discreet --help` with importing numpy."""
    numpy, _ = best(7, sys.executable, "-c", "import numpy")
    shown, _ = best(7, sys.executable, "-m", "discreet.cli", "--help")
    print(f"import numpy {numpy:.2f} s, discreet --help {shown:.2f} s: {shown / numpy:.2f} times")


def traffic(folder: Path) -> None:
    """Compare a TraVaS release of the traffic fines with r4pm's reading of them."""
    log = str(folder / "RoadTrafficFines.xes.gz")
    read, read_peak = best(2, sys.executable, "-c", READ, log)
    with tempfile.TemporaryDirectory() as place:
        for suffix in (".xes", ".parquet"):
            output = str(Path(place) / f"shared{suffix}")
            command = (sys.executable, "-m", "discreet.cli", "release", log, "-o", output)
            whole, peak = best(2, *command, "--force", "-m", "travas")
            print(
                f"r4pm reads in {read:.1f} s ({read_peak:.0f} MB), release to {suffix} takes "
                f"{whole:.1f} s ({peak:.0f} MB): {whole / read:.2f} times"
            )


def main() -> None:
    """Run both comparisons."""
    start()
    folder = Path(os.environ.get("DISCREET_LOGS", "../shared/logs"))
    if (folder / "RoadTrafficFines.xes.gz").is_file():
        traffic(folder)
    else:
        print(f"RoadTrafficFines.xes.gz is not in {folder}; name its folder in DISCREET_LOGS")


if __name__ == "__main__":
    main()
