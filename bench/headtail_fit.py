"""headtail's choices on generated logs: what its two rules are fitted on, and how far they are off.

    python bench/headtail_fit.py              # four logs, one release by each way
    python bench/headtail_fit.py 200 3        # 200 logs, three of each
    python bench/headtail_fit.py 20 3 0.004 0.007  # F-scores of clear models by SHOWN

Every way is forced in turn: no head; a head with few hidden cases, whose candidates are
recombinations alone; a head with many hidden cases, of which a model is learned. The last column
is what headtail chooses by itself. WELL_LEARNED, LEAST_COVERED and WORTH_LEARNING of
`prediction.py` are chosen so that the means of the last column and of the best way are close.

With further numbers the columns are, for each of them, the F-score on the log of the model that a
release with `--clear-model` leads to, and the similarity of that release, if cases of the head may
be moved by that much (SHOWN of `pruning.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from generated import generated_log
from headtail import Counted

from discreet.distances.similarity import relative_log_similarity
from discreet.log.events import EventLog
from discreet.log.expand import expand
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail, mechanism, pruning, tail
from discreet.mechanisms.headtail.spending import FEW_HIDDEN, MANY_HIDDEN, NO_HEAD
from discreet.privacy.randomness import Randomness
from discreet.utility.model import discover

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


def logs_of(many: int) -> Iterator[tuple[int, Variants]]:
    """Generated logs, each with its seed."""
    generator = np.random.default_rng(1)
    found = seed = 0
    while found < many:
        seed += 1
        cases = int(np.exp(generator.uniform(np.log(FEWEST_CASES), np.log(MOST_CASES))))
        truth = generated_log(seed, cases)
        if 20 < len(truth) < MOST_VARIANTS:
            found += 1
            yield seed, truth


def show(seed: int, truth: Variants, row: list[float]) -> None:
    """One line of a table."""
    shown = " | ".join(f"{x:.3f}" for x in row)
    print(
        f"| {seed} | {truth.cases} | {len(truth)} | {len(truth.activities)} | {shown} |", flush=True
    )


def ways(logs: int, releases: int) -> None:
    """One line per log, and the means."""
    print("| log | cases | variants | activities | " + " | ".join(WAYS) + " | chosen |")
    print("|" + "---|" * (len(WAYS) + 5))
    rows: list[list[float]] = []
    for seed, truth in logs_of(logs):
        log = expand(truth, np.arange(truth.cases), [str(i) for i in range(truth.cases)])
        row = []
        for way in WAYS:
            with forced(way):
                row.append(likeness(truth, log, releases))
        row.append(likeness(truth, log, releases))
        rows.append(row)
        show(seed, truth, row)
    table = np.array(rows)
    print("\nmeans:", " ".join(f"{x:.4f}" for x in table.mean(axis=0)))
    print(f"the best way of each log: {table[:, :-1].max(axis=1).mean():.4f}")


def clear(logs: int, releases: int, moved: tuple[float, ...]) -> None:
    """The same for clear models, by how far cases of the head may be moved."""
    titles = [f"{kind} {x:g}" for x in moved for kind in ("F", "similarity")]
    print("| log | cases | variants | activities | " + " | ".join(titles) + " |")
    print("|" + "---|" * (len(titles) + 4))
    rows: list[list[float]] = []
    for seed, truth in logs_of(logs):
        row: list[float] = []
        for most in moved:
            chosen, log = HeadTail(clear_model=True), Counted(truth)
            with patch.object(pruning, "SHOWN", most):
                found = [chosen._draw(log, Randomness.system()) for _ in range(releases)]  # type: ignore[arg-type]
            scores = [discover(release).quality(truth).f_score for release in found]
            near = [relative_log_similarity(truth, release) for release in found]
            row += [float(np.mean(scores)), float(np.mean(near))]
        rows.append(row)
        show(seed, truth, row)
    print("\nmeans:", " ".join(f"{x:.4f}" for x in np.mean(rows, axis=0)))


def main(logs: int = 4, releases: int = 1, *moved: float) -> None:
    """Ways, or clear models; see the module's text."""
    if moved:
        clear(logs, releases, moved)
    else:
        ways(logs, releases)


if __name__ == "__main__":
    main(*(int(x) for x in sys.argv[1:3]), *(float(x) for x in sys.argv[3:]))
