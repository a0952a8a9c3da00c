"""PM4Py's PRIPEL on a log at the budget of ours/wholelogs, measured by the same figures.

python bench/pripel.py Sepsis --seconds 600

Needs diffprivlib (`pip install --no-deps diffprivlib`). Its claim is not that of `whole`: the
times of a case are those of a case of the log, moved as a whole, and nothing is added to its waits.
How many released cases carry all the waits of exactly one case of the log is counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pm4py

from discreet.bench.runner import limited
from discreet.log.events import EventLog
from discreet.log.instants import microseconds
from discreet.log.loading import read_log
from discreet.utility.calendar import MEASURES, Timed

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))


def main() -> None:
    """One run; half of ε for variants (SaCoFa), half for what is added to them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", default="BPIC2013_closed_problems")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--longest", type=int, default=20, help="K of the variants: most events")
    parser.add_argument("--least", type=int, default=20, help="P of the variants: least cases")
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    if find_spec("diffprivlib") is None:
        print("not measured: it needs diffprivlib (pip install --no-deps diffprivlib)")
        return
    sys.modules["diffprivlib.models"] = ModuleType("models")  # unneeded; fails with scikit-learn
    from pm4py.algo.anonymization.pripel import algorithm as pripel
    from pm4py.algo.anonymization.trace_variant_query import algorithm as variants

    path = LOGS / f"{given.log}.xes.gz"
    frame = pm4py.read_xes(str(path), return_legacy_log_object=False)
    frame = frame[["case:concept:name", "concept:name", "time:timestamp"]]
    began = time.process_time()
    with limited(given.seconds):
        half = given.epsilon / 2
        asked = {"epsilon": half, "k": given.longest, "p": given.least}
        shapes = variants.apply(frame, parameters=asked)
        made = pripel.apply(frame, shapes, half)
    seconds = time.process_time() - began
    table = pm4py.convert_to_dataframe(made)
    raw, released = Timed(read_log(path)), Timed(read_log(table))
    print(f"{released.log.cases:,} cases, {seconds:.0f} s")
    copies, timed = copied(raw.log, released.log)
    print(f"{copies:,} of {timed:,} with waits have all waits of exactly one case of the log")
    for name, (measure, _) in MEASURES.items():
        print(f"{name:24} {measure(raw, released):.3g}")


def copied(raw: EventLog, released: EventLog) -> tuple[int, int]:
    """Released cases whose waits, to the microsecond, are those of one case of the log alone."""
    known = Counter(waits_of(raw))
    found = [waits for waits in waits_of(released) if waits]
    return sum(known[waits] == 1 for waits in found), len(found)


def waits_of(log: EventLog) -> list[tuple[int, ...]]:
    """The waits between the events of each case, in microseconds."""
    times = np.split(microseconds(log), log.offsets[1:-1])
    return [tuple(np.diff(one).tolist()) for one in times]


if __name__ == "__main__":
    main()
