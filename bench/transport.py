"""Exact optimal transport: POT beside other solvers that PyPI has, on the variants of real logs.

Each problem moves a log's variants to the uniform distribution over them. CPU seconds of one solve,
in whole units of mass and cost, and the optimum that each finds. OR-Tools is tried where
it is installed; POT's size is that of what pip put on the disk.
"""

from __future__ import annotations

import importlib.metadata
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from discreet import read_log
from discreet.arrays import Integers
from discreet.models.edits import edit_distances
from discreet.models.transport import solve

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
UNIT = 1 << 20
"""What a cost of 1 is in whole units."""


def or_tools(source: Integers, target: Integers, cost: Integers) -> int:
    """Minimum cost flow by cost scaling, in integers."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    rows, columns = cost.shape
    left, right = np.divmod(np.arange(rows * columns), columns)
    flow = SimpleMinCostFlow()
    room = np.minimum(source[left], target[right])
    flow.add_arcs_with_capacity_and_unit_cost(left, right + rows, room, cost.ravel())
    flow.set_nodes_supplies(np.arange(rows + columns), np.concatenate([source, -target]))
    assert flow.solve() == flow.OPTIMAL
    return int(flow.optimal_cost())


def main() -> None:
    """Print a table."""
    files = importlib.metadata.files("pot") or []
    size = sum(
        Path(str(f.locate())).stat().st_size for f in files if Path(str(f.locate())).exists()
    )
    print(f"POT {importlib.metadata.version('pot')}, {size / 1e6:.1f} MB on the disk")
    solvers: dict[str, Callable[[Integers, Integers, Integers], int]] = {"ours with POT": solve}
    if find_spec("ortools"):
        solvers["OR-Tools"] = or_tools
    one: Integers = np.ones(1, dtype=np.int64)
    for run in solvers.values():
        run(one, one, one[None, :])  # so that no import is timed
    for name in ("Sepsis", "BPIC2013_incidents"):
        variants = read_log(LOGS / f"{name}.xes.gz").variants
        many = len(variants.counts)
        cost = np.floor(edit_distances(variants, variants) * UNIT).astype(np.int64)
        source = variants.counts.astype(np.int64) * many
        target: Integers = np.full(many, int(variants.counts.sum()), dtype=np.int64)
        for solver, run in solvers.items():
            before = time.process_time()
            value = run(source, target, cost)
            spent = time.process_time() - before
            print(f"{name} {many} × {many}: {solver} {spent:.2f} s, optimum {value}")


if __name__ == "__main__":
    main()
