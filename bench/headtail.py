"""headtail: its time and memory as logs grow, and its table against the other strict mechanisms.

    python bench/headtail.py                     # time and memory
    python bench/headtail.py table 10 out.jsonl  # the table; resumes from what the file holds
    python bench/headtail.py show out.jsonl      # print it again
    python bench/headtail.py models 3            # F-scores of discovered models at ε = 1, δ = 1e-6
    python bench/headtail.py labyrinth           # 400 activities, nearly every case unique

Real logs are found in DISCREET_LOGS (by default ../shared/logs beside the repository).
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections import defaultdict
from pathlib import Path
from time import perf_counter

import numpy as np

from discreet.log.events import EventLog
from discreet.log.reading import read_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.travas import TraVaS
from discreet.utility.follows import follows_distance
from discreet.utility.similarity import relative_log_similarity

FOLDER = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
LOGS = (
    "Sepsis",
    "BPIC2013_incidents",
    "BPIC2013_closed_problems",
    "BPIC2013_open_problems",
    "BPIC2012_A",
    "CoSeLoG_receipt",
    "BPIC2020_DomesticDeclarations",
    "BPIC2020_PrepaidTravelCost",
    "RoadTrafficFines",
)
BUDGETS = [(epsilon, delta) for delta in (1e-6, 1e-4) for epsilon in (0.1, 0.5, 1.0, 2.0)]
OTHERS = ("travas", "laplace", "sapa", "df-laplace")


def labyrinth(cases: int, seed: int = 3) -> EventLog:
    """400 activities, nearly every case unique: random walks on a sparse graph."""
    generator = np.random.default_rng(seed)
    ahead = np.array([generator.choice(400, size=6, replace=False) for _ in range(400)])
    odds = generator.dirichlet(np.full(6, 0.7), size=400)
    lengths = 5 + generator.geometric(1 / 20, size=cases)
    rows = []
    for case, length in enumerate(lengths):
        here = int(generator.integers(5))
        for _ in range(length):
            rows.append((str(case), f"activity {here:03d}"))
            here = int(generator.choice(ahead[here], p=odds[here]))
    import polars as pl

    table = pl.DataFrame(
        rows, schema=["case:concept:name", "concept:name"], orient="row"
    ).with_columns(pl.datetime(2024, 1, 1, time_zone="UTC").alias("time:timestamp"))
    return EventLog.from_table(table)


def peak() -> int:
    """The most memory this process ever held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def growth() -> None:
    """Seconds and memory of one release as logs grow, and against TraVaS on the same log."""
    print(f"{'log':<28}{'events':>10}{'variants':>10}{'seconds':>9}{'/ travas':>10}{'peak MB':>9}")
    logs = {
        f"loans {n}": (lambda n=n: sample_log("loans", cases=n, seed=1))
        for n in (1000, 10_000, 100_000)
    }
    logs |= {f"labyrinth {n}": (lambda n=n: labyrinth(n)) for n in (1000, 4000)}
    if (FOLDER / "RoadTrafficFines.xes.gz").is_file():
        logs["RoadTrafficFines"] = lambda: read_log(FOLDER / "RoadTrafficFines.xes.gz")
    for name, make in logs.items():
        log = make()
        _ = log.variants
        seconds = []
        for kind in (HeadTail, TraVaS):
            start = perf_counter()
            kind(epsilon=1.0).release(log)
            seconds.append(perf_counter() - start)
        print(
            f"{name:<28}{log.events:>10,}{len(log.variants):>10,}{seconds[0]:>9.2f}"
            f"{seconds[0] / seconds[1]:>10.0f}{peak():>9}",
            flush=True,
        )


def table(repetitions: int, store: Path, names: tuple[str, ...], logs: tuple[str, ...]) -> None:
    """Run what is missing of the plan and append one line per run."""
    done: dict[tuple[object, ...], int] = defaultdict(int)
    if store.exists():
        for line in store.read_text().splitlines():
            done[tuple(json.loads(line)[:4])] += 1
    for log_name in logs:
        log = read_log(FOLDER / f"{log_name}.xes.gz")
        for epsilon, delta in BUDGETS:
            for name in names:
                parameters = {"epsilon": epsilon, "delta": delta}
                if name != "travas":
                    parameters["alphabet"] = log.variants.activities
                chosen = mechanism(name, **parameters)
                for _ in range(repetitions - done[log_name, epsilon, delta, name]):
                    line = [log_name, epsilon, delta, name, *measured(log.variants, chosen, log)]
                    with store.open("a") as stream:
                        stream.write(json.dumps(line) + "\n")


def measured(truth: Variants, chosen: object, log: EventLog) -> tuple[float, float, int]:
    """Similarity and directly-follows distance of one release, and how many variants it has."""
    artefact = chosen.release(log).artefact  # type: ignore[attr-defined]
    if not isinstance(artefact, Variants):
        from discreet.mechanisms.parts.playout import play_out
        from discreet.privacy.randomness import Randomness

        artefact = play_out(artefact, Randomness.system())
    similarity = relative_log_similarity(truth, artefact)
    return similarity, follows_distance(truth, artefact).total_variation, len(artefact)


def show(store: Path) -> None:
    """headtail against the best other, similarity then directly-follows distance."""
    found: dict[tuple[str, float, float], dict[str, list[list[float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in store.read_text().splitlines():
        log, epsilon, delta, name, *values = json.loads(line)
        found[log, epsilon, delta][name].append(values)
    print(
        "| log | ε | δ | headtail | best other | difference | DF headtail | DF best other | runs |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for (log, epsilon, delta), by_name in found.items():
        mean = {name: np.mean(values, axis=0) for name, values in by_name.items()}
        ours = mean.pop("headtail", None)
        if ours is None or not mean:
            continue
        best = max(mean, key=lambda name: float(mean[name][0]))
        near = min(mean, key=lambda name: float(mean[name][1]))
        mark = " **miss**" if ours[0] < mean[best][0] - 0.01 else ""
        far = " **far**" if ours[1] > mean[near][1] + 0.02 else ""
        empty = sum(values[2] == 0 for values in by_name["headtail"])
        print(
            f"| {log} | {epsilon:g} | {delta:g} | {ours[0]:.3f} | {mean[best][0]:.3f} {best} "
            f"| {ours[0] - mean[best][0]:+.3f}{mark} | {ours[1]:.3f}{far} | {mean[near][1]:.3f} "
            f"{near} | {len(by_name['headtail'])}{' EMPTY' if empty else ''} |"
        )


def models(repetitions: int, logs: tuple[str, ...]) -> None:
    """F-scores on the log of the models that are discovered in releases at ε = 1, δ = 1e-6."""
    from discreet.utility.model import discover

    names = ("headtail", "travas", "laplace", "sapa")
    print(f"{'log':<32}{'raw':>8}" + "".join(f"{name:>10}" for name in names))
    for log_name in logs:
        log = read_log(FOLDER / f"{log_name}.xes.gz")
        scores = [discover(log.variants).quality(log.variants).f_score]
        for name in names:
            public = {} if name == "travas" else {"alphabet": log.variants.activities}
            chosen = mechanism(name, epsilon=1.0, delta=1e-6, **public)
            found = (chosen.release(log).artefact for _ in range(repetitions))
            scores.append(
                float(np.mean([discover(x).quality(log.variants).f_score for x in found]))
            )
        print(
            f"{log_name:<32}{scores[0]:>8.3f}" + "".join(f"{x:>10.3f}" for x in scores[1:]),
            flush=True,
        )


def many_activities(repetitions: int = 3) -> None:
    """The labyrinth, where every case is unique: with and without a public alphabet."""
    log = labyrinth(3000)
    truth = log.variants
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        line = []
        for chosen in (
            HeadTail(epsilon=epsilon),
            HeadTail(epsilon=epsilon, alphabet=truth.activities),
            mechanism("laplace", epsilon=epsilon, delta=1e-6, alphabet=truth.activities),
            TraVaS(epsilon=epsilon),
        ):
            runs = [measured(truth, chosen, log)[0] for _ in range(repetitions)]
            line.append(f"{chosen.name} {np.mean(runs):.3f}")
        print(f"ε = {epsilon:g}: " + ", ".join(line), flush=True)


def main(command: str = "growth", *rest: str) -> None:
    """Dispatch; see the module's text."""
    if command == "show":
        show(Path(rest[0]))
    elif command == "models":
        models(int(rest[0]), tuple(rest[1].split(",")) if len(rest) > 1 else LOGS)
    elif command == "labyrinth":
        many_activities()
    elif command == "table":
        names = tuple(rest[2].split(",")) if len(rest) > 2 else ("headtail", *OTHERS)
        table(
            int(rest[0]), Path(rest[1]), names, tuple(rest[3].split(",")) if len(rest) > 3 else LOGS
        )
    else:
        growth()


if __name__ == "__main__":
    main(*sys.argv[1:])
