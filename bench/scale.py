"""What a log of any size costs: processor time and peak memory by engine, as ratios in one run.

Run `python bench/scale.py [MILLIONS …]`, by default 1; `make bench-scale` runs 5 and 50. Logs are
folders of Parquet files with a million events each, made in a temporary folder (TMPDIR). Each
measurement is one command in a fresh process, with all its children.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

from discreet.log.events import CASE
from discreet.log.samples import PERSON, sample_log

CASES = 98_700
"""Cases of the hospital that make about a million events."""

FURTHER = 20
"""Columns that nobody asks for, in the wide form of a log."""

WATCH = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2, done.stderr[-300:])
"""


def lake(folder: Path, millions: int, *, wide: bool = False) -> Path:
    """A folder with so many million events."""
    folder.mkdir()
    for part in range(millions):
        table = sample_log("hospital", cases=CASES, seed=part).table
        prefix = pl.lit(f"{part}-")
        table = table.with_columns(prefix + pl.col(CASE), prefix + pl.col(PERSON))
        if wide:
            rows = pl.int_range(pl.len())
            table = table.with_columns(
                (rows * (i + 7) % 1013).cast(pl.String).alias(f"further {i}")
                for i in range(FURTHER)
            )
        table.write_parquet(folder / f"part-{part:05}.parquet")
    return folder


def measured(*arguments: str) -> tuple[float, float]:
    """Seconds of processor time and peak gigabytes of a command."""
    command = [sys.executable, "-m", "discreet.cli", *arguments]
    run = subprocess.run(
        [sys.executable, "-c", WATCH, *command], check=True, capture_output=True, text=True
    )
    code, seconds, peak, *said = run.stdout.split(maxsplit=3)
    if code != "0":
        raise SystemExit(f"{' '.join(arguments)}: {' '.join(said)}")
    return float(seconds), float(peak)


class Table:
    """Measurements, printed as they come."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, float]] = {}
        print("| what | CPU s | peak GB |\n|---|---|---|")

    def add(self, name: str, *arguments: str) -> None:
        """Measure a command."""
        seconds, peak = self.found[name] = measured(*arguments)
        print(f"| {name} | {seconds:.1f} | {peak:.2f} |", flush=True)

    def ratio(self, name: str, other: str) -> None:
        """Compare two of them."""
        (cpu, peak), (base, base_peak) = self.found[name], self.found[other]
        print(f"{name} / {other}: CPU {cpu / base:.2f}, peak {peak / base_peak:.2f}", flush=True)


def main(sizes: list[int]) -> None:
    """Measure every size, then compare."""
    with tempfile.TemporaryDirectory() as place:
        folder, table = Path(place), Table()
        for size in sizes:
            log = str(lake(folder / f"log-{size}", size))
            release = (
                "release",
                log,
                "--mechanism",
                "travas",
                "--no-ledger",
                "--force",
                "--output",
            )
            for engine in ("memory", "duckdb"):
                given = ("--engine", engine, "--memory", "4GB")
                table.add(f"{size} M {engine} inspect", "inspect", log, *given)
                for name in ("out.parquet", "out.variants.parquet"):
                    kind = "table" if "variants" in name else "log"
                    output = str(folder / name)
                    table.add(f"{size} M {engine} travas as {kind}", *release, output, *given)
        first = sizes[0]
        wide = str(lake(folder / "wide", first, wide=True))
        for engine in ("memory", "duckdb"):
            given = ("--engine", engine, "--memory", "4GB")
            output = str(folder / "out.parquet")
            many = ("release", wide, "-m", "travas", "--no-ledger", "--force", "-o", output)
            table.add(f"{first} M {engine} travas as log, 26 columns", *many, *given)
        last = str(folder / f"log-{sizes[-1]}")
        limit = ("--engine", "duckdb", "--memory", "1GB")
        table.add(f"{sizes[-1]} M duckdb inspect at 1 GB", "inspect", last, *limit)
        print()
        table.ratio(f"{first} M duckdb inspect", f"{first} M memory inspect")
        for engine in ("memory", "duckdb"):
            log_form = f"{first} M {engine} travas as log"
            table.ratio(f"{log_form}, 26 columns", log_form)
            table.ratio(f"{first} M {engine} travas as table", log_form)
            if len(sizes) > 1:
                table.ratio(f"{sizes[-1]} M {engine} inspect", f"{first} M {engine} inspect")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1])
