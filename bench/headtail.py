"""headtail: its time and memory as logs grow, and its table against the other strict mechanisms.

    python bench/headtail.py                      # time and memory
    python bench/headtail.py times                # CPU seconds of one release of usual logs
    python bench/headtail.py million              # a million distinct variants
    python bench/headtail.py large 3              # hospital, 100,000 and 500,000 cases
    python bench/headtail.py worst 50 Sepsis      # the worst of so many releases of a log
    python bench/headtail.py alphabets 10 0.1 Helpdesk  # without a public alphabet and with one
    python bench/headtail.py clear 10 Sepsis      # what --clear-model brings and costs
    python bench/headtail.py show FOLDER          # the table of a run of the plan ours/headtail
    python bench/headtail.py models FOLDER        # the F-scores of a run of ours/headtail-models
    python bench/headtail.py elsewhere 5          # logs that no constant was chosen on
    python bench/headtail.py pure 5               # δ = 0, against laplace and sapa
    python bench/headtail.py labyrinth            # 400 activities, nearly every case unique

Real logs are found in DISCREET_LOGS (by default ../shared/logs beside the repository).
"""

from __future__ import annotations

import os
import resource
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from discreet.bench.store import Store
from discreet.log.events import EventLog
from discreet.log.expansion import expand
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.travas import TraVaS
from discreet.models.similarity import relative_log_similarity
from discreet.privacy.randomness import Randomness
from discreet.utility.follows import follows_distance
from discreet.utility.model import discover

FOLDER = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
OURS = {"headtail", "headtail-clear", "headtail-private"}
Setting = tuple[str, float, float]
Best = Callable[..., Any]


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


def wanderings(cases: int, seed: int = 1, activities: int = 20, longest: int = 40) -> Variants:
    """Random walks through a dense graph: most cases are unique, however many there are."""
    generator = np.random.default_rng(seed)
    reach = np.cumsum(generator.dirichlet(np.full(activities, 0.3), size=activities), axis=1)
    lengths = np.minimum(3 + generator.geometric(1 / 9, size=cases), longest)
    here = generator.integers(0, 3, size=cases)
    steps = np.zeros((cases, longest), dtype=np.int32)
    for place in range(longest):
        steps[:, place] = here
        ahead = (generator.random(cases)[:, None] > reach[here]).sum(axis=1)
        here = np.minimum(ahead, activities - 1)
    labels = tuple(f"activity {code:02d}" for code in range(activities))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Variants.of_cases(labels, steps[np.arange(longest) < lengths[:, None]], offsets)[0]


def million() -> None:
    """CPU seconds and memory of one release of logs of up to a million distinct variants."""
    print(f"{'cases':>10}{'variants':>10}{'CPU s':>8}{'peak MB':>9}")
    for cases in (15_000, 150_000, 1_360_000):
        log = Counted(wanderings(cases))
        start = process_time()
        HeadTail()._draw(log, Randomness.system())  # type: ignore[arg-type]
        seconds = process_time() - start
        print(f"{cases:>10,}{len(log.variants):>10,}{seconds:>8.1f}{peak():>9}", flush=True)


def times() -> None:
    """CPU seconds of one release, after a first one, of logs of usual size."""
    logs: dict[str, Callable[[], Variants]] = {
        "hospital": lambda: sample_log("hospital", cases=10_000, seed=1).variants,
        "walks of up to 5": partial(wanderings, 10_000, longest=5),
        "walks of up to 40": partial(wanderings, 10_000),
    }
    for name in ("RoadTrafficFines", "Sepsis", "BPIC2012_W", "nasa"):
        logs[name] = lambda name=name: read_log(FOLDER / f"{name}.xes.gz").variants  # type: ignore[misc]
    for name, make in logs.items():
        log = Counted(make())
        for _ in range(2):
            start = process_time()
            HeadTail()._draw(log, Randomness.system())  # type: ignore[arg-type]
        seconds = process_time() - start
        cases, variants = log.variants.cases, len(log.variants)
        print(f"{name}: {cases:,} cases, {variants:,} variants, {seconds:.2f} s", flush=True)


@dataclass(frozen=True)
class Counted:
    """A log of which only the variants are known: all that headtail reads."""

    variants: Variants


def drawn(log: Counted, releases: int, **parameters: Any) -> list[float]:
    """The similarities of so many releases, at ε = 1, δ = 1e-6 if nothing else is given."""
    chosen, rng = HeadTail(**parameters), Randomness.system()
    found = (chosen._draw(log, rng) for _ in range(releases))  # type: ignore[arg-type]
    return [relative_log_similarity(log.variants, release) for release in found]


def large(releases: int) -> None:
    """Samples of hospital, far larger than any log that a constant was chosen on."""
    for cases in (100_000, 500_000):
        found = drawn(Counted(sample_log("hospital", cases=cases, seed=1).variants), releases)
        print(f"hospital {cases}: {np.mean(found):.4f}, worst {min(found):.4f}", flush=True)


def worst(releases: int, name: str) -> None:
    """How far the worst of many releases is below their mean."""
    found = drawn(Counted(read_log(FOLDER / f"{name}.xes.gz").variants), releases)
    below = np.mean(found) - min(found)
    print(
        f"{name}: mean {np.mean(found):.4f}, worst {min(found):.3f}, {below:.3f} below", flush=True
    )


def alphabets(releases: int, epsilon: float, name: str) -> None:
    """Without a public alphabet and with the log's own, which must not be worse."""
    log = Counted(read_log(FOLDER / f"{name}.xes.gz").variants)
    for alphabet in (None, log.variants.activities):
        found = drawn(log, releases, epsilon=epsilon, alphabet=alphabet)
        error = np.std(found) / np.sqrt(releases)
        kind = "none" if alphabet is None else "public"
        print(
            f"{name}, ε = {epsilon:g}, alphabet {kind}: {np.mean(found):.3f} ± {error:.3f}",
            flush=True,
        )


def clear(releases: int, name: str) -> None:
    """The F-score on the log of the model that a release with a clear model leads to."""
    log, chosen = Counted(read_log(FOLDER / f"{name}.xes.gz").variants), HeadTail(clear_model=True)
    begin = process_time()
    found = [chosen._draw(log, Randomness.system()) for _ in range(releases)]  # type: ignore[arg-type]
    seconds = (process_time() - begin) / releases
    scores = [discover(release).quality(log.variants).f_score for release in found]
    near = [relative_log_similarity(log.variants, release) for release in found]
    error = np.std(scores) / np.sqrt(releases)
    print(
        f"{name}: F {np.mean(scores):.3f} ± {error:.3f}, similarity {np.mean(near):.3f}, "
        f"{seconds:.1f} s CPU",
        flush=True,
    )


def peak() -> int:
    """The most memory this process ever held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def growth() -> None:
    """Seconds and memory of one release as logs grow, and against TraVaS on the same log."""
    print(f"{'log':<28}{'events':>10}{'variants':>10}{'seconds':>9}{'/ travas':>10}{'peak MB':>9}")
    logs: dict[str, Callable[[], EventLog]] = {
        f"loans {n}": partial(sample_log, "loans", cases=n, seed=1) for n in (1000, 10_000, 100_000)
    }
    logs |= {f"labyrinth {n}": partial(labyrinth, n) for n in (1000, 4000)}
    if (FOLDER / "RoadTrafficFines.xes.gz").is_file():
        logs["RoadTrafficFines"] = partial(read_log, FOLDER / "RoadTrafficFines.xes.gz")
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


def measured(truth: Variants, chosen: object, log: EventLog) -> tuple[float, float, int]:
    """Similarity and directly-follows distance of one release, and how many variants it has."""
    artefact = chosen.release(log).artefact  # type: ignore[attr-defined]
    if not isinstance(artefact, Variants):
        from discreet.mechanisms.sapa import walk_out

        artefact = walk_out(artefact, Randomness.system())
    similarity = relative_log_similarity(truth, artefact)
    return similarity, follows_distance(truth, artefact).total_variation, len(artefact)


def figures(folder: Path, name: str) -> dict[Setting, dict[str, list[float]]]:
    """One figure of every run of a plan; empty releases count as they were measured."""
    found: dict[Setting, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in Store(folder / "results.sqlite").rows():
        if name in row.figures and row.epsilon is not None and row.delta is not None:
            found[row.log, row.epsilon, row.delta][row.label].append(row.figures[name])
    return found


def best(by_label: dict[str, list[float]], choose: Best) -> tuple[str, float]:
    """The best mean of the other mechanisms."""
    means = {label: float(np.mean(x)) for label, x in by_label.items() if label not in OURS}
    label = choose(means, key=means.__getitem__)
    return label, means[label]


def show(folder: Path) -> None:
    """headtail against the best other: similarity, then directly-follows distance."""
    near, far = figures(folder, "similarity"), figures(folder, "follows_total_variation")
    print(
        "| log | ε | δ | headtail | private | best other | difference | DF headtail "
        "| DF best other | runs |"
    )
    print("|" + "---|" * 10)
    missed = distant = 0
    for setting in sorted(near):
        log, epsilon, delta = setting
        runs = near[setting]["headtail"]
        ours, hidden = np.mean(runs), np.mean(near[setting]["headtail-private"])
        label, other = best(near[setting], max)
        follows = np.mean(far[setting]["headtail"])
        nearest, least = best(far[setting], min)
        below = ours < other - 0.01
        missed += int(below)
        distant += int(follows > least + 0.02)
        print(
            f"| {log} | {epsilon:g} | {delta:g} | {ours:.3f} ± {np.std(runs):.3f} | {hidden:.3f} "
            f"| {other:.3f} {label} | {ours - other:+.3f}{' (below)' if below else ''} "
            f"| {follows:.3f} | {least:.3f} {nearest} | {len(runs)} |"
        )
    print(f"\n{missed} of {len(near)} below by more than .01; DF of {distant} by more than .02")


def models(folder: Path) -> None:
    """F-scores, on the log, of the models discovered in releases."""
    found = figures(folder, "f_score")
    labels = sorted({label for by_label in found.values() for label in by_label})
    print("| log | " + " | ".join(labels) + " |\n|" + "---|" * (len(labels) + 1))
    for (log, *_), by_label in sorted(found.items()):
        means = (np.mean(by_label[label]) if by_label[label] else np.nan for label in labels)
        print(f"| {log} | " + " | ".join(f"{x:.3f}" for x in means) + " |")


def elsewhere(repetitions: int) -> None:
    """Logs that no constant was chosen on: synthetic families, halves of logs, merged labels."""
    logs = {
        f"{family} {cases}": sample_log(family, cases=cases, seed=5).variants
        for family in ("hospital", "loans", "permits")
        for cases in (400, 4000)
    }
    generator = np.random.default_rng(8)
    for name in ("Sepsis", "BPIC2020_PrepaidTravelCost", "CoSeLoG_receipt"):
        path = FOLDER / f"{name}.xes.gz"
        if path.is_file():
            whole = read_log(path).variants
            half = generator.binomial(whole.counts, 0.5)
            logs[f"half of {name}"] = whole.take(np.flatnonzero(half), half[half > 0]).trimmed()
            logs[f"{name}, labels merged"] = Variants.from_counts(
                [(tuple(label.split()[0] for label in sequence), n) for sequence, n in whole]
            )
    names = ("headtail", "travas", "laplace", "sapa")
    print("| log | ε | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 2))
    for log_name, truth in logs.items():
        log = expand(truth, np.arange(truth.cases), [str(i) for i in range(truth.cases)])
        for epsilon in (0.1, 1.0):
            means = []
            for name in names:
                public = {} if name == "travas" else {"alphabet": truth.activities}
                chosen = mechanism(name, epsilon=epsilon, delta=1e-6, **public)
                means.append(np.mean([measured(truth, chosen, log)[0] for _ in range(repetitions)]))
            print(
                f"| {log_name} | {epsilon:g} | " + " | ".join(f"{x:.3f}" for x in means) + " |",
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


def pure(repetitions: int) -> None:
    """Similarity with δ = 0, where there is no head."""
    names = ("headtail", "laplace", "sapa")
    print("| log | ε | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 2))
    for log_name in ("CoSeLoG_receipt", "Sepsis", "BPIC2020_DomesticDeclarations"):
        log = read_log(FOLDER / f"{log_name}.xes.gz")
        for epsilon in (0.1, 0.3, 1.0):
            public = {"epsilon": epsilon, "delta": 0, "alphabet": log.variants.activities}
            kinds = [mechanism(name, **public) for name in names]
            runs = [
                [measured(log.variants, kind, log)[0] for _ in range(repetitions)] for kind in kinds
            ]
            means = " | ".join(f"{np.mean(x):.3f}" for x in runs)
            print(f"| {log_name} | {epsilon:g} | {means} |", flush=True)


def main(command: str = "growth", *rest: str) -> None:
    """Dispatch; see the module's text."""
    if command == "show":
        show(Path(rest[0]))
    elif command == "models":
        models(Path(rest[0]))
    elif command == "elsewhere":
        elsewhere(int(rest[0]))
    elif command == "pure":
        pure(int(rest[0]))
    elif command == "labyrinth":
        many_activities()
    elif command == "times":
        times()
    elif command == "million":
        million()
    elif command == "large":
        large(int(rest[0]))
    elif command == "alphabets":
        for name in rest[2:]:
            alphabets(int(rest[0]), float(rest[1]), name)
    elif command == "clear":
        for name in rest[1:]:
            clear(int(rest[0]), name)
    elif command == "worst":
        for name in rest[1:]:
            worst(int(rest[0]), name)
    else:
        growth()


if __name__ == "__main__":
    main(*sys.argv[1:])
