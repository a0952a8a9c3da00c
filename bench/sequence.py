"""sequence: time and memory of training, and its gradients against one case at a time.

    python bench/sequence.py

Real logs are found in DISCREET_LOGS (by default ../shared/logs beside the repository).
"""

from __future__ import annotations

import os
import resource
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import torch

from discreet.log.loading import read_log
from discreet.log.variants import Variants
from discreet.mechanisms.trained.clipping import exact_sum
from discreet.mechanisms.trained.layers import MEMORY, sequence_layers
from discreet.mechanisms.trained.sequence import Sequence
from discreet.mechanisms.trained.sequence.mechanism import seen_through
from discreet.mechanisms.trained.sequence.network import CaseBlocks, case_factors, surprises
from discreet.mechanisms.trained.sgd import fresh_weights, plain
from discreet.privacy.randomness import Randomness

FOLDER = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
LOGS = ("Sepsis", "CoSeLoG_receipt", "BPIC2013_incidents", "RoadTrafficFines")
ALONE = 40
"""Cases that are looked at one by one."""


def fast(log: Variants) -> float:
    """Seconds per case for bounded gradients, added up exactly, over all variants at once."""
    cases = CaseBlocks(log)
    layers = sequence_layers(len(log.activities))
    weights = fresh_weights(layers, Randomness.seeded(1), torch.float64)
    begin = process_time()
    for rows, _ in cases.blocks(np.arange(len(log))):
        factors, _ = case_factors(weights, rows, cases.mark)
        exact_sum([factors[name] for name in weights], 6.0, 1 << 20)
    return (process_time() - begin) / len(log)


def one_by_one(log: Variants) -> float:
    """Seconds per case for the same by plain automatic differentiation."""
    layers = sequence_layers(len(log.activities))
    weights = fresh_weights(layers, Randomness.seeded(1), torch.float64)
    leaves = {name: weight.requires_grad_() for name, weight in weights.items()}
    mark = len(log.activities)
    chosen = np.linspace(0, len(log) - 1, min(ALONE, len(log))).astype(int)
    begin = process_time()
    for index in chosen:
        codes = log.codes[log.offsets[index] : log.offsets[index + 1]].tolist()
        row = torch.tensor([[*codes, mark]])
        loss = surprises(partial(plain, leaves), row, mark, MEMORY).sum()
        torch.autograd.grad(loss, list(leaves.values()))
    return (process_time() - begin) / len(chosen)


def main() -> None:
    """Print a row for each log."""
    torch.set_num_threads(1)
    titles = ("log", "cases", "variants", "seconds", "one by one", "peak MB")
    print("{:<20}{:>9}{:>9}{:>9}{:>12}{:>9}".format(*titles))
    for name in LOGS:
        path = FOLDER / f"{name}.xes.gz"
        if not path.is_file():
            print(f"{name:<20} is not in {FOLDER}")
            continue
        log = read_log(path)
        seen = seen_through(log.variants, log.variants.activities, 64)
        ratio = one_by_one(seen) / fast(seen)
        begin = process_time()
        Sequence(epsilon=1, alphabet="from-log").release(log)
        took = process_time() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(
            f"{name:<20}{log.cases:>9,}{len(log.variants):>9,}{took:>9.1f}"
            f"{f'{ratio:.0f} times':>12}{peak:>9}",
            flush=True,
        )


if __name__ == "__main__":
    main()
