"""Why Parquet is decoded twice: what else could be done about files that abort their reader.

python bench/decoding.py             # CPU seconds of the ways to decode 2 million events
python bench/decoding.py 5           # of 5 million
python bench/decoding.py damage 3000 # how many damaged files abort the process that reads them
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from discreet.log.formats.parquet import probe, stop_child
from discreet.log.samples import sample_log
from discreet.log.writing import write_log

COLUMNS = ["case:concept:name", "concept:name", "time:timestamp"]
DECODE = """
import sys, polars
table = polars.read_parquet(sys.argv[1], columns=sys.argv[3].split(","))
if sys.argv[2]:
    table.write_ipc(sys.argv[2], compat_level=polars.CompatLevel.newest())
"""
DAMAGE = """
import io, random, sys, polars
path, begin, end = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
whole = open(path, "rb").read()
for seed in range(begin, end):
    print(seed, flush=True)
    chosen, data = random.Random(seed), bytearray(whole)
    for _ in range(chosen.choice((1, 1, 1, 2, 4))):
        place = chosen.randrange(4, len(data) - 8)
        data[place] = chosen.choice((chosen.randrange(256), 255, 127, 128, 0))
    try:
        polars.read_parquet(io.BytesIO(bytes(data)))
    except BaseException:
        pass
"""


def child(*arguments: str, program: str = DECODE) -> subprocess.CompletedProcess[str]:
    """Run a program in another process."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def here(path: Path) -> None:
    """Decode in this process at once: what a damaged page can abort."""
    pl.read_parquet(path, columns=COLUMNS)


def twice(path: Path) -> None:
    """Decode in a child first, as `read_log` does."""
    probe([path], COLUMNS)
    here(path)


def handed_over(path: Path) -> None:
    """Decode in a child that hands the table over in memory (Arrow IPC, not compressed)."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as shared:
        child(str(path), shared.name, ",".join(COLUMNS)).check_returncode()
        pl.read_ipc(shared.name)


def seconds(way: Callable[[Path], None], path: Path) -> float:
    """CPU seconds of this process and its children; the least of three."""
    found = []
    for _ in range(3):
        begin = sum(os.times()[:4])
        way(path)
        stop_child()  # a child counts when it has ended
        found.append(sum(os.times()[:4]) - begin)
    return min(found)


def ways(millions: float) -> None:
    """Print what each way takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_log(sample_log("hospital", cases=round(100_000 * millions), seed=1), path)
        base = seconds(here, path)
        for way in (here, twice, handed_over):
            took = seconds(way, path)
            print(f"{way.__name__:<14}{took:6.2f} s {took / base:6.2f}", flush=True)


def damage(files: int) -> None:
    """Print how many of so many damaged files abort the process that reads them."""
    random.seed(1)
    rows = range(400)
    table = pl.DataFrame(
        {
            "case": [f"c{random.randrange(60)}" for _ in rows],
            "activity": [random.choice(["a", "bb", "ccc"]) for _ in rows],
            "time": [random.randrange(10**9) for _ in rows],
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        for compression in ("uncompressed", "snappy", "zstd"):
            table.write_parquet(path, compression=compression)
            begin, aborted = 0, 0
            while begin < files:
                run = child(str(path), str(begin), str(files), program=DAMAGE)
                aborted += run.returncode < 0
                begin = int(run.stdout.split()[-1]) + 1
            print(f"{compression}: {aborted} of {files} aborted", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["damage"]:
        damage(int(sys.argv[2]))
    else:
        ways(float(sys.argv[1]) if sys.argv[1:] else 2)
