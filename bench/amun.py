"""Time Amun on real logs against a plain reading of its Algorithm 1, and as logs grow.

python bench/amun.py --most 5000000    up to five million events
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from discreet.log.dafsa import Dafsa
from discreet.log.events import EventLog, assemble
from discreet.log.instants import DAY, HOUR
from discreet.log.loading import read_log
from discreet.mechanisms.whole.amun import Amun
from discreet.mechanisms.whole.oversampling import oversample
from discreet.privacy.noise import geometric
from discreet.privacy.randomness import Randomness

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
REAL = ("Sepsis", "Unrineweginfectie", "CCC19", "BPIC2013_incidents", "RoadTrafficFines")
ADVANTAGE = 0.2


def applications(events: int, seed: int = 0) -> EventLog:
    """An invented log of the size and shape of BPIC 2018: long cases, most of them unique.

    A case strings together about nine of 400 fixed fragments, some of them much more common
    than others; a third of the cases follow one of a few popular courses to the end. 2.5 million
    events make 44 thousand cases.
    """
    rng = np.random.default_rng(seed)
    cases = max(1, round(events / 57))
    sizes = rng.integers(2, 11, 400)
    fragments = [rng.integers(0, 41, size) for size in sizes]
    common = 1 / np.arange(1, 401) ** 1.1
    common /= common.sum()

    def course() -> np.ndarray:
        picked = rng.choice(400, size=2 + rng.poisson(7.5), p=common)
        return np.concatenate([fragments[p] for p in picked])

    popular = [course() for _ in range(300)]
    traces = [
        popular[int(300 * rng.random() ** 3)] if rng.random() < 0.36 else course()
        for _ in range(cases)
    ]
    offsets = np.concatenate([[0], np.cumsum([len(trace) for trace in traces])])
    gaps = np.rint(rng.lognormal(np.log(20), 2.0, offsets[-1]) * HOUR).astype(np.int64)
    gaps[offsets[:-1]] = 0
    since = np.cumsum(gaps)
    begin = rng.integers(16_000, 17_000, cases) * DAY - since[offsets[:-1]]
    return assemble(
        [f"case {i}" for i in range(cases)],
        [f"activity {i:02}" for i in range(41)],
        np.concatenate(traces),
        offsets,
        np.repeat(begin, np.diff(offsets)) + since,
    )


def by_the_book(log: EventLog, dafsa: Dafsa) -> np.ndarray:
    """Algorithm 1 line by line with numpy, searching all transitions anew for every pick."""
    rng = np.random.default_rng()
    transition = dafsa.transition_of_event(log)
    case_of = np.repeat(np.arange(log.cases), np.diff(log.offsets))
    rate = 2 * np.log((1 + ADVANTAGE) / (1 - ADVANTAGE))
    needed = np.ceil(rng.exponential(1 / rate, dafsa.transitions)).astype(np.int64)
    added = np.zeros(dafsa.transitions, dtype=np.int64)
    copies = np.zeros(log.cases, dtype=np.int64)
    while (open_ones := np.flatnonzero(added < needed)).size:
        weights = dafsa.counts[open_ones] / dafsa.counts[open_ones].sum()
        picked = rng.choice(open_ones, p=weights)
        takers = case_of[transition == picked]
        for case in rng.choice(takers, size=needed[picked]):
            copies[case] += 1
            added[transition[log.offsets[case] : log.offsets[case + 1]]] += 1
    return copies


def ours(log: EventLog, dafsa: Dafsa) -> np.ndarray:
    """The same in one pass over a random order of the events."""
    rate = 2 * np.log((1 + ADVANTAGE) / (1 - ADVANTAGE))
    rng = Randomness.system()
    needed = 1 + geometric(float(rate), dafsa.transitions, rng)
    return oversample(dafsa.transition_of_event(log), log.offsets, needed, rng)


def seconds(work: Callable[..., object], *arguments: object) -> float:
    """CPU seconds of one run."""
    began = time.process_time()
    work(*arguments)
    return time.process_time() - began


def against_peer() -> None:
    """Both fidelities, reading excluded, and the oversampling against its peer."""
    heads = ("published", "strict", "Algorithm 1", "its peer", "ratio")
    print(f"{'CPU seconds':<22}" + "".join(f"{head:>13}" for head in heads))
    for name in REAL:
        path = LOGS / f"{name}.xes.gz"
        if path.is_file():
            compare(name, read_log(path))
        else:
            print(f"{name:<22}not in {LOGS}; name the folder in DISCREET_LOGS")
    compare("invented, 100k events", applications(100_000))


def compare(name: str, log: EventLog) -> None:
    """One line of the first table."""
    published, strict = (
        seconds(Amun(fidelity=fidelity).release, EventLog.from_table(log.table))
        for fidelity in ("published", "strict")
    )
    dafsa = Dafsa.of(log.variants)
    mine = seconds(ours, log, dafsa)
    line = f"{name:<22}{published:>13.2f}{strict:>13.2f}{mine:>13.3f}"
    if log.events < 200_000:
        other = seconds(by_the_book, log, dafsa)
        line += f"{other:>13.2f}{other / max(mine, 1e-4):>13.0f}"
    print(line, flush=True)


def grown(events: int) -> str:
    """Generate a log, publish it in this process, and say what it took."""
    log = applications(events)
    dafsa = Dafsa.of(log.variants)
    fresh = EventLog.from_table(log.table)
    began, clock = time.process_time(), time.perf_counter()
    released = Amun(fidelity="published", guessing_advantage=ADVANTAGE).release(fresh).artefact
    used, passed = time.process_time() - began, time.perf_counter() - clock
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    return (
        f"{log.events:>10,}{log.cases:>9,}{len(log.variants):>10,}{dafsa.states:>10,}"
        f"{released.cases / log.cases:>8.2f}{used:>8.1f}{passed:>8.1f}{peak:>7.2f}"
    )


def growth(most: int) -> None:
    """How time and memory grow with the log, each size in a fresh process."""
    print(
        f"\n{'events':>10}{'cases':>9}{'variants':>10}{'states':>10}{'ratio':>8}"
        f"{'CPU s':>8}{'wall s':>8}{'GB':>7}"
    )
    for events in (100_000, 500_000, 1_000_000, 2_500_000, 5_000_000):
        if events <= most:
            with get_context("spawn").Pool(1) as pool:
                print(pool.apply(grown, (events,)), flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=500_000, help="events of the largest log")
    most = parser.parse_args().most
    against_peer()
    growth(most)


if __name__ == "__main__":
    main()
