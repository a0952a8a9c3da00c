"""The tables of docs/mechanisms/whole.md: times from a finished bench, attributes measured here.

discreet bench ours/wholelogs --logs LOGS --repetitions 3 -o FOLDER
python bench/wholelogs.py times FOLDER
python bench/wholelogs.py attributes --repetitions 3
python bench/wholelogs.py limit
OPENBLAS_NUM_THREADS=1 python bench/wholelogs.py speed
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import time
from pathlib import Path

import numpy as np

from discreet.log.events import EventLog
from discreet.log.reading import read_log
from discreet.privacy.randomness import Randomness
from discreet.utility.attributes import MEASURES as VALUES
from discreet.utility.calendar import MEASURES as TIMES
from discreet.utility.calendar import Timed
from discreet.wholelogs import Whole
from discreet.wholelogs.completing import complete

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
MEASURES = {
    "wait_median_error": "median wait",
    "wait_p90_error": "90% wait",
    "duration_log_distance": "duration",
    "start_week_distance": "weeks",
    "week_hour_distance": "week × hour",
    "remaining_time_error": "remaining",
}
SHOWN = ("ceiling", "one-wait", "amun-strict", "amun-published", "whole")
ATTRIBUTES = {
    "RoadTrafficFines": "amount:number,org:resource,vehicleClass",
    "BPIC2012_A": "case:AMOUNT_REQ:number,org:resource",
    "BPIC2020_DomesticDeclarations": "case:Amount:number,org:role",
    "BPIC2013_incidents": "impact,organization country",
    "BPIC2020_PrepaidTravelCost": "case:RequestedAmount:number,org:role",
    "CoSeLoG_receipt": "org:group",
    "Sepsis": "CRP:number,org:group",
}


def times(folder: Path) -> None:
    """Means over the repetitions of a bench, one row for each log, mechanism and budget."""
    found: dict[tuple[str, str, float], list[dict[str, float]]] = {}
    with sqlite3.connect(f"file:{folder / 'results.sqlite'}?mode=ro", uri=True) as store:
        for log, label, parameters, figures in store.execute(
            "select log, label, parameters, figures from results where outcome = 'ok'"
        ):
            if label in SHOWN:
                epsilon = float(json.loads(parameters).get("epsilon") or 0)
                found.setdefault((log, label, epsilon), []).append(json.loads(figures))
    print("| log | | ε | " + " | ".join(MEASURES.values()) + " |")
    print("|---|---|---|" + "---|" * len(MEASURES))
    for (log, label, epsilon), runs in sorted(found.items()):
        means = [
            np.mean([run[name] for run in runs if name in run] or [np.nan]) for name in MEASURES
        ]
        shown = " | ".join("–" if np.isnan(mean) else f"{mean:.3g}" for mean in means)
        print(f"| {log} | {label} | {epsilon or '–'} | {shown} |")


def attributes(repetitions: int) -> None:
    """Each measure of values, and in brackets that of one half of the log against the other."""
    print("| log | attribute | all events | by activity | by outcome |")
    print("|---|---|---|---|---|")
    for name, asked in ATTRIBUTES.items():
        mechanism = Whole(attributes=asked)
        log = _read(name, mechanism)
        shuffled = np.random.default_rng(0).permutation(log.cases)
        left, right = (log.take_cases(np.sort(half)) for half in np.array_split(shuffled, 2))
        released = [mechanism.release(log).artefact for _ in range(repetitions)]
        for attribute in mechanism.asked:
            column = attribute.column
            figures = [
                f"{np.mean([measure(log, one, column) for one in released]):.3f} "
                f"({measure(left, right, column):.3f})"
                for measure, _ in VALUES.values()
            ]
            print(f"| {name} | {column} | {' | '.join(figures)} |", flush=True)


def limit() -> None:
    """What is left on the log's own variants at ε = 100,000: the bias of the model itself."""
    print("| log | " + " | ".join(MEASURES.values()) + " |")
    print("|---|" + "---|" * len(MEASURES))
    whole = Whole(epsilon=1e5)
    assert whole.spending is not None
    for name in ATTRIBUTES:
        log = read_log(LOGS / f"{name}.xes.gz")
        rng = Randomness.system()
        drawn = complete(log, log.variants, (), None, whole.zone, whole.spending, rng)
        raw, released = Timed(log), Timed(drawn)
        found = [TIMES[measure][0](raw, released) for measure in MEASURES]
        print(f"| {name} | " + " | ".join(f"{value:.3g}" for value in found) + " |", flush=True)


def speed() -> None:
    """CPU of a release of parts of Traffic Fines, with and without three attributes."""
    name = "RoadTrafficFines"
    asked = ATTRIBUTES[name]
    log = _read(name, Whole(attributes=asked))
    order = np.random.default_rng(0).permutation(log.cases)
    Whole().release(log.take_cases(np.sort(order[:1000])))
    print("| events | times | times and three attributes |")
    print("|---|---|---|")
    for share in (0.125, 0.25, 0.5, 1.0):
        some = log.take_cases(np.sort(order[: round(share * log.cases)]))
        seconds = []
        for wanted in ((), asked):
            began = time.process_time()
            Whole(attributes=wanted).release(some)
            seconds.append(f"{time.process_time() - began:.1f} s")
        print(f"| {some.events:,} | {' | '.join(seconds)} |", flush=True)


def _read(name: str, mechanism: Whole) -> EventLog:
    types = {attribute.column: attribute.kind for attribute in mechanism.asked}
    return read_log(LOGS / f"{name}.xes.gz", types=types)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    tables = ("times", "attributes", "limit", "speed")
    parser.add_argument("table", nargs="?", choices=tables, default="attributes")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--repetitions", type=int, default=1)
    given = parser.parse_args()
    if given.table == "attributes":
        attributes(given.repetitions)
    elif given.table == "limit":
        limit()
    elif given.table == "speed":
        speed()
    elif given.folder is None:
        parser.error("name the folder of a finished bench")
    else:
        times(given.folder)
