"""The tables of docs/mechanisms/whole.md: times from a finished bench, attributes measured here.

discreet bench ours/wholelogs --logs LOGS --repetitions 3 -o FOLDER
python bench/wholelogs.py times FOLDER
python bench/wholelogs.py attributes --repetitions 3 --log Sepsis --log BPIC2012_A
python bench/wholelogs.py generated --repetitions 10
python bench/wholelogs.py shares --repetitions 6
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
import polars as pl

from discreet.log.engines.view import sums_over
from discreet.log.events import EventLog
from discreet.log.instants import microseconds
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole import allocation as spending
from discreet.mechanisms.whole.log_simulation import complete
from discreet.privacy.randomness import Randomness
from discreet.utility.attributes import MEASURES as VALUES
from discreet.utility.calendar import MEASURES as TIMES
from discreet.utility.calendar import Timed

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
MEASURES = {
    "wait_median_error": "median wait",
    "wait_p90_error": "90% wait",
    "duration_log_distance": "duration",
    "start_week_distance": "weeks",
    "week_hour_distance": "week × hour",
    "remaining_time_error": "remaining",
}
SHOWN = ("original", "ceiling", "one-wait", "amun-strict", "amun-published", "whole")
ATTRIBUTES = {
    "RoadTrafficFines": "amount:number,org:resource,vehicleClass",
    "BPIC2012_A": "case:AMOUNT_REQ:number,org:resource",
    "BPIC2020_DomesticDeclarations": "case:Amount:number,org:role",
    "BPIC2013_incidents": "impact,organization country",
    "BPIC2020_PrepaidTravelCost": "case:RequestedAmount:number,org:role",
    "CoSeLoG_receipt": "org:group",
    "Sepsis": "CRP:number,org:group",
}

GENERATED = (("loans", 10_000), ("permits", 6_000), ("hospital", 3_000))
FEES = (0.3, 0.2, 0.15, 0.15, 0.1, 0.06, 0.04)
GROUPS = {
    "start weeks": spending.TREND,
    "hours of starts": spending.STARTS,
    "durations": spending.DURATIONS,
    "waits": spending.WAITS,
    "hours of later events": spending.LATER,
}


def times(folders: list[Path]) -> None:
    """Means over the repetitions of a bench, one row for each log, mechanism and budget."""
    found: dict[tuple[str, str, float], list[dict[str, float]]] = {}
    for folder in folders:
        with sqlite3.connect(f"file:{folder / 'results.sqlite'}?mode=ro", uri=True) as store:
            for log, label, parameters, figures in store.execute(
                "select log, label, parameters, figures from results where outcome = 'ok'"
            ):
                if label in SHOWN:
                    epsilon = float(json.loads(parameters).get("epsilon") or 0)
                    found.setdefault((log, label, epsilon), []).append(json.loads(figures))
    print("| log | | ε | " + " | ".join(MEASURES.values()) + " | runs |")
    print("|---|---|---|" + "---|" * (len(MEASURES) + 1))
    for (log, label, epsilon), runs in sorted(found.items()):
        means = [
            np.mean([run[name] for run in runs if name in run] or [np.nan]) for name in MEASURES
        ]
        shown = " | ".join("–" if np.isnan(mean) else f"{mean:.3g}" for mean in means)
        print(f"| {log} | {label} | {epsilon or '–'} | {shown} | {len(runs)} |")


def attributes(repetitions: int, names: list[str]) -> None:
    """Each measure of values, and in brackets that of one half of the log against the other."""
    _heads()
    for name in names or ATTRIBUTES:
        mechanism = Whole(attributes=ATTRIBUTES[name])
        _measure(name, _read(name, mechanism), mechanism, repetitions)


def generated(repetitions: int) -> None:
    """The same for invented columns of sample logs: what shares and parts were chosen on."""
    _heads()
    for columns in (
        "case:amount:number,case:channel,case:kind,cost:number",
        "role,who,score:number,fee:number",
    ):
        mechanism = Whole(attributes=columns)
        for name, cases in GENERATED:
            _measure(name, invented(name, cases), mechanism, repetitions)


def invented(name: str, cases: int, seed: int = 1) -> EventLog:
    """A sample log with columns that go with durations, outcomes, activities and each other."""
    log = sample_log(name, cases=cases, seed=seed)
    random = np.random.default_rng(seed)
    times = microseconds(log)
    first, last = log.offsets[:-1], log.offsets[1:] - 1
    slow = np.argsort(np.argsort(times[last] - times[first])) * 3 // log.cases
    amount = np.round(np.exp(random.normal(7 + 0.6 * slow, 0.8)), 2)
    plain = random.random(log.cases) < 0.45
    amount[plain] = random.choice([500, 1000, 1500, 2500, 5000, 10000], log.cases)[plain]
    stray = (random.random(log.cases) < 0.3) * random.integers(0, 4, log.cases)
    channel = (np.digitize(amount, [900, 2500, 7000]) + stray) % 4
    stray = (random.random(log.cases) < 0.5) * random.integers(0, 12, log.cases)
    kind = np.where(random.random(log.cases) < 0.1, 12, (log.codes[last] * 3 + stray) % 12)
    kinds = [*(f"kind {number}" for number in range(12)), None]
    case = np.repeat(np.arange(log.cases), np.diff(log.offsets))
    cost = np.round(np.exp(random.normal(log.codes % 5, 0.5)), 2)
    names = np.minimum(random.geometric(0.12, (2, log.events)) - 1, 39)
    keeps = random.random(log.events) < 0.7
    who = np.where(keeps, names[0][log.offsets[:-1]][case], (names[1] + log.codes * 7) % 40)
    score = np.round(np.exp(random.normal(3, 1, log.events)))
    fee = random.choice([10, 20, 35, 50, 75, 120, 200], log.events, p=FEES) + 10 * (log.codes % 3)
    table = log.frame.with_columns(
        pl.Series("case:amount", amount[case]),
        pl.Series("case:channel", np.array(["web", "desk", "phone", "post"])[channel[case]]),
        pl.Series("case:kind", kinds).gather(kind[case]),
        pl.Series("cost", cost),
        pl.Series("role", np.array(["clerk", "judge", "nurse", "cook", "smith"])[log.codes % 5]),
        pl.Series("who", np.array([f"person {number}" for number in range(40)])[who]),
        pl.Series("score", np.where(log.codes % 4 == 0, score, np.nan)).fill_nan(None),
        pl.Series("fee", np.where(log.codes % 4 == 1, fee, np.nan)).fill_nan(None),
    )
    return EventLog.from_table(table)


def _heads() -> None:
    print("| log | attribute | all events | by activity | by outcome |")
    print("|---|---|---|---|---|", flush=True)


def _measure(name: str, log: EventLog, mechanism: Whole, repetitions: int) -> None:
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
        drawn = complete(sums_over(log), log.variants, (), None, whole.zone, whole.spending, rng)
        raw, released = Timed(log), Timed(drawn)
        found = [TIMES[measure][0](raw, released) for measure in MEASURES]
        print(f"| {name} | " + " | ".join(f"{value:.3g}" for value in found) + " |", flush=True)


def shares(repetitions: int) -> None:
    """Times of sample logs on their own variants, with each group of shares halved and doubled."""
    logs = [sample_log(name, cases=cases, seed=1) for name, cases in GENERATED]
    raw = [Timed(log) for log in logs]
    chosen = dict(spending.TIMES)
    print("| share of times | | " + " | ".join(MEASURES.values()) + " |")
    print("|---|---|" + "---|" * len(MEASURES))
    for what, names in {"as it is": (), **GROUPS}.items():
        for factor in (0.5, 2.0) if names else (1.0,):
            changed = {k: v * (factor if k in names else 1) for k, v in chosen.items()}
            whole = sum(changed.values()) / sum(chosen.values())
            spending.TIMES.update({k: v / whole for k, v in changed.items()})
            mechanism = Whole()
            assert mechanism.spending is not None
            found = []
            for log, timed in zip(logs, raw, strict=True):
                for _ in range(repetitions):
                    rng = Randomness.system()
                    drawn = complete(
                        sums_over(log), log.variants, (), None, "UTC", mechanism.spending, rng
                    )
                    released = Timed(drawn)
                    found.append([TIMES[one][0](timed, released) for one in MEASURES])
            means = np.mean(np.reshape(found, (len(logs), repetitions, -1)), axis=1)
            scatter = np.std(np.reshape(found, (len(logs), repetitions, -1)), axis=1)
            error = np.sqrt((scatter**2).sum(axis=0) / max(1, repetitions - 1)) / len(logs)
            shown = zip(means.mean(axis=0), error, strict=True)
            cells = " | ".join(f"{mean:.3g} ± {scattered:.2g}" for mean, scattered in shown)
            print(f"| {what} | {factor:g} | {cells} |", flush=True)
    spending.TIMES.update(chosen)


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
    tables = ("times", "attributes", "generated", "shares", "limit", "speed")
    parser.add_argument("table", nargs="?", choices=tables, default="attributes")
    parser.add_argument("folder", nargs="*", type=Path)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--log", action="append", choices=ATTRIBUTES, default=[])
    given = parser.parse_args()
    if given.table == "attributes":
        attributes(given.repetitions, given.log)
    elif given.table == "generated":
        generated(given.repetitions)
    elif given.table == "shares":
        shares(given.repetitions)
    elif given.table == "limit":
        limit()
    elif given.table == "speed":
        speed()
    elif not given.folder:
        parser.error("name the folder of a finished bench, or several")
    else:
        times(given.folder)
