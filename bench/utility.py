"""Our token replay and precision against PM4Py's in one run, and the speed of log similarity.

python bench/utility.py --sizes 1000 2000 4000    also of larger logs
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.models.replay import replay
from discreet.models.similarity import log_similarity
from discreet.utility.difference import absolute_log_difference
from discreet.utility.model import Model, discover

ROOT = Path(__file__).parent.parent


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the seconds it takes."""
    began = time.perf_counter()
    result = action()
    return result, time.perf_counter() - began


def replay_against_pm4py(path: Path) -> None:
    """Fitness, precision and generalisation of the discovered model, both ways."""
    from pm4py.algo.evaluation.generalization import algorithm as generalization
    from pm4py.algo.evaluation.precision import algorithm as precision
    from pm4py.algo.evaluation.replay_fitness import algorithm as fitness

    log = read_log(path)
    model = discover(log.variants)
    net, initial, final = model.pm4py_net
    names = ["case:concept:name", "concept:name", "time:timestamp"]
    frame = log.frame.select(names).to_pandas()
    quiet = {"show_progress_bar": False}
    ours, seconds = timed(lambda: model.quality(log.variants))
    tokens, escaping = fitness.Variants.TOKEN_BASED, precision.Variants.ETCONFORMANCE_TOKEN
    theirs = {
        "fitness": timed(
            lambda: fitness.apply(frame, net, initial, final, quiet, variant=tokens)["log_fitness"]
        ),
        "precision": timed(
            lambda: precision.apply(frame, net, initial, final, quiet, variant=escaping)
        ),
        "generalisation": timed(lambda: generalization.apply(frame, net, initial, final, quiet)),
    }
    print(f"{path.name.partition('.')[0]}: all figures by ours in {seconds:.2f} s")
    for name, (value, taken) in theirs.items():
        mine = getattr(ours, name)
        print(f"  {name:<15} ours {mine:.4f}  PM4Py {value:.4f}  PM4Py takes {taken:6.2f} s")
    print(f"  precision with every enabled activity counted: {ours.precision_complete:.4f}")
    share = missed(log.variants, model)
    print(f"  prefixes after which PM4Py misses an enabled activity: {share:.0%}")
    whole = sum(taken for _, taken in theirs.values())
    print(f"  ratio PM4Py / ours: {whole / seconds:.0f}")


def missed(variants: Variants, model: Model) -> float:
    """The share of prefixes that fit, weighted by cases, whose enabled activities differ."""
    result = replay(model.net, variants)
    names = np.array(result.automaton.activities)
    enabled = result.automaton.enabled()
    seen: dict[int, bool] = {}
    wrong = whole = 0.0
    levels = zip(result.states, result.fitting, result.prefixes.levels, strict=False)
    for states, fits, level in list(levels)[1:]:
        going_on = np.bincount(level.parent, weights=level.cases, minlength=len(states))
        for state, cases in zip(states[fits].tolist(), going_on[fits].tolist(), strict=True):
            if cases and state not in seen:
                theirs = model.pm4py_enabled(result.automaton.marked(state))
                seen[state] = set(theirs) != set(names[enabled[state]])
            wrong += cases * seen.get(state, False)
            whole += cases
    return wrong / whole


def similarity_speed(sizes: list[int]) -> None:
    """Exact similarity and difference of logs with so many variants on each side."""
    cases = 100 * max(sizes)
    logs = [sample_log("permits", cases=cases, seed=seed).variants for seed in (1, 2)]
    print(f"{'variants':>9}{'similarity':>12}{'seconds':>9}{'edits':>12}{'seconds':>9}")
    for size in sizes:
        if size > min(map(len, logs)):
            print(f"{size:>9}  the samples have only {min(map(len, logs))} variants")
            continue
        random = np.random.default_rng(0)
        chosen = [np.sort(random.permutation(len(log))[:size]) for log in logs]
        left, right = (log.take(which) for log, which in zip(logs, chosen, strict=True))
        near, first = timed(partial(log_similarity, left, right))
        far, second = timed(partial(absolute_log_difference, left, right))
        print(f"{size:>9}{near.value:>12.4f}{first:>9.2f}{far.cost:>12.0f}{second:>9.2f}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", default="Sepsis.xes.gz")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 2000])
    options = parser.parse_args()
    folder = Path(os.environ.get("DISCREET_LOGS", ROOT.parent / "shared" / "logs"))
    if (folder / options.log).is_file():
        replay_against_pm4py(folder / options.log)
    else:
        print(f"{options.log} is not in {folder}: name the folder in DISCREET_LOGS")
    similarity_speed(options.sizes)


if __name__ == "__main__":
    main()
