"""From noisy counts to distributions. Nothing here reads a log: it is all post-processing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import Floats, Integers

ITERATIONS = 60
"""Of the fit at most; a dozen are usual."""

TOLERANCE = 1e-4
"""The fit ends where another iteration would lower the loss, half a χ², by less than this."""


@dataclass(eq=False)
class Row:
    """What is known of one distribution over the cells `low` to `high` of a grid.

    Each round has the first cells of its parts, their noisy counts and the noise's deviation.
    """

    low: int
    high: int
    total: float
    rounds: list[tuple[Integers, Floats, float]] = field(default_factory=list)


def fit_rows(rows: list[Row], priors: Floats, weight: float) -> Floats:
    """Each row's distribution over the cells, all rounds of it together, drawn to its prior.

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


def _fit(prior: Floats, starts: Integers, row: Row, weight: float) -> Floats:
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

    The counts' sum is first joined with a total that is known to a relative deviation of `trust`.
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
    """First cells of up to so many parts of about equal weight; the first cell perhaps alone."""
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
    """From which to before which group a row reaches, by what the noise cannot explain.

    From the fullest group and those that are certain it goes on while the next w groups together
    exceed steps[w − 1] deviations of their noise, for some w. Without this a little noise in
    cells of years would ruin every mean.
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
