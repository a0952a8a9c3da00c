"""DPIM: speed of a sampler round against PM4Py, agreement of fitness, and the table of the docs.

python bench/dpim.py            speed, and agreement on three logs
python bench/dpim.py --all      agreement on all logs (takes long: PM4Py)
python bench/dpim.py --check    the measures of trees, ours and PM4Py's (takes long: PM4Py)
python bench/dpim.py --table    write docs/mechanisms/dpim-table.md (10 runs; takes minutes)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.mechanisms.dpim import DPIM
from discreet.mechanisms.dpim.case_statistics import GRID, CaseStatistics
from discreet.mechanisms.dpim.noisy_graph import candidates, graph_steps, pair_noise
from discreet.mechanisms.dpim.sampler import Sampler, round_steps
from discreet.models.inductive import inductive_miner
from discreet.models.pm4py import to_pm4py
from discreet.models.replay import replay
from discreet.models.tree import Tree, flower
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.models.peer import frame, quiet

ROOT = Path(__file__).parent.parent
LOGS = Path(os.environ.get("DISCREET_LOGS", ROOT.parent / "shared" / "logs"))
TABLE = ROOT / "docs" / "mechanisms" / "dpim-table.md"

TABLE_LOGS = {
    "Sepsis": ("Sepsis", "activity"),
    "BPIC13 incidents": ("BPIC2013_incidents", "activity+lifecycle"),
    "BPIC13 incidents, by name": ("BPIC2013_incidents", "activity"),
    "BPIC13 closed": ("BPIC2013_closed_problems", "activity+lifecycle"),
    "BPIC13 open": ("BPIC2013_open_problems", "activity+lifecycle"),
    "Domestic": ("BPIC2020_DomesticDeclarations", "activity"),
    "Prepaid": ("BPIC2020_PrepaidTravelCost", "activity"),
    "Receipt": ("CoSeLoG_receipt", "activity"),
}
AGREEING = ("BPIC2013_closed_problems", "BPIC2020_DomesticDeclarations", "CoSeLoG_receipt")
EPSILONS = (3.75, 1.25, 1.0, 0.125)
WITHOUT_NOISE = 100_000.0
RUNS = 10
PURE = "strict, δ = 0"
VARIANTS: dict[str, dict[str, Any]] = {
    "strict": {},
    PURE: {"delta": 0},
    "strict, sampler": {"method": "sampler", "min_fitness": 0.95},
    "published": {"fidelity": "published", "min_fitness": 0.95},
}
CONTROL = "control: noise alone"
MEASURES = ("fitness", "precision", "simplicity", "generalisation")


def opened(name: str, classifier: str = "activity") -> EventLog:
    """A real log."""
    return read_log(LOGS / f"{name}.xes.gz", classifier=classifier)  # type: ignore[arg-type]


def rounds(name: str, many: int = 1) -> None:
    """The same sampler rounds with our replay and with PM4Py's, log-level as its authors do."""
    log = opened(name)
    cases = CaseStatistics(log.variants, log.activities)
    activities = len(log.activities)
    spent = round_steps(0.5, (0.65, 0.25, 0.1))
    sampler = Sampler(spent, (activities, 4 * activities), 0.01, 0.95, 4, False, None)
    counts = cases.pair_counts()
    _ = cases.prefixes  # once per release, not per round
    table = frame(log)
    mine = theirs = 0.0
    rng = Randomness.seeded(1)
    with quiet():
        import pm4py

    for _ in range(many):
        begin = perf_counter()
        tree = sampler.tree(cases, counts, rng)
        building = perf_counter() - begin
        sampler.fitness(cases, tree, rng)
        mine += perf_counter() - begin
        begin = perf_counter()
        with quiet():
            net = pm4py.convert_to_petri_net(to_pm4py(tree))
            pm4py.fitness_token_based_replay(table, *net)
        theirs += building + perf_counter() - begin
    print(
        f"{name:<32}{1000 * mine / many:>9.0f} ms{1000 * theirs / many:>9.0f} ms"
        f"{theirs / mine:>8.0f}"
    )


def releases(name: str) -> None:
    """Seconds for a whole strict release, reading aside."""
    log = opened(name)
    mechanism = DPIM(epsilon=1, alphabet=log.activities)
    begin = perf_counter()
    mechanism.release(log)
    print(f"{name:<32}{perf_counter() - begin:>9.1f} s")


def agreement(name: str) -> None:
    """Mean trace fitness, ours and PM4Py's, on trees that fit and trees that do not."""
    from discreet.log.variants import Variants

    variants: Variants = opened(name).variants
    weights = variants.counts / variants.cases
    cells = []
    for noise in (0.0, 0.2, 0.5, 0.8):
        tree = inductive_miner(variants, noise)
        with quiet():
            import pm4py
            from pm4py.algo.conformance.tokenreplay import algorithm

            net = pm4py.convert_to_petri_net(to_pm4py(tree))
            found = algorithm.apply(frame(variants), *net, parameters={"show_progress_bar": False})
        theirs = float(np.array([case["trace_fitness"] for case in found]) @ weights)
        cells.append(f"{replay(tree, variants).fitness:.4f} {theirs:.4f}")
    print(f"{name:<32}" + "   ".join(cells))


def main(names: Iterable[str]) -> None:
    """Print speed, and agreement on these logs."""
    print(f"{'a sampler round':<32}{'ours':>12}{'PM4Py':>12}{'ratio':>8}")
    for name in ("Sepsis", "BPIC2013_incidents"):
        rounds(name)
    print(f"\n{'a strict release':<32}")
    for name in ("BPIC2020_DomesticDeclarations", "RoadTrafficFines"):
        releases(name)
    print("\nmean trace fitness, ours and PM4Py's, of trees mined with noise 0, .2, .5, .8")
    for name in names:
        agreement(name)


def check(name: str, classifier: str = "activity") -> None:
    """The four measures, ours and PM4Py's: a release at ε = 1, one without noise, the miner's."""
    log = opened(name, classifier)
    for what, epsilon in (("ε = 1", 1.0), ("without noise", WITHOUT_NOISE)):
        mechanism = DPIM(epsilon=epsilon, alphabet=log.activities, min_fitness=0)
        tree = mechanism.release(log).artefact.tree
        assert tree is not None, "with min_fitness 0 every tree is accepted"
        compare(name, what, log, tree)
    compare(name, "Inductive Miner", log, inductive_miner(log.variants))


def compare(name: str, what: str, log: EventLog, tree: Tree) -> None:
    """Print one tree's measures, ours and PM4Py's."""
    table = frame(log)
    with quiet():
        import pm4py
        from pm4py.algo.evaluation.generalization import algorithm as generalization
        from pm4py.algo.evaluation.simplicity import algorithm as simplicity

        net = pm4py.convert_to_petri_net(to_pm4py(tree))
        theirs = [
            pm4py.fitness_token_based_replay(table, *net)["average_trace_fitness"],
            pm4py.precision_token_based_replay(table, *net),
            simplicity.apply(net[0]),
            generalization.apply(table, *net),
        ]
    for measure, ours, other in zip(MEASURES, measured(tree, log), theirs, strict=False):
        print(f"{name:<32}{what:<18}{measure:<16}{ours:>8.3f}{other:>8.3f}", flush=True)


def measured(tree: Tree, log: EventLog) -> list[float]:
    """The four measures of a tree, and the shares of events and activities that it knows."""
    result = replay(tree, log.variants)
    known = np.isin(log.activities, tree.labels)
    return [
        *(getattr(result, measure) for measure in MEASURES),
        float(known[log.codes].mean()),
        float(known.sum()),
    ]


def noise_tree(log: EventLog, epsilon: float, rng: Randomness) -> Tree:
    """A tree made of noise of the same size and nothing else."""
    pairs = pair_noise(graph_steps(Budget(epsilon, 1e-6), (0.65, 0.25, 0.1)), 8)
    size = len(log.activities) + 1
    noise = pairs.draw(size * size, rng).reshape(size, size) / GRID
    made = candidates(log.activities, noise, pairs.deviation / GRID)
    return made[rng.below(len(made))]


def line(title: str) -> list[tuple[float | None, str, str]]:
    """All rows of one log: (ε, variant, cells)."""
    log = opened(*TABLE_LOGS[title])
    rows: list[tuple[float | None, str, str]] = [
        (
            None,
            "Inductive Miner (not private)",
            cells([measured(inductive_miner(log.variants), log)], 1),
        ),
        (None, "control: everything allowed", cells([measured(flower(log.activities), log)], 1)),
    ]
    for epsilon in EPSILONS:
        for variant, parameters in VARIANTS.items():
            if variant == PURE and epsilon != 1:
                continue
            mechanism = DPIM(epsilon=epsilon, alphabet=log.activities, **parameters)
            trees = [mechanism.release(log).artefact.tree for _ in range(RUNS)]
            rows.append((epsilon, variant, cells([measured(t, log) for t in trees if t], RUNS)))
        rng = Randomness.system()
        chance = [noise_tree(log, epsilon, rng) for _ in range(RUNS)]
        rows.append((epsilon, CONTROL, cells([measured(t, log) for t in chance], RUNS)))
        print(f"{title}: ε = {epsilon:g} done", file=sys.stderr, flush=True)
    rows.append((WITHOUT_NOISE, "Inductive Miner", rows[0][2]))
    for variant in ("strict", "published"):
        free = DPIM(epsilon=WITHOUT_NOISE, alphabet=log.activities, **VARIANTS[variant])
        trees = [free.release(log).artefact.tree for _ in range(RUNS)]
        found = [measured(t, log) for t in trees if t]
        rows.append((WITHOUT_NOISE, variant, cells(found, RUNS)))
    return rows


def cells(values: list[list[float]], runs: int) -> str:
    """Mean ± standard deviation of each measure, and how often there was no tree."""
    if not values:
        return " | ".join(["–"] * 6 + [f"{runs}"])
    mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
    shown = [
        f"{m:.2f} ± {s:.2f}" if len(values) > 1 else f"{m:.2f}"
        for m, s in zip(mean[:4], spread[:4], strict=True)
    ]
    return " | ".join([*shown, f"{mean[4]:.2f}", f"{mean[5]:.1f}", str(runs - len(values))])


def table() -> None:
    """Write the table of the docs."""
    with ProcessPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        found = dict(zip(TABLE_LOGS, pool.map(line, TABLE_LOGS), strict=True))
    text = [
        "# DPIM: measured utility",
        "",
        f"Made by `python bench/dpim.py --table`: mean ± standard deviation of {RUNS} releases, "
        "δ = 1e-6 where nothing else is said, the log's own activities as the public alphabet. "
        "The measures are those of PM4Py (mean trace fitness by token replay, ETC precision, "
        "simplicity by arc degree, generalisation), computed by our own replay. Fitness passes "
        "over activities that the tree does not have; two columns say which share of the events "
        "and how many activities it has. ⊥ counts the releases without a tree; they are not in "
        "the means. *Noise alone* is a tree made of noise of the same size and no data; "
        "*everything allowed* is the flower of the alphabet, which needs no data either. BPIC13 "
        "logs are read by name+lifecycle, as in the paper, unless it says by name.",
    ]
    head = (
        "| log | variant | fitness | precision | simplicity | generalisation | events known "
        "| activities | ⊥ |"
    )
    for epsilon in (None, *EPSILONS, WITHOUT_NOISE):
        name = "Without privacy, or without data" if epsilon is None else f"ε = {epsilon:g}"
        if epsilon == WITHOUT_NOISE:
            name += ": without noise, for comparison with the Inductive Miner"
        text += ["", f"## {name}", "", head, "|---|---|---|---|---|---|---|---|---|"]
        text += [
            f"| {title} | {variant} | {row} |"
            for title, rows in found.items()
            for at, variant, row in rows
            if at == epsilon
        ]
    TABLE.write_text("\n".join(text) + "\n", encoding="utf-8")
    print(f"wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        table()
    elif sys.argv[1:] == ["--check"]:
        for name, classifier in TABLE_LOGS.values():
            check(name, classifier)
    elif sys.argv[1:] == ["--all"]:
        main(sorted(path.name.removesuffix(".xes.gz") for path in LOGS.glob("*.xes.gz")))
    elif sys.argv[1:]:
        sys.exit("usage: python bench/dpim.py [--all | --table | --check]")
    else:
        main(AGREEING)
