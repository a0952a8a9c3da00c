"""What the mechanisms of SaCoFa's paper leave of real logs: published and strict, as Markdown.

    python bench/prefix_paper.py                    # the receipt log, one release of each setting
    python bench/prefix_paper.py 3 all              # all logs, means of three: docs/mechanisms

Exact relative log similarity. Published uses the settings of the paper's
Table 4 (BPIC 2013: those of the TraVaS paper); strict gets the log's activities as alphabet and
sets nothing else.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from discreet.log.events import EventLog
from discreet.log.loading import read_log
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.blocks.rules import KINDS, Rules
from discreet.mechanisms.registry import mechanism
from discreet.models.similarity import relative_log_similarity

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
TABLE_4 = {
    ("CoSeLoG_receipt", 1.0): (10, None, 3),
    ("CoSeLoG_receipt", 0.1): (10, 22, 25),
    ("CoSeLoG_receipt", 0.01): (10, 200, 220),
    ("Sepsis", 1.0): (23, None, 4),
    ("Sepsis", 0.1): (23, 15, 20),
    ("Sepsis", 0.01): (23, 150, 190),
    ("RoadTrafficFines", 1.0): (9, None, 2),
    ("RoadTrafficFines", 0.1): (9, 15, 20),
    ("RoadTrafficFines", 0.01): (9, 120, 150),
    ("BPIC2013_incidents", 1.0): (25, None, 8),
}
PAIRS = 4_000_000
"""Similarities of more pairs of variants than this are left out."""


def score(chosen: Mechanism, log: EventLog, repetitions: int) -> str:
    """The mean similarity and the mean size of some releases."""
    found = [chosen.release(log).artefact for _ in range(repetitions)]
    cases = np.mean([variants.cases for variants in found]) / log.cases
    if max(len(variants) for variants in found) * len(log.variants) > PAIRS:
        return f"– ({cases:.2f})"
    similar = np.mean([relative_log_similarity(log.variants, variants) for variants in found])
    return f"{similar:.3f} ({cases:.2f})"


def published(name: str, log: EventLog, epsilon: float) -> list[Mechanism]:
    """Laplace, SaCoFa and SaPa as published."""
    length, harmless, harmful = TABLE_4[name, epsilon]
    common = {"fidelity": "published", "epsilon": epsilon}
    tree = {"max_length": length, "min_count": harmless or harmful}
    laplace = mechanism("laplace", **common, max_length=length, min_count=harmful)
    sacofa = mechanism("sacofa", **common, **tree, min_count_harmful=harmful)
    return [laplace, sacofa, mechanism("sapa", **common)]


def strict(log: EventLog, epsilon: float, delta: float) -> list[Mechanism]:
    """Laplace, SaCoFa with rules that are taken as public, and with learned ones, and SaPa.

    The public rules are those of the log itself: what an expert who knows the process perfectly
    could have written down.
    """
    common = {"alphabet": log.activities, "epsilon": epsilon, "delta": delta}
    rules = Rules.of_variants(log.variants)
    names = log.variants.activities
    rows: list[tuple[str, ...]] = [("first", names[i]) for i in np.flatnonzero(rules.first)]
    for kind in KINDS:
        pairs = zip(*np.nonzero(getattr(rules, kind)), strict=True)
        rows += [(kind, names[i], names[j]) for i, j in pairs]
    return [
        mechanism("laplace", **common),
        mechanism("sacofa", **common, rules=rows),
        mechanism("sacofa", **common, rules="learn"),
        mechanism("sapa", **common),
    ]


def main(repetitions: int = 1, *names: str) -> None:
    """Print both tables; in brackets the number of cases over that of the log."""
    if not LOGS.is_dir():
        sys.exit(f"no real logs in {LOGS}; name their folder in DISCREET_LOGS")
    every = tuple(dict.fromkeys(name for name, _ in TABLE_4))
    wanted = every if names == ("all",) else names or every[:1]
    logs = {name: read_log(LOGS / f"{name}.xes.gz") for name in wanted}
    print("| published | ε | laplace | sacofa | sapa |\n|---|---|---|---|---|")
    for name, epsilon in TABLE_4:
        if name in logs:
            chosen = published(name, logs[name], epsilon)
            row = [score(one, logs[name], repetitions) for one in chosen]
            print(f"| {name} | {epsilon:g} | {' | '.join(row)} |", flush=True)
    print("\n| strict | ε | δ | laplace | sacofa, public rules | sacofa, learned | sapa |")
    print("|---|---|---|---|---|---|---|")
    for name, log in logs.items():
        for epsilon, delta in ((0.1, 0.0), (1.0, 0.0), (1.0, 1e-6), (10.0, 0.0)):
            row = [score(one, log, repetitions) for one in strict(log, epsilon, delta)]
            print(f"| {name} | {epsilon:g} | {delta:g} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(int([*sys.argv, "1"][1]), *sys.argv[2:])
