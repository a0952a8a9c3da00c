"""PM4Py as the other opinion, quiet and with its cases in our order."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.log.events import EventLog
from discreet.log.variants import Variants


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """PM4Py greets on import, draws progress bars and warns of its own future."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def frame(log: EventLog | Variants) -> Any:
    """A log as PM4Py wants it, cases (or variants, once each) named in order."""
    import pandas as pd

    names = np.array([f"{i:07d}" for i in range(len(log.offsets) - 1)])
    table = pd.DataFrame(
        {
            "case:concept:name": np.repeat(names, np.diff(log.offsets)),
            "concept:name": np.array(log.activities, dtype=object)[log.codes],
        }
    )
    table["time:timestamp"] = pd.date_range("2020-01-01", periods=len(table), freq="s")
    return table


def miner(log: EventLog | Variants, noise: float = 0.0) -> Any:
    """PM4Py's inductive miner."""
    with quiet():
        import pm4py

        return pm4py.discover_process_tree_inductive(frame(log), noise_threshold=noise)


def trace_fitness(log: EventLog | Variants, tree: Any) -> np.ndarray[Any, Any]:
    """PM4Py's token-replay fitness of each case, or of each variant."""
    with quiet():
        import pm4py
        from pm4py.algo.conformance.tokenreplay import algorithm

        net = pm4py.convert_to_petri_net(tree)
        found = algorithm.apply(frame(log), *net, parameters={"show_progress_bar": False})
    return np.array([case["trace_fitness"] for case in found])
