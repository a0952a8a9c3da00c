"""What a log of any size costs: processor time and peak memory by engine, as ratios in one run.

Run `python bench/scale.py STAGE …`; `make bench-scale` runs `small large many whole write`:

- `first`, the default: one million events, as in `small`;
- `small`: 5 million events in memory and in DuckDB, with 6 and with 26 columns, the least of three;
- `large`: 50 million in DuckDB, with 4 GB and with 1 GB, and in Spark;
- `huge`: 200 million in DuckDB with 4 GB;
- `many`: 50 million events with 3.3 million distinct variants, with 2 GB; a million in memory;
- `sampled`: what a tail on a part of the hidden cases costs `headtail`, on 20,000 cases;
- `whole`: logs with times and an attribute, of 1 and 5 million events in memory and in DuckDB, of
  1 million in Spark, of 20 million in DuckDB with 4 GB;
- `write`: a TraVaS release of 20 million events as a log and as a table of variants, and the same
  by another checkout of this repository, if `--old DIRECTORY` names one.

Logs are folders of Parquet files with a million events each, in a temporary folder or in
`--folder`, where they are kept: then a stage can be run in parts, with `--only` and a part of the
names of its measurements. Each measurement is one command in a fresh process, with all its
children; peak is the largest resident size of any of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from discreet.log.events import ACTIVITY, CASE
from discreet.log.samples import PERSON, sample_log
from discreet.mechanisms.registry import mechanism
from discreet.utility.evaluation import Evaluator

CASES = 98_700
"""Cases of the hospital that make about a million events."""

FURTHER = 20
"""Columns that nobody asks for, in the wide form of a log."""

SCRAMBLED = 0.28
"""Chance that an event of the log of many variants is replaced by another."""

WATCH = """
import ctypes, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # children whose parent ended are waited for, too
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024**2, done.stderr[-300:])
"""

COUNTED = """
import atexit, sys
from discreet.cli import main
from discreet.log.engines.sql import SqlEngine

all_of_them, reached = [0], [0]
sizes, fetched = SqlEngine.sizes, SqlEngine._as_variants

def counted_sizes(engine):
    found = sizes(engine)
    all_of_them[0] = int(found.variants.sum())
    return found

def counted(engine, found):
    reached[0] += found.height
    return fetched(engine, found)

SqlEngine.sizes, SqlEngine._as_variants = counted_sizes, counted
atexit.register(lambda: print("\\nvariants", reached[0], all_of_them[0], file=sys.stderr))
main()
"""


def plain(part: int) -> pl.DataFrame:
    """A million events of the hospital."""
    table = sample_log("hospital", cases=CASES, seed=part).table
    return _renamed(table, part)


def wide(part: int) -> pl.DataFrame:
    """The same with columns that nobody asks for."""
    rows = pl.int_range(pl.len())
    return plain(part).with_columns(
        (rows * (i + 7) % 1013).cast(pl.String).alias(f"further {i}") for i in range(FURTHER)
    )


def scrambled(part: int) -> pl.DataFrame:
    """The same with many events replaced by others, so that most cases have a variant alone."""
    table = plain(part).drop(PERSON)
    random = np.random.default_rng(part)
    labels = table[ACTIVITY].unique().sort()
    others = labels.gather(random.integers(0, len(labels), table.height))
    replaced = pl.Series(random.random(table.height) < SCRAMBLED)
    return table.with_columns(pl.when(replaced).then(others).otherwise(ACTIVITY).alias(ACTIVITY))


def _renamed(table: pl.DataFrame, part: int) -> pl.DataFrame:
    prefix = pl.lit(f"{part}-")
    return table.with_columns((prefix + pl.col(name)).alias(name) for name in (CASE, PERSON))


def lake(
    folder: Path,
    millions: int,
    made: Callable[[int], pl.DataFrame] = plain,
    source: Path | None = None,
) -> str:
    """A folder with so many million events; parts that are in `source` are linked from there."""
    folder.mkdir(exist_ok=True, parents=True)
    for part in range(millions):
        target = folder / f"part-{part:05}.parquet"
        given = None if source is None else source / target.name
        if target.exists():
            continue
        if given is not None and given.exists():
            os.link(given, target)
            continue
        made(part).write_parquet(target.with_suffix(".part"))
        target.with_suffix(".part").rename(target)
    return str(folder)


def again(source: Path, parts: int, part: int) -> pl.DataFrame:
    """Part of a log that repeats another one's cases under new names: quicker than new ones."""
    table = pl.read_parquet(source / f"part-{part % parts:05}.parquet")
    return _renamed(table, part)


class Bench:
    """Measurements, printed as they come."""

    def __init__(self, folder: Path, old: Path | None, only: str = "") -> None:
        self.folder, self.old, self.only = folder, old, only
        self.found: dict[str, tuple[float, float]] = {}

    def add(
        self,
        name: str,
        *arguments: str,
        of: Path | None = None,
        counting: bool = False,
        times: int = 1,
    ) -> None:
        """Measure a command; of another checkout if one is given.

        `counting` says of how many variants the sequence left the engine. Of several `times` the
        one that took the least counts: other work on the machine only adds to it.
        """
        if self.only not in name:
            return
        program = ("-c", COUNTED) if counting else ("-m", "discreet.cli")
        command = [sys.executable, *program, *arguments]
        environment = dict(os.environ) if of is None else {**os.environ, "PYTHONPATH": f"{of}/src"}
        found = []
        for _ in range(times):
            run = subprocess.run(
                [sys.executable, "-c", WATCH, *command],
                check=True,
                capture_output=True,
                text=True,
                env=environment,
            )
            code, seconds, peak, *said = run.stdout.split(maxsplit=3)
            if code != "0":
                raise SystemExit(f"{' '.join(arguments)}: {' '.join(said)}")
            found.append((float(seconds), float(peak)))
        self.found[name] = min(found)
        print("| {} | {:.1f} | {:.2f} |".format(name, *self.found[name]), flush=True)
        if counting:
            reached, total = map(int, " ".join(said).rpartition("variants")[2].split()[:2])
            share = f"{100 * reached / total:.2f}%"
            print(f"{name}: {reached:,} of {total:,} variants left the engine, {share}", flush=True)

    def ratio(self, name: str, other: str) -> None:
        """Compare two of them, if both were measured."""
        if not {name, other} <= self.found.keys():
            return
        (cpu, peak), (base, base_peak) = self.found[name], self.found[other]
        print(f"{name} / {other}: CPU {cpu / base:.2f}, peak {peak / base_peak:.2f}", flush=True)

    def release(self, log: str, output: str, *more: str, mechanism: str = "travas") -> list[str]:
        """The arguments of a release without a ledger."""
        target = str(self.folder / output)
        given = ["release", log, "-m", mechanism, "--no-ledger", "--force", "-o", target]
        return [*given, *more]

    def first(self) -> None:
        """The same as `small`, quickly."""
        self.small(1)

    def small(self, millions: int = 5) -> None:
        """DuckDB against memory, narrow against wide."""
        size = f"{millions} M"
        log = lake(self.folder / f"log-{millions}", millions)
        broad = lake(self.folder / f"wide-{millions}", millions, wide)
        for engine in ("memory", "duckdb"):
            given = ("--engine", engine, "--memory", "4GB")
            self.add(f"{size} {engine} inspect", "inspect", log, *given, times=3)
            self.add(f"{size} {engine} inspect, 26 columns", "inspect", broad, *given, times=3)
            for kind, name in (("log", "out.parquet"), ("table", "out.variants.parquet")):
                travas = self.release(log, name, *given)
                self.add(f"{size} {engine} travas as {kind}", *travas, times=3)
            many = self.release(broad, "out.variants.parquet", *given)
            self.add(f"{size} {engine} travas as table, 26 columns", *many, times=3)
        for what in ("inspect", "travas as table"):
            self.ratio(f"{size} duckdb {what}", f"{size} memory {what}")
            for engine in ("memory", "duckdb"):
                self.ratio(f"{size} {engine} {what}, 26 columns", f"{size} {engine} {what}")

    def large(self) -> None:
        """Ten times as much, little memory, and Spark."""
        log = lake(self.folder / "log-50", 50)
        five = lake(self.folder / "log-5", 5, source=self.folder / "log-50")
        given = ("--engine", "duckdb", "--memory")
        self.add("5 M duckdb inspect", "inspect", five, *given, "4GB")
        self.add("50 M duckdb inspect", "inspect", log, *given, "4GB")
        self.add("50 M duckdb inspect at 1 GB", "inspect", log, *given, "1GB")
        travas = self.release(log, "out.variants.parquet", *given, "1GB")
        self.add("50 M duckdb travas as table at 1 GB", *travas)
        self.add("50 M spark inspect", "inspect", log, "--engine", "spark", "--memory", "4GB")
        self.ratio("50 M duckdb inspect", "5 M duckdb inspect")
        self.ratio("50 M spark inspect", "50 M duckdb inspect")

    def huge(self) -> None:
        """As much as a laptop's disk holds."""
        source = self.folder / "log-50"
        lake(source, 50)
        made = partial(again, source, 50)
        log = lake(self.folder / "log-200", 200, made, source=source)
        given = ("--engine", "duckdb", "--memory", "4GB")
        self.add("200 M duckdb inspect at 4 GB", "inspect", log, *given)
        travas = self.release(log, "out.variants.parquet", *given)
        self.add("200 M duckdb travas as table at 4 GB", *travas)

    def many(self) -> None:
        """More variants than should leave the engine; and as many as memory takes."""
        log = lake(self.folder / "many-50", 50, scrambled)
        given = ("--engine", "duckdb", "--memory", "2GB")
        travas = self.release(log, "out.variants.parquet", *given)
        self.add("3.3 M variants duckdb travas at 2 GB", *travas, counting=True)
        sample = (*given, "--tail-sample", "0.005")
        headtail = self.release(log, "out.variants.parquet", *sample, mechanism="headtail")
        self.add("3.3 M variants duckdb headtail at 2 GB", *headtail, counting=True)
        fewer = lake(self.folder / "many-14", 14, scrambled, source=self.folder / "many-50")
        memory = ("--engine", "memory")
        for name in ("travas", "headtail"):
            million = self.release(fewer, "out.variants.parquet", *memory, mechanism=name)
            self.add(f"1 M variants memory {name}", *million)

    def sampled(self) -> None:
        """How like the log a release of headtail is if its tail reads a part of the cases."""
        log = sample_log("hospital", cases=20_000, seed=1)
        evaluator = Evaluator(log)
        for share in (1.0, 0.3, 0.1, 0.01):
            options = {} if share == 1 else {"tail_sample": share}
            headtail = mechanism("headtail", epsilon=1, delta=1e-6, **options)
            begin = time.process_time()
            released = headtail.release(log)
            seconds = time.process_time() - begin
            (found, *_) = evaluator.evaluate(released.artefact, measures=("similarity",))
            print(
                f"tail on {share:g}: similarity {found.value:.3f}, CPU {seconds:.1f} s", flush=True
            )

    def whole(self) -> None:
        """Times and an attribute, from sums over cases."""
        for millions in (1, 5):
            log = lake(self.folder / f"log-{millions}", millions)
            for engine in ("memory", "duckdb", "spark")[: 3 if millions == 1 else 2]:
                given = ("--times", "--attributes", "org:resource", "--engine", engine)
                name = f"{millions} M {engine} whole log"
                self.add(name, *self.release(log, "out.parquet", *given, "--memory", "2GB"))
        log = lake(self.folder / "log-20", 20, source=self.folder / "log-50")
        more = ["--times", "--attributes", "org:resource", "--engine", "duckdb", "--memory", "4GB"]
        self.add("20 M duckdb whole log at 4 GB", *self.release(log, "out.parquet", *more))
        self.ratio("5 M duckdb whole log", "5 M memory whole log")
        self.ratio("5 M duckdb whole log", "1 M duckdb whole log")

    def write(self) -> None:
        """What writing a release takes."""
        log = lake(self.folder / "log-20", 20, source=self.folder / "log-50")
        outputs = {"log": "out.parquet", "XES": "out.xes", "table": "out.variants.parquet"}
        for kind, name in outputs.items():
            self.add(f"20 M memory travas as {kind}", *self.release(log, name, "--engine=memory"))
        if self.old is None:
            return
        whole = self.folder / "log-20.parquet"  # the old way reads one file only
        if not whole.exists():
            pl.scan_parquet(f"{log}/*.parquet").sink_parquet(whole)
        for kind in ("log", "XES"):
            old = self.release(str(whole), outputs[kind])
            self.add(f"20 M before, travas as {kind}", *old, of=self.old)
            self.ratio(f"20 M memory travas as {kind}", f"20 M before, travas as {kind}")
            self.ratio("20 M memory travas as table", f"20 M before, travas as {kind}")


STAGES = ("first", "small", "large", "huge", "many", "sampled", "whole", "write")


def main() -> None:
    """Run the stages that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--folder", type=Path, help="where the logs are, and are kept")
    parser.add_argument("--old", type=Path, help="another checkout to compare writing with")
    parser.add_argument("--only", default="", help="only measurements whose name has this in it")
    given = parser.parse_args()
    if not set(given.stages) <= set(STAGES):
        parser.error(f"stages are {', '.join(STAGES)}")
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(given.folder or Path(place), given.old, given.only)
        print("| what | CPU s | peak GB |\n|---|---|---|", flush=True)
        for stage in given.stages or STAGES[:1]:
            getattr(bench, stage)()


if __name__ == "__main__":
    main()
