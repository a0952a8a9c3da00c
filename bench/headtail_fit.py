"""headtail's choices on generated logs: what its two rules are fitted on, and how far they are off.

    python bench/headtail_fit.py              # four logs, one release by each way
    python bench/headtail_fit.py 200 3        # 200 logs, three of each
    python bench/headtail_fit.py small 40 2   # small budgets: shares for lengths, and activities
    python bench/headtail_fit.py clear 20 3   # F-scores of clear models

Every way is forced in turn: no head; a head with few hidden cases, whose candidates are
recombinations alone; a head with many hidden cases, of which a model is learned. The last column
is what headtail chooses by itself. WELL_LEARNED, LEAST_COVERED and WORTH_LEARNING of
`coverage.py` are chosen so that the means of the last column and of the best way are close.

`small` releases logs without frequent variants at ε = .1 with their activities as public alphabet,
by LEAST_LENGTHS of `spending.py` and LABELS_PER_EVENT of `ngrams.py`.

`clear` shows the F-score on the log of the model that a release with `--clear-model` leads to, and
the similarity of that release, by constants of `pruning.py`: how far cases of the head may be moved
(SHOWN), and how much the model of a miner that leaves out 20% counts beside that of one that leaves
out 10% (READERS). All settings prune the same releases.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from generated import generated_log
from headtail import Counted, drawn

from discreet.log.events import EventLog
from discreet.log.expansion import expand
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail, mechanism, pruning, spending, tail
from discreet.mechanisms.headtail.spending import FEW_HIDDEN, MANY_HIDDEN, NO_HEAD
from discreet.models.similarity import relative_log_similarity
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
    with (
        patch.object(mechanism, "chosen_way", always),
        patch.object(tail, "worth_learning", learns),
    ):
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


SMALL = {
    "0.02, 12": (0.02, 0.0),
    "0.01, 12": (0.01, 0.0),
    "0.01, half": (0.01, 0.5),
    "0.01, two thirds": (0.01, 0.67),
}
"""The least ε for lengths, and the activities that are used: twelve or so many for each event."""

CLEAR: dict[str, dict[str, Any]] = {
    "0.004": {"SHOWN": 0.004},
    "0.007": {"SHOWN": 0.007},
    "1/2": {"READERS": {0.1: 0.5, 0.2: 0.5}},
    "3/4": {"READERS": {0.1: 0.25, 0.2: 0.75}},
    "1": {"READERS": {0.2: 1.0}},
}


def small(logs: int, releases: int) -> None:
    """One line per log without a head at ε = .1, and the means."""
    print("| log | cases | variants | activities | " + " | ".join(SMALL) + " |")
    print("|" + "---|" * (len(SMALL) + 4))
    rows: list[list[float]] = []
    seed = 0
    while len(rows) < logs:
        seed += 1
        generator = np.random.default_rng(seed)
        truth = generated_log(seed, int(np.exp(generator.uniform(np.log(300), np.log(5000)))))
        public: dict[str, Any] = {"epsilon": 0.1, "alphabet": truth.activities}
        _, way = HeadTail(**public)._probed(truth, Randomness.system())  # noqa: SLF001
        if way != NO_HEAD or not 20 < len(truth) < 4000:
            continue
        row = []
        for lengths, labels in SMALL.values():
            spending.spending.cache_clear()
            with (
                forced(NO_HEAD),
                patch.object(spending, "LEAST_LENGTHS", lengths),
                patch.object(tail, "LABELS_PER_EVENT", labels),
            ):
                row.append(float(np.mean(drawn(Counted(truth), releases, **public))))
        rows.append(row)
        show(seed, truth, row)
    print("\nmeans:", " ".join(f"{x:.4f}" for x in np.mean(rows, axis=0)))


def clear(logs: int, releases: int) -> None:
    """F-score and similarity of clear models by each setting, and the means."""
    titles = [f"{kind} {title}" for title in CLEAR for kind in ("F", "similarity")]
    print("| log | cases | variants | activities | " + " | ".join(titles) + " |")
    print("|" + "---|" * (len(titles) + 4))
    rows: list[list[float]] = []
    for seed, truth in logs_of(logs):
        found = [unpruned(truth) for _ in range(releases)]
        row: list[float] = []
        for setting in CLEAR.values():
            with patch.multiple(pruning, **setting):
                kept = [pruning.pruned(release, head) for release, head in found]
            row += [
                float(np.mean([discover(release).quality(truth).f_score for release in kept])),
                float(np.mean([relative_log_similarity(truth, release) for release in kept])),
            ]
        rows.append(row)
        show(seed, truth, row)
    print("\nmeans:", " ".join(f"{x:.4f}" for x in np.mean(rows, axis=0)))


def unpruned(truth: Variants) -> tuple[Variants, Variants]:
    """A release for a clear model before it is pruned, and its head."""
    found: list[tuple[Variants, Variants]] = []

    def kept(release: Variants, head: Variants) -> Variants:
        found.append((release, head))
        return release

    with patch.object(tail, "pruned", kept):
        drawn(Counted(truth), 1, clear_model=True)
    return found[0]


def main(*given: str) -> None:
    """Ways, small budgets or clear models; see the module's text."""
    kinds = {"small": small, "clear": clear}
    chosen = kinds.get(given[0], ways) if given else ways
    numbers = [int(x) for x in given if x not in kinds]
    chosen(*[*numbers, *(4, 1)[len(numbers) :]])


if __name__ == "__main__":
    main(*sys.argv[1:])
