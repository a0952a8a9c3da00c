"""Optimal transport between two distributions of cases: whole masses and costs, exact optima.

A float solver (POT's network simplex) proposes a plan and prices. Both are rounded to integers
and made into a feasible plan and feasible prices whose values agree to the last unit, which proves
the plan optimal. What the solver gets wrong, or does not finish, shortest augmenting paths finish
in integers. So the answer is the optimum for every input: neither its accuracy nor whether there
is one depends on the solver. Private choices rest on that.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec, module_from_spec
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import Floats, Integers

Costs = Callable[[Integers, Integers], Integers]
"""The cost of every pair of some rows (left) and columns (right), in whole units."""

# Proof

MOST_MASS = 1 << 52
"""Largest total mass: below it the solver's floats hold every whole mass exactly."""

FARTHEST_PRICE = float(1 << 50)
"""Largest price that is rounded to a proposal; beyond it floats lose whole units."""

# Tuned: on the memory and the time of one problem (bench/transport.py).

EXACT_PAIRS = 36_000_000
"""Most pairs solved as one problem: 6000 by 6000, about a gigabyte and half a minute."""


@dataclass(frozen=True)
class Transport:
    """The cost of moving all mass, or an upper bound of it if not `exact`."""

    cost: int
    exact: bool


def transport(left: Integers, right: Integers, costs: Costs, *, limit: int | None) -> Transport:
    """The cheapest way to turn the masses `left` into `right`; both have the same total.

    Above `limit` pairs the problem is cut into blocks of equal mass along the order of both
    sides, each solved exactly. That is a feasible plan, so its cost can only be too high.
    """
    rows, columns = np.flatnonzero(left), np.flatnonzero(right)
    if not len(rows):
        return Transport(0, True)
    blocks = list(_blocks(rows, left[rows], columns, right[columns], limit))
    cost = sum(solve(a, b, costs(i, j)) for i, a, j, b in blocks)
    return Transport(cost, len(blocks) == 1)


def solve(source: Integers, target: Integers, cost: Integers) -> int:
    """The optimal cost, exactly; all masses are positive and both totals are the same."""
    proposal = proposed(source, target, cost)
    value = proved(source, target, cost, proposal)
    if value is None:
        value = proved(source, target, cost, _completed(source, target, cost, proposal))
    if value is None:
        raise AssertionError("a full plan on tight pairs alone is optimal")
    return value


class Solution(NamedTuple):
    """A plan of the mass from each row to each column, and the prices of rows and columns."""

    plan: Integers
    rows: Integers
    columns: Integers


def proved(source: Integers, target: Integers, cost: Integers, found: Solution) -> int | None:
    """The cost of a plan that moves all mass and costs what feasible prices say, else None."""
    plan, rows, columns = found
    i, j = np.nonzero(plan)
    mass = plan[i, j]
    moved = np.zeros_like(source), np.zeros_like(target)
    np.add.at(moved[0], i, mass)
    np.add.at(moved[1], j, mass)
    if (mass < 0).any() or (moved[0] != source).any() or (moved[1] != target).any():
        return None
    value = _product(mass, cost[i, j])
    return value if value == _product(source, rows) + _product(target, columns) else None


def _column_prices(cost: Integers, rows: Integers) -> Integers:
    """The highest prices of the columns at which no pair costs less than its row and column."""
    found: Integers = cost[0] - rows[0]
    for price, costs in zip(rows[1:], cost[1:], strict=True):
        np.minimum(found, costs - price, out=found)
    return found


@cache
def solver() -> Callable[..., Any]:
    """POT's exact solver, imported without the rest of POT.

    All of POT takes 3.4 seconds of processor time and loads 1,600 modules, scikit-learn and pandas
    among them, and 6.4 seconds where there is PyTorch; its package `ot.lp` alone 0.25 seconds and
    130 modules. So `ot` itself is not executed while `ot.lp` is imported, and POT's other backends
    are turned off. A later `import ot` executes it and finds the same solver.
    """
    for backend in ("PYTORCH", "JAX", "CUPY", "TENSORFLOW"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{backend}", "1")
    spec = None if "ot" in sys.modules else find_spec("ot")
    if spec is not None:
        sys.modules["ot"] = module_from_spec(spec)
    try:
        from ot.lp import emd
    finally:
        if spec is not None:
            del sys.modules["ot"]
    return emd  # type: ignore[no-any-return]


def proposed(source: Integers, target: Integers, cost: Integers) -> Solution:
    """A plan and feasible prices in whole units: good ones, if all goes well."""
    unit = 0.5 ** int(source.sum()).bit_length()  # of a total above 1 it may say "infeasible"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if it stopped early; the rest is done here
        plan, log = solver()(
            source * unit,
            target * unit,
            cost.astype(np.float64),
            numItermax=100_000_000,
            log=True,
            center_dual=False,
            check_marginals=False,
        )
    prices: Floats = np.asarray(log["u"], dtype=np.float64)
    if not (np.abs(prices) < FARTHEST_PRICE).all():
        prices = np.zeros(len(source))
    if not (np.abs(plan) <= 1).all():
        plan = np.zeros(cost.shape)
    rows = np.rint(prices).astype(np.int64)
    return Solution(np.rint(plan / unit).astype(np.int64), rows, _column_prices(cost, rows))


def _completed(source: Integers, target: Integers, cost: Integers, proposal: Solution) -> Solution:
    """An optimal plan with its prices, from a proposal that may be wrong in any way.

    Prices are feasible if no pair costs less than its row and column together; the excess is
    never negative. A plan that moves mass only where the excess is 0 is optimal. Of the proposal
    what fits that is kept; the rest is moved along shortest paths, which keep it so.
    """
    plan, rows, columns = proposal
    excess = cost - rows[:, None] - columns[None, :]
    plan = np.where(excess == 0, np.maximum(plan, 0), 0)
    plan[plan.sum(axis=1) > source] = 0
    plan[:, plan.sum(axis=0) > target] = 0
    left, right = source - plan.sum(axis=1), target - plan.sum(axis=0)
    while left.any():
        path, below, beyond = _shortest_path(excess, plan, left, right)
        rows, columns = rows + below, columns - beyond
        excess += beyond[None, :] - below[:, None]
        start, end = path[0][0], path[-1][1]
        back = [(i, j) for (_, j), (i, _) in pairwise(path)]
        mass = min(left[start], right[end], *(plan[pair] for pair in back))
        for pair in path:
            plan[pair] += mass
        for pair in back:
            plan[pair] -= mass
        left[start] -= mass
        right[end] -= mass
    return Solution(plan, rows, columns)


Path = list[tuple[int, int]]


def _shortest_path(
    excess: Integers, plan: Integers, left: Integers, right: Integers
) -> tuple[Path, Integers, Integers]:
    """A shortest path from a row with mass left to a column with room, and changes of prices.

    Dijkstra's algorithm over rows and columns: forward along any pair at its excess, back along
    pairs that the plan uses, which have none.
    """
    far = np.iinfo(np.int64).max // 2
    row_distance = np.where(left > 0, 0, far)
    column_distance = np.full(len(right), far)
    row_of, column_of = np.full(len(right), -1), np.full(len(left), -1)
    row_open, column_open = np.ones(len(left), bool), np.ones(len(right), bool)
    while True:
        i = int(np.argmin(np.where(row_open, row_distance, far + 1)))
        j = int(np.argmin(np.where(column_open, column_distance, far + 1)))
        nearest_row = row_distance[i] if row_open[i] else far + 1
        if column_open[j] and column_distance[j] <= nearest_row:
            if right[j] > 0:
                break
            column_open[j] = False
            nearer = (plan[:, j] > 0) & (row_distance > column_distance[j])
            row_distance[nearer], column_of[nearer] = column_distance[j], j
        else:
            row_open[i] = False
            through = row_distance[i] + excess[i]
            nearer = column_open & (through < column_distance)
            column_distance[nearer], row_of[nearer] = through[nearer], i
    length = column_distance[j]
    path: Path = []
    end = j
    while True:
        start = int(row_of[end])
        path.append((start, end))
        if column_of[start] < 0:
            break
        end = int(column_of[start])
    below: Integers = np.maximum(length - row_distance, 0)
    beyond: Integers = np.maximum(length - column_distance, 0)
    return path[::-1], below, beyond


def _product(masses: Integers, values: Integers) -> int:
    """Σ masses · values in integers of any size."""
    return sum(map(int.__mul__, masses.tolist(), values.tolist()))


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
