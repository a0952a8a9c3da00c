"""Small logs and brute-force answers that several tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.log.variants import Variants

sequences = st.text("abc", max_size=5).map(tuple)
small_logs = st.dictionaries(sequences, st.integers(1, 6), min_size=1, max_size=5).map(
    Variants.from_counts
)


def log_of(**counts: int) -> Variants:
    """A log whose variants are the letters of each name; `_` is the empty case."""
    return Variants.from_counts({tuple(k.replace("_", "")): n for k, n in counts.items()})


def levenshtein(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """By the textbook recurrence."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]


def cheapest(source: list[float], target: list[float], cost: list[list[float]]) -> float:
    """The transport problem as a plain linear program."""
    rows, columns = len(source), len(target)
    equations = np.zeros((rows + columns, rows * columns))
    for i in range(rows):
        equations[i, i * columns : (i + 1) * columns] = 1
    for j in range(columns):
        equations[rows + j, j::columns] = 1
    answer = linprog(np.ravel(cost), A_eq=equations, b_eq=[*source, *target], method="highs")
    assert answer.status == 0
    return float(answer.fun)
