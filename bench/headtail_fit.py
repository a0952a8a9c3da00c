"""headtail's choices on generated logs: what its two rules are fitted on, and how far they are off.

    python bench/headtail_fit.py              # four logs, one release by each way
    python bench/headtail_fit.py 200 3        # 200 logs, three of each

Every way is forced in turn: no head; a head with few hidden cases, whose candidates are
recombinations alone; a head with many hidden cases, of which a model is learned. The last column
is what headtail chooses by itself. WELL_LEARNED, LEAST_COVERED and WORTH_LEARNING of
`prediction.py` are chosen so that the means of the last column and of the best way are close.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from generated import generated_log

from discreet.distances.similarity import relative_log_similarity
from discreet.log.events import EventLog
from discreet.log.expand import expand
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail, mechanism, tail
from discreet.mechanisms.headtail.spending import FEW_HIDDEN, MANY_HIDDEN, NO_HEAD

FEWEST_CASES, MOST_CASES = 300, 30_000
MOST_VARIANTS = 1700
"""Logs of more variants are left out: an exact similarity would take too long."""

WAYS = {NO_HEAD: True, FEW_HIDDEN: False, MANY_HIDDEN: True}
"""The ways, and whether a model is learned."""


@contextmanager
def forced(way: str) -> Iterator[None]:
    """headtail goes this way whatever the log."""
    always: Callable[..., str] = lambda *_: way  # noqa: E731
    learns: Callable[..., bool] = lambda *_: WAYS[way]  # noqa: E731
    with patch.object(mechanism, "way", always), patch.object(tail, "worth_learning", learns):
        yield


def likeness(truth: Variants, log: EventLog, releases: int) -> float:
    """The mean similarity of so many releases at ε = 1, δ = 1e-6."""
    found = [HeadTail().release(log).artefact for _ in range(releases)]
    return float(np.mean([relative_log_similarity(truth, release) for release in found]))


def main(logs: int = 4, releases: int = 1) -> None:
    """One line per log, and the means."""
    generator = np.random.default_rng(1)
    print("| log | cases | variants | activities | " + " | ".join(WAYS) + " | chosen |")
    print("|" + "---|" * (len(WAYS) + 5))
    rows: list[list[float]] = []
    seed = 0
    while len(rows) < logs:
        seed += 1
        cases = int(np.exp(generator.uniform(np.log(FEWEST_CASES), np.log(MOST_CASES))))
        truth = generated_log(seed, cases)
        if not 20 < len(truth) < MOST_VARIANTS:
            continue
        log = expand(truth, np.arange(truth.cases), [str(i) for i in range(truth.cases)])
        row = []
        for way in WAYS:
            with forced(way):
                row.append(likeness(truth, log, releases))
        row.append(likeness(truth, log, releases))
        rows.append(row)
        shown = " | ".join(f"{x:.3f}" for x in row)
        print(
            f"| {seed} | {truth.cases} | {len(truth)} | {len(truth.activities)} | {shown} |",
            flush=True,
        )
    table = np.array(rows)
    print("\nmeans:", " ".join(f"{x:.4f}" for x in table.mean(axis=0)))
    print(f"the best way of each log: {table[:, :-1].max(axis=1).mean():.4f}")


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:]))
