"""Optimal transport between two piles of cases, exact and checked by its dual."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers

Costs = Callable[[Integers, Integers], Floats]
"""The cost of every pair of some rows (left) and columns (right)."""

EXACT_PAIRS = 36_000_000
"""Up to here (6000 by 6000, about a gigabyte and half a minute) a problem is solved whole."""


@dataclass(frozen=True)
class Transport:
    """The cost of moving all mass; if not exact, the cost of a good way, hence an upper bound."""

    cost: float
    exact: bool


def transport(left: Integers, right: Integers, costs: Costs, *, limit: int | None) -> Transport:
    """The cheapest way to turn the masses `left` into `right`; both have the same total.

    Above `limit` pairs the problem is cut into blocks of equal mass along the order of both
    sides, each solved exactly. That is a feasible plan, so its cost can only be too high.
    """
    rows, columns = np.flatnonzero(left), np.flatnonzero(right)
    if not len(rows):
        return Transport(0.0, True)
    blocks = list(_blocks(rows, left[rows], columns, right[columns], limit))
    cost = sum(solve(a, b, costs(i, j)) for i, a, j, b in blocks)
    return Transport(float(cost), len(blocks) == 1)


def solve(source: Integers, target: Integers, cost: Floats) -> float:
    """The optimal cost, with a proof: dual prices that are feasible and give the same value.

    Raises ArithmeticError if the solver stopped early or its answer fails that proof.
    """
    import ot

    total = int(source.sum())
    a, b = source / total, target / total  # the solver's tolerances are made for shares
    value, log = ot.emd2(a, b, cost, numItermax=100_000_000, log=True)
    if log["warning"] is not None:
        raise ArithmeticError(f"the transport problem was not solved: {log['warning']}")
    slack = float((cost - log["u"][:, None] - log["v"][None, :]).min())
    gap = float(value - a @ log["u"] - b @ log["v"])
    scale = max(1.0, float(cost.max()))
    if slack < -1e-7 * scale or abs(gap) > 1e-7 * scale:
        raise ArithmeticError(
            f"the transport problem was not solved to optimality (slack {slack:g}, gap {gap:g})"
        )
    return float(value) * total


Block = tuple[Integers, Integers, Integers, Integers]


def _blocks(
    rows: Integers, left: Integers, columns: Integers, right: Integers, limit: int | None
) -> Iterator[Block]:
    """Cut at the middle of the longer side, and the other where its mass is the same."""
    if limit is None or len(rows) * len(columns) <= limit or max(len(rows), len(columns)) < 2:
        yield rows, left, columns, right
        return
    if len(columns) > len(rows):
        for j, b, i, a in _blocks(columns, right, rows, left, limit):
            yield i, a, j, b
        return
    middle = len(rows) // 2
    mass = int(left[:middle].sum())
    reached = np.cumsum(right)
    cut = int(np.searchsorted(reached, mass))
    before, after = right[: cut + 1].copy(), right[cut:].copy()
    before[-1] -= reached[cut] - mass
    after[0] = reached[cut] - mass
    kept = after > 0
    yield from _blocks(rows[:middle], left[:middle], columns[: cut + 1], before, limit)
    yield from _blocks(rows[middle:], left[middle:], columns[cut:][kept], after[kept], limit)
