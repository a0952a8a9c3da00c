"""Growing a noisy prefix tree: by levels, or as a PrivTree, each within a public bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.prefix_tree import NoisyPrefixTree
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace

FIRM_FACTOR = 1.5
"""A count this many times its threshold is taken to be real even if nothing below it is kept."""

HARMLESS, HARMFUL, DROPPED = 0, 1, 2


class Semantics:
    """What is known of candidates without reading the log; here nothing, so all are alike."""

    def __init__(self, min_count: int | None = None) -> None:
        self.min_count = min_count

    def verdicts(self, tree: NoisyPrefixTree, rng: Randomness) -> Integers:
        """HARMLESS, HARMFUL or DROPPED for each candidate of the next level."""
        return np.full(len(tree.open) * tree.symbols, HARMLESS)

    def follow(self, parent: Integers, symbol: Integers) -> None:
        """These open prefixes were kept: number of the prefix before, symbol appended."""

    def threshold(self, noise: CountNoise, verdict: int, candidates: int) -> int:
        """The least noisy count of a candidate that is kept.

        What was set by hand, or else what lets about one invented prefix pass a level.
        """
        return noise.threshold(candidates) if self.min_count is None else self.min_count


def grow_by_levels(
    variants: Variants, max_length: int, noise: CountNoise, semantics: Semantics, rng: Randomness
) -> NoisyPrefixTree:
    """Noise on every candidate of every level, which then is kept or not by its noisy count.

    A case adds one to at most one candidate on each of `max_length` levels: L1 sensitivity
    max_length, L2 sensitivity √max_length. What is not considered is post-processing of the full
    noisy tree, and so is the public bound on a level: the largest noisy counts stay.
    """
    tree = NoisyPrefixTree(variants)
    while tree.depth < max_length and len(tree.open):
        allowed, verdicts = _candidates(tree, semantics, rng)
        noisy = noise.added(tree.raw_counts()[allowed], rng)
        least = _thresholds(semantics, noise, verdicts)
        kept = np.flatnonzero(noisy >= least)
        if len(kept) > tree.most_open:
            largest = np.argsort(-noisy[kept], kind="stable")[: tree.most_open]
            kept = np.sort(kept[largest])
        _grow(tree, semantics, allowed[kept], noisy[kept], least[kept])
    return tree


def grow_privtree(
    variants: Variants,
    max_length: int,
    splits: Laplace,
    leaves: Laplace,
    semantics: Semantics,
    rng: Randomness,
) -> NoisyPrefixTree:
    """A tree whose splits together cost the same however deep it is (Zhang et al. 2016).

    A prefix with count c at depth i is split iff max(θ − t, c − i·t) + X > θ, θ = 0, X discrete
    Laplace of scale λ. Only the decisions are used, never the noisy values. One case more raises
    the counts along one path by one. Where c − i·t ≤ θ − t nothing changes. Above, the biased
    counts fall by t or more per step, so the last of them exceeds θ − t and the ones before it
    are at least θ + 1, θ + 1 + t, θ + 1 + 2t, … With q = e^(−1/λ) one case changes the log-odds
    of a split at θ + k by at most 1/λ, and for k ≥ 1 by at most q^(k−1)/λ: at k = 1 exactly 1/λ,
    beyond it P[split] = 1 − q^k/(1 + q) gives q^(k−1)(1 − q)/(1 + q − q^(k−1)) ≤ q^(k−1)/λ. All
    splits: (1/λ)·(1 + Σ q^(jt)) ≤ (1/λ)·(1 + 1/(1 − e^(−t/λ))); the other direction, one prefix
    not split, 1/λ. With t ≥ λ·ln β this is at most (2β − 1)/((β − 1)λ).

    Each case lies in one leaf, so noise of scale 1/ε′ on the leaves costs ε′ more.
    """
    tree = NoisyPrefixTree(variants)
    deciding, bias = privtree_noise(tree.symbols, splits)
    noise = leaves.noise()
    while tree.depth < max_length and len(tree.open):
        allowed, verdicts = _candidates(tree, semantics, rng)
        depth = tree.depth + 1
        raw = tree.raw_counts()[allowed]
        biased = np.maximum(raw - depth * bias, -bias)
        split = deciding.positive(biased, rng)
        split &= (allowed % tree.symbols != tree.end) & (depth < max_length)
        split = _at_most(split, tree.most_open, rng)
        counted = np.zeros_like(raw)
        counted[~split] = noise.added(raw[~split], rng)
        least = _thresholds(semantics, noise, verdicts)
        kept = np.flatnonzero(split | (counted >= least))
        _grow(tree, semantics, allowed[kept], counted[kept], least[kept], split[kept])
    _add_up(tree)
    return tree


def privtree_noise(symbols: int, splits: Laplace) -> tuple[CountNoise, int]:
    """The noise, of scale λ, and the bias t per step for this alphabet, rounded up."""
    noise = splits.noise(Fraction(2 * symbols - 1, symbols - 1))
    bias = math.ceil(float(noise.size) * math.log(symbols) * (1 + 2**-40))
    return noise, max(1, bias)


def _candidates(
    tree: NoisyPrefixTree, semantics: Semantics, rng: Randomness
) -> tuple[Integers, Integers]:
    """The numbers of the candidates that are considered, and what is known of each.

    An empty case does not exist, so ⊥ at once is not a candidate.
    """
    verdicts = semantics.verdicts(tree, rng)
    if tree.depth == 0:
        verdicts[tree.end] = DROPPED
    allowed = np.flatnonzero(verdicts != DROPPED)
    return allowed, verdicts[allowed]


def _thresholds(semantics: Semantics, noise: CountNoise, verdicts: Integers) -> Integers:
    by_verdict = [
        semantics.threshold(noise, verdict, len(verdicts)) for verdict in (HARMLESS, HARMFUL)
    ]
    return np.array(by_verdict, dtype=np.int64)[verdicts]


def _grow(
    tree: NoisyPrefixTree,
    semantics: Semantics,
    chosen: Integers,
    counts: Integers,
    least: Integers,
    open_: Booleans | None = None,
) -> None:
    open_ = np.ones(len(chosen), dtype=np.bool_) if open_ is None else open_
    tree.grow(chosen, counts, counts >= FIRM_FACTOR * least, open_)
    parent, symbol = np.divmod(chosen[tree.open], tree.symbols)
    semantics.follow(parent, symbol)


def _at_most(split: Booleans, most: int, rng: Randomness) -> Booleans:
    """Undo random splits beyond the public bound: post-processing of the decisions."""
    where = np.flatnonzero(split)
    if len(where) > most:
        split[where[rng.permutation(len(where))[most:]]] = False
    return split


def _add_up(tree: NoisyPrefixTree) -> None:
    """Give every split prefix the sum of the noisy leaves below it."""
    for above, below in zip(tree.levels[-2::-1], tree.levels[::-1], strict=False):
        np.add.at(above.count, below.parent, below.count)
