"""Support: a few central sequences that stand for many candidates. Post-processing only."""

from __future__ import annotations

import heapq
import math

import numpy as np
import numpy.typing as npt

from discreet.log.variants import Variants
from discreet.mechanisms.headtail.nearness import distances

MOST_COMPARED = 2000
"""Candidates that are compared with each other, the most frequent ones."""

LEAST_COMPARED = 60
"""Candidates that are compared in any case; three more for each case that they stand for."""

LONG_EVENTS = 30
"""Of sequences of more events on average fewer are compared, so that the time stays bounded."""

USUAL_CELLS, MOST_CELLS = 400, 1000
"""Elements that a support gains at most: the first number or, up to the second, as many as there
are cases to vote times epsilon."""

LEAST_MASS = 0.02
"""A cell is not opened if its predicted votes are below this part of the noise's deviation."""

LEAST_CELLS = 4
"""Cells that are opened whatever the noise."""


def central(candidates: Variants, head: Variants, cases: float, deviation: float) -> Variants:
    """Candidates that lower the distance of all candidates to the support the most (k-median).

    Greedy, on top of the head. `cases` is how many cases the candidates stand for, `deviation`
    that of a vote's noise. A gain only falls as the support grows, so old gains bound new ones
    and few are computed anew.
    """
    length = candidates.events / max(candidates.cases, 1)
    affordable = MOST_COMPARED * min(1.0, LONG_EVENTS / max(length, 1.0))
    compared = int(min(affordable, LEAST_COMPARED + 3 * max(cases, 0.0)))
    often = np.sort(np.argsort(-candidates.counts, kind="stable")[:compared])
    pool = candidates.take(often)
    weight = (pool.counts * (max(cases, 1.0) / max(pool.cases, 1))).astype(np.float32)
    apart = distances(pool, pool)
    left = np.ones(len(pool), dtype=np.float32)
    if len(head):
        left = distances(pool, head).min(axis=1)
    most = int(min(max(USUAL_CELLS, cases * math.sqrt(2) / deviation), MOST_CELLS))
    chosen = _greedy(apart, weight, left, most, LEAST_MASS * deviation)
    return pool.take(np.array(chosen, dtype=np.int64))


def _greedy(
    apart: npt.NDArray[np.float32],
    weight: npt.NDArray[np.float32],
    left: npt.NDArray[np.float32],
    most: int,
    least_mass: float,
) -> list[int]:
    gains = np.maximum(left - apart, 0) @ weight
    bounds = [(-float(gain), place) for place, gain in enumerate(gains)]
    heapq.heapify(bounds)
    chosen: list[int] = []
    while bounds and len(chosen) < most:
        _, place = heapq.heappop(bounds)
        closer = np.maximum(left - apart[place], 0)
        gain = float(closer @ weight)
        if bounds and gain < -bounds[0][0] * (1 - 1e-6):
            heapq.heappush(bounds, (-gain, place))
            continue
        mass = float(weight[closer > 0].sum())
        if gain <= 1e-9 or (len(chosen) >= LEAST_CELLS and mass < least_mass):
            break
        chosen.append(place)
        left = np.minimum(left, apart[place])
    return chosen
