"""Values that are kept from one event of a case to the next."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Gaussian, Step
from discreet.wholelogs.attributes import Observed
from discreet.wholelogs.courses import Courses, Released
from discreet.wholelogs.declaring import Attribute
from discreet.wholelogs.sampling import choose_by_row, fractions
from discreet.wholelogs.tables import noisy_sum


def draw_chains(
    shares: Floats, row: Integers, case: Integers, repeats: float, rng: Randomness
) -> tuple[Integers, Integers]:
    """A cell for each event by the shares of its row, and which event's value it takes over.

    With the probability `repeats` an event keeps the cell of the one before it in its case, as
    far as its own row allows: a cell of share p there and q here is kept with the probability
    min(1, q/p), and else one is drawn from what q has more than p. So shares by row stay as they
    are, and values repeat as often as that allows.
    """
    given = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    first = np.diff(case, prepend=-1) > 0
    begin = np.maximum.accumulate(np.where(first, np.arange(len(case)), 0))
    rank = np.arange(len(case)) - begin
    cell = choose_by_row(given, row, rng)
    origin = np.arange(len(case))
    later = np.flatnonzero(~first)
    pairs, pair = np.unique(row[later - 1] * len(given) + row[later], return_inverse=True)
    more = np.maximum(given[pairs % len(given)] - given[pairs // len(given)], 0)
    tried = fractions(len(later), rng) < repeats
    later, pair = later[tried], pair[tried]
    order = np.argsort(rank[later], kind="stable")
    later, pair = later[order], pair[order]
    bounds = np.searchsorted(rank[later], np.arange(1, int(rank.max(initial=0)) + 2))
    for begins, ends in pairwise(bounds.tolist()):
        here, of_pair = later[begins:ends], pair[begins:ends]
        kept = cell[here - 1]
        chance = given[row[here], kept] / np.maximum(given[row[here - 1], kept], 1e-300)
        keeps = fractions(len(here), rng) < chance
        cell[here] = np.where(keeps, kept, choose_by_row(more, of_pair, rng))
        origin[here] = np.where(keeps, origin[here - 1], here)
    return cell, origin


def learn_repeats(
    observed: Observed,
    courses: Courses,
    released: Released,
    attribute: Attribute,
    spending: Step,
    rng: Randomness,
) -> float:
    """How often an event has the value of the one before that has any."""
    held = np.flatnonzero(observed.present)
    same_case = courses.case[held[1:]] == courses.case[held[:-1]]
    second, first = held[1:][same_case], held[:-1][same_case]
    cell = (observed.codes[first] == observed.codes[second]).astype(np.int64)
    variants = released.variants
    lengths = np.maximum(variants.lengths - 1, 1) ** 1.5
    bound = max(1, round(released.weighted_quantile(lengths, 0.5))) if len(variants) else 1
    step = spending.find(attribute.step("repeats"), Gaussian)
    counts, _ = noisy_sum(courses.case[second], cell, 2, courses.cases, bound, step, rng)
    total = float(np.maximum(counts, 0).sum())
    return float(np.clip(counts[1] / total, 0, 1)) if total > 0 else 0.0


def beyond_chance(same: float, shares: Floats, released: Released, row_of: Integers) -> float:
    """How often a value must be kept so that, with chance, values repeat that often."""
    if not len(released.keys):
        return 0.0
    given = shares[:, :-1] / np.maximum(shares[:, :-1].sum(axis=1, keepdims=True), 1e-300)
    first = given[row_of[released.keys // len(released.variants.activities)]]
    second = given[row_of[released.targets]]
    weight = released.counts / released.counts.sum()
    by_chance = float(weight @ (first[:, :-1] * second[:, :-1]).sum(axis=1))
    at_most = float(weight @ np.minimum(first, second).sum(axis=1))
    return float(np.clip((same - by_chance) / max(at_most - by_chance, 1e-9), 0, 1))
