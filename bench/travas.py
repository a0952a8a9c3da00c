"""TraVaS in figures: thresholds, chances and similarity to the real logs, as Markdown.

python bench/travas.py        # two releases of each setting
python bench/travas.py 10     # ten, as in docs/mechanisms/travas.md
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import numpy as np

from discreet.log.loading import read_log
from discreet.mechanisms.travas import TraVaS
from discreet.models.similarity import relative_log_similarity
from discreet.privacy.partition import OptimalSelection, TruncatedSelection

LOGS = ("Sepsis", "BPIC2013_incidents", "BPIC2012_A", "CoSeLoG_receipt")
BUDGETS = ((1.0, 0.01), (0.1, 0.01), (1.0, 0.001), (1.0, 1e-6), (0.1, 1e-6))


def thresholds() -> None:
    """How many cases a variant needs."""
    print("| ε | δ | threshold strict | published | half chance at | nine in ten at |")
    print("|---|---|---|---|---|---|")
    for epsilon, delta in ((0.1, 1e-6), (0.5, 1e-6), (1.0, 1e-6), (2.0, 1e-6), (1.0, 1e-4)):
        best = OptimalSelection(epsilon, delta)
        chances = [float(best.probability(n)) for n in range(1, 2 * best.threshold + 5)]
        half, most = (1 + int(np.searchsorted(chances, p)) for p in (0.5, 0.9))
        plain = TruncatedSelection(epsilon, delta).threshold
        print(f"| {epsilon:g} | {delta:g} | {best.threshold} | {plain} | {half} | {most} cases |")


def spent() -> None:
    """Which part of δ each form spends on showing a variant of one case, which is what δ allows."""
    print("| ε | δ | travas published | 2 runs | 5 runs | 10 runs | travas strict |")
    print("|---|---|---|---|---|---|---|")
    for epsilon, delta in itertools.product((2.0, 1.0, 0.1, 0.01), (0.1, 0.01, 0.001, 1e-6)):
        cells = [f"{averaged(epsilon, delta, runs) / delta:.2f}" for runs in (1, 2, 5, 10)]
        best = float(OptimalSelection(epsilon, delta).probability(1)) / delta
        print(f"| {epsilon:g} | {delta:g} | {' | '.join(cells)} | {best:.2f} |")


def averaged(epsilon: float, delta: float, runs: int) -> float:
    """The chance that one of some TraVaS runs at an equal part of the budget shows one case."""
    each = TruncatedSelection(epsilon / runs, delta / runs)
    return 1 - (1 - float(each.probabilities()[each.threshold])) ** runs


def similarities(folder: Path, repetitions: int) -> None:
    """What is left of the real logs: mean and deviation of some releases."""
    print("| log | ε | δ | strict | published |")
    print("|---|---|---|---|---|")
    for name in LOGS:
        log = read_log(folder / f"{name}.xes.gz")
        for epsilon, delta in BUDGETS:
            cells = []
            for fidelity in ("strict", "published"):
                chosen = TraVaS(epsilon=epsilon, delta=delta, fidelity=fidelity)
                scores = [
                    relative_log_similarity(log.variants, chosen.release(log).artefact)
                    for _ in range(repetitions)
                ]
                cells.append(f"{np.mean(scores):.3f} ± {np.std(scores):.3f}")
            print(f"| {name} | {epsilon:g} | {delta:g} | {cells[0]} | {cells[1]} |")


def main(repetitions: int = 2) -> None:
    """Print the tables."""
    thresholds()
    print()
    spent()
    folder = Path(os.environ.get("DISCREET_LOGS", "../shared/logs"))
    if not folder.is_dir():
        sys.exit(f"no real logs in {folder}; name their folder in DISCREET_LOGS")
    print()
    similarities(folder, repetitions)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
