"""Distributions fitted to noisy counts, and drawing from them.

Nothing here reads a log: it is all post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.privacy.randomness import Randomness

# Tuned: effort and precision of the fit; no measurement is noted.

ITERATIONS = 60
"""Iterations of the fit at most; a dozen are usual."""

TOLERANCE = 1e-4
"""The fit ends where another iteration would lower the loss, half a χ², by less than this."""

AT_ONCE = 1 << 20
"""Number of events drawn at once; a larger log is drawn in several parts."""


@dataclass(eq=False)
class NoisyRow:
    """What noisy counts say of one distribution over the cells of a grid."""

    low: int
    """The first cell that the distribution reaches."""
    high: int
    """The cell after the last one that it reaches."""
    total: float
    """The estimated sum of its counts."""
    rounds: list[tuple[Integers, Floats, float]] = field(default_factory=list)
    """In each round: first cells of the parts, their noisy counts, deviation of the noise."""


def fit_rows(rows: list[NoisyRow], priors: Floats, weight: float) -> Floats:
    """Each row's distribution over the cells, fitted to all its rounds and shrunk to its prior.

    For a row with total N and prior q it is the p that minimises

        Σ over rounds |counts − N·p(parts)|² / 2·deviation²  +  weight·KL(p‖q),

    a convex problem. Within the common refinement of its parts p keeps the shape of q.
    """
    whole = np.zeros_like(priors)
    for row, prior, found in zip(rows, priors, whole, strict=True):
        inside = np.maximum(prior[row.low : row.high], 1e-12)
        inside = inside / inside.sum()
        starts = np.unique(np.concatenate([[row.low], *(starts for starts, _, _ in row.rounds)]))
        mass = np.add.reduceat(inside, starts - row.low)
        fitted = _fit(mass, starts, row, weight)
        widths = np.diff(np.append(starts, row.high))
        found[row.low : row.high] = inside * np.repeat(fitted / mass, widths)
    return whole


def _fit(prior: Floats, starts: Integers, row: NoisyRow, weight: float) -> Floats:
    """Newton's method on the simplex. Parts are runs of cells, so the Hessian is a band."""
    from scipy.linalg.lapack import dpbsv

    total = max(row.total, 1e-9)
    asked = [
        (np.searchsorted(first, starts, side="right") - 1, noisy / deviation, total / deviation)
        for first, noisy, deviation in row.rounds
    ]
    widest = max(int(np.bincount(part).max()) for part, _, _ in asked)
    band = np.zeros((widest, len(prior)))
    for part, _, scale in asked:
        for apart in range(int(np.bincount(part).max())):
            same = part[apart:] == part[: len(part) - apart]
            band[apart, : len(same)] += scale**2 * same

    def judged(p: Floats) -> tuple[float, Floats]:
        apart = np.log(p / prior)
        value, slope = weight * float(p @ apart), weight * apart
        for part, noisy, scale in asked:
            missing = noisy - scale * np.bincount(part, p, len(noisy))
            value += float(missing @ missing) / 2
            slope = slope - scale * missing[part]
        return value, slope

    part, noisy, scale = asked[-1]
    seen = np.maximum(noisy - 1, 0.05) / scale
    p = prior / np.bincount(part, prior, len(noisy))[part] * seen[part]
    p = np.maximum(p / p.sum(), 1e-12)
    p /= p.sum()
    value, slope = judged(p)
    for _ in range(ITERATIONS):
        hessian = band.copy()
        hessian[0] += weight / p
        _, solved, failed = dpbsv(hessian, np.stack([-slope, np.ones(len(p))], axis=1), lower=1)
        if failed:
            break
        toward, even = solved.T
        step = toward - toward.sum() / even.sum() * even
        gain = -float(slope @ step)
        if gain < TOLERANCE:
            break
        length = min(1.0, 0.95 / max(float((-step / p).max()), 1e-300))
        for _ in range(30):
            further = p + length * step
            there, slope_there = judged(further)
            if there <= value - 1e-4 * length * gain:
                break
            length /= 2
        else:
            break
        p, value, slope = further, there, slope_there
    return np.asarray(p / p.sum())


def nearest(counts: Floats, precision: Floats, total: float, trust: float) -> Floats:
    """The shares nearest to noisy counts, none negative.

    The counts' sum is first averaged with a total that is known to a relative deviation of
    `trust`, each by its precision.
    """
    variance = 1 / precision
    spread, known = float(variance.sum()), (trust * total) ** 2 + 1e-9
    wanted = (counts.sum() * known + total * spread) / (known + spread)
    if wanted <= 0:
        return np.full(len(counts), 1 / len(counts))
    order = np.argsort(-counts / variance, kind="stable")
    cut = (np.cumsum(counts[order]) - wanted) / np.cumsum(variance[order])
    last = np.flatnonzero(counts[order] > cut * variance[order])[-1]
    found = np.maximum(counts - cut[last] * variance, 0)
    return np.asarray(found / found.sum())


def equal_mass(weights: Floats, parts: int, alone: bool) -> Integers:
    """First cells of up to `parts` parts of about equal weight, cell 0 on its own if `alone`."""
    if parts >= len(weights):
        return np.arange(len(weights))
    rest = weights[1:] if alone else weights
    before = np.concatenate([[0.0], np.cumsum(rest)[:-1]]) + rest / 2
    part = np.floor(before / max(rest.sum(), 1e-300) * parts)
    starts = np.flatnonzero(np.diff(part, prepend=-1.0) > 0)
    return np.concatenate([[0], starts + 1]) if alone else np.unique(np.append(starts, 0))


def reach(
    counts: Floats, deviation: float, steps: tuple[float, ...], certain: float, downwards: bool
) -> tuple[int, int]:
    """The first group that a row reaches and the one after its last, by what is more than noise.

    The reach extends from the fullest group and those above `certain` deviations while the next w
    groups together exceed steps[w − 1] deviations of their noise, for some w. Without this a
    little noise in cells of years would ruin every mean.
    """
    sure = np.append(np.flatnonzero(counts > certain * deviation), np.argmax(counts))

    def extended(end: int, values: Floats) -> int:
        while end < len(values):
            ahead = np.cumsum(values[end : end + len(steps)])
            many = np.arange(1, len(ahead) + 1)
            if not (ahead > np.array(steps)[: len(ahead)] * deviation * np.sqrt(many)).any():
                break
            end += 1
        return end

    high = extended(int(sure.max()) + 1, counts)
    low = len(counts) - extended(len(counts) - int(sure.min()), counts[::-1]) if downwards else 0
    return low, high


def in_parts(offsets: Integers) -> Iterator[tuple[int, int, Integers]]:
    """First event, end, and offsets of the cases within it, for each part of a log."""
    parts = offsets[:-1] // AT_ONCE
    for part in np.unique(parts):
        first, last = np.searchsorted(parts, [part, part + 1])
        start, end = int(offsets[first]), int(offsets[last])
        yield start, end, offsets[first : last + 1] - start


def fractions(size: int, rng: Randomness) -> Floats:
    """Uniform numbers in [0, 1)."""
    return (rng.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def choose(weights: Floats, size: int, rng: Randomness) -> Integers:
    """Indices drawn by weight; uniformly if no weight is positive."""
    return choose_by_row(weights[None, :], np.zeros(size, dtype=np.int64), rng)


def choose_by_row(weights: Floats, rows: Integers, rng: Randomness) -> Integers:
    """A column for each entry of `rows`, drawn by the weights in that row.

    Each entry alone follows the weights of its row. Together the entries of a row have its shares
    as nearly as whole numbers allow, so that drawing adds no scatter of its own.
    """
    columns = weights.shape[1]
    empty = weights.sum(axis=1, keepdims=True) <= 0
    share = np.where(empty, 1.0, weights)
    share = np.cumsum(share / share.sum(axis=1, keepdims=True), axis=1)
    share[:, -1] = 1.0
    steps = (np.arange(len(weights))[:, None] + share).ravel()
    place = np.searchsorted(steps, rows + even_fractions(rows, rng), side="right")
    chosen: Integers = np.clip(place - rows * columns, 0, columns - 1)
    return chosen


def even_fractions(rows: Integers, rng: Randomness) -> Floats:
    """Uniform numbers in [0, 1), one in each n-th for the n entries of a row, in random order."""
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order], kind="stable")]
    many = np.bincount(rows, minlength=1)
    rank = np.empty(len(rows), dtype=np.int64)
    rank[order] = np.arange(len(rows)) - (np.cumsum(many) - many)[rows[order]]
    return (rank + fractions(len(rows), rng)) / many[rows]
