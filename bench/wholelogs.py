"""The tables of docs/mechanisms/whole.md: times from a finished bench, attributes measured here.

discreet bench ours/wholelogs --logs LOGS --repetitions 3 -o FOLDER
python bench/wholelogs.py times FOLDER
python bench/wholelogs.py attributes --repetitions 3
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
from pathlib import Path

import numpy as np

from discreet.log.reading import read_log
from discreet.utility.attributes import value_distance, value_distance_by_activity
from discreet.wholelogs import Whole

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
MEASURES = {
    "wait_median_error": "median wait",
    "wait_p90_error": "90% wait",
    "duration_log_distance": "duration",
    "start_week_distance": "weeks",
    "week_hour_distance": "week × hour",
    "remaining_time_error": "remaining",
}
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
            if label in ("ceiling", "amun-strict", "whole"):
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
    """Total variation of values over all events, by activity, and of one half to the other."""
    print("| log | attribute | all events | by activity | ceiling |")
    print("|---|---|---|---|---|")
    for name, asked in ATTRIBUTES.items():
        mechanism = Whole(attributes=asked)
        types = {attribute.column: attribute.kind for attribute in mechanism.asked}
        log = read_log(LOGS / f"{name}.xes.gz", types=types)
        shuffled = np.random.default_rng(0).permutation(log.cases)
        left, right = (log.take_cases(np.sort(half)) for half in np.array_split(shuffled, 2))
        released = [mechanism.release(log).artefact for _ in range(repetitions)]
        for attribute in mechanism.asked:
            column = attribute.column
            whole = np.mean([value_distance(log, one, column) for one in released])
            each = np.mean([value_distance_by_activity(log, one, column) for one in released])
            ceiling = value_distance(left, right, column)
            print(f"| {name} | {column} | {whole:.3f} | {each:.3f} | {ceiling:.3f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="?", choices=("times", "attributes"), default="attributes")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    if given.table == "attributes":
        attributes(given.repetitions)
    elif given.folder is None:
        parser.error("name the folder of a finished bench")
    else:
        times(given.folder)
