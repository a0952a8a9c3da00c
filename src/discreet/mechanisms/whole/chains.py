"""Values that are kept from one event of a case to the next."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.whole.released import Released
from discreet.mechanisms.whole.sampling import choose_by_row, fractions
from discreet.privacy.randomness import Randomness


def draw_chains(
    given: Floats, row: Integers, case: Integers, repeats: Floats, rng: Randomness
) -> tuple[Integers, Integers]:
    """A cell for each event by the shares of its row, and which event's value it takes over.

    With the probability `repeats` of its row an event keeps the cell of the one before it in its
    case, as far as its own row allows: a cell of share p there and q here is kept with the
    probability min(1, q/p), and else one is drawn from what q has more than p. So shares by row
    stay as they are, and values repeat as often as that allows.
    """
    first = np.diff(case, prepend=-1) > 0
    begin = np.maximum.accumulate(np.where(first, np.arange(len(case)), 0))
    rank = np.arange(len(case)) - begin
    cell = choose_by_row(given, row, rng)
    origin = np.arange(len(case))
    later = np.flatnonzero(~first)
    pairs, pair = np.unique(row[later - 1] * len(given) + row[later], return_inverse=True)
    more = np.maximum(given[pairs % len(given)] - given[pairs // len(given)], 0)
    tried = fractions(len(later), rng) < repeats[row[later]]
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


def beyond_chance(same: Floats, shares: Floats, released: Released, row_of: Integers) -> Floats:
    """How often events of each row must keep a value so that, with chance, it repeats so often.

    `same` has for each row how often its values are those of the event before.
    """
    many = len(shares)
    if not len(released.relations):
        return np.zeros(many)
    first = shares[row_of[released.sources]]
    here = row_of[released.targets]
    second = shares[here]
    weight = np.maximum(np.bincount(here, released.counts, many), 1e-300)

    def on_average(of_relation: Floats) -> Floats:
        return np.asarray(np.bincount(here, released.counts * of_relation, many) / weight)

    by_chance = on_average((first[:, :-1] * second[:, :-1]).sum(axis=1))
    at_most = on_average(np.minimum(first, second).sum(axis=1))
    return np.clip((same - by_chance) / np.maximum(at_most - by_chance, 1e-9), 0, 1)
