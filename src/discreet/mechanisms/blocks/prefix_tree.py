"""A noisy prefix tree, grown over the exact one of a log within a public bound on each level.

It grows by levels (`grow_by_levels`), with noise on every candidate, or as a PrivTree
(`grow_privtree`), with noise on decisions to go on and on the counts of the leaves; each function
has its proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Booleans, Floats, Integers, Ints
from discreet.log.variants import Variants
from discreet.models.replay import PrefixTree
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace

HARMLESS, HARMFUL, DROPPED = 0, 1, 2
"""Verdicts on a candidate that read nothing of the log; see `Semantics`."""

# Proof
MOST_CANDIDATES = 200_000
"""Most candidates that are considered on one level, whatever the log and the budget."""

# Tuned
FIRM_FACTOR = 1.5
"""Multiple of its threshold from which on a count is taken as real even if nothing below its prefix
is kept."""


class Semantics:
    """Verdicts on candidates that read nothing of the log; here all are harmless."""

    def __init__(self, min_count: int | None = None) -> None:
        self.min_count = min_count

    def verdicts(self, tree: NoisyPrefixTree, rng: Randomness) -> Integers:
        """HARMLESS, HARMFUL or DROPPED for each candidate of the next level."""
        return np.full(len(tree.open) * tree.symbols, HARMLESS)

    def follow(self, parent: Integers, symbol: Integers) -> None:
        """Note which open prefixes were kept, by the prefix before and the symbol appended."""

    def threshold(self, noise: CountNoise, verdict: int, candidates: int) -> int:
        """The least noisy count of a candidate that is kept.

        What was set by hand, or else what lets about one invented prefix pass a level.
        """
        return noise.threshold(candidates) if self.min_count is None else self.min_count


def grow_by_levels(
    variants: Variants, max_length: int, noise: CountNoise, semantics: Semantics, rng: Randomness
) -> NoisyPrefixTree:
    """A tree whose candidates are kept or not by their noisy counts; spends the noise's step.

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
    """A tree that spends the same on its splits however deep it is (Zhang et al. 2016).

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
    """The numbers of the candidates that are considered, and the verdict on each.

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


@dataclass(frozen=True)
class NoisyLevel:
    """The prefixes of one length that were kept: parent, last symbol and noisy count of each.

    `parent` indexes the level before; the symbol after the last activity is the end ⊥. `firm`
    marks counts so far above the noise that the prefix is hardly invented.
    """

    parent: Integers
    symbol: Integers
    count: Integers
    firm: Booleans


class NoisyPrefixTree:
    """A growing tree that knows which prefixes of a log its own are.

    Candidates of the next level are numbered prefix · symbols + symbol, over the open prefixes of
    the last level. A case adds one to exactly one candidate of each level that it reaches.
    """

    def __init__(self, variants: Variants) -> None:
        self.activities = variants.activities
        self.symbols = len(variants.activities) + 1
        self.levels: list[NoisyLevel] = []
        self.open = np.zeros(1, dtype=np.int64)
        self._exact = PrefixTree(variants)
        self._prefix = np.zeros(1, dtype=np.int64)
        """The open prefix that each of the log's prefixes of this length is, or −1."""

    @property
    def depth(self) -> int:
        """The length of the longest prefixes so far."""
        return len(self.levels)

    @property
    def end(self) -> int:
        """The symbol of ⊥."""
        return self.symbols - 1

    @property
    def most_open(self) -> int:
        """Most open prefixes that the next level may have within MOST_CANDIDATES."""
        return max(1, MOST_CANDIDATES // self.symbols)

    def raw_counts(self) -> Integers:
        """The number of cases on each candidate, raw: it needs noise before it decides anything."""
        exact = self._exact
        size = len(self.open) * self.symbols
        if self.depth >= len(exact.ends):
            return np.zeros(size, dtype=np.int64)
        variants, nodes = exact.ends[self.depth]
        ended = self._prefix[nodes] * self.symbols + self.end
        keys, cases = [ended], [exact.counts[variants]]
        if self.depth < len(exact.levels):
            keys.append(self._candidates())
            cases.append(exact.levels[self.depth].cases)
        key, weight = np.concatenate(keys), np.concatenate(cases)
        inside = key >= 0
        return np.bincount(key[inside], weights=weight[inside], minlength=size).astype(np.int64)

    def _candidates(self) -> Integers:
        """The candidate of each prefix of the log's next level; negative where there is none."""
        level = self._exact.levels[self.depth]
        keys: Integers = self._prefix[level.parent] * self.symbols + level.symbol
        return keys

    def grow(self, chosen: Ints, counts: Ints, firm: Booleans, open_: Booleans) -> None:
        """Keep the chosen candidates, numbered in ascending order; continue from the open ones."""
        parent, symbol = np.divmod(np.asarray(chosen, dtype=np.int64), self.symbols)
        place = np.full(len(self.open) * self.symbols, -1, dtype=np.int64)
        going_on = np.flatnonzero(open_ & (symbol != self.end))
        place[chosen[going_on]] = np.arange(len(going_on))
        noisy = np.asarray(counts, dtype=np.int64)
        if self.depth < len(self._exact.levels):
            keys = self._candidates()
            inside = keys >= 0
            self._prefix = np.full(len(keys), -1, dtype=np.int64)
            self._prefix[inside] = place[keys[inside]]
        self.levels.append(NoisyLevel(self.open[parent], symbol, noisy, firm))
        self.open = going_on

    def sequences(self) -> list[Integers]:
        """The symbols of each level's prefixes, one row each."""
        rows = [np.zeros((1, 0), dtype=np.int64)]
        for level in self.levels:
            rows.append(np.column_stack([rows[-1][level.parent], level.symbol]))
        return rows[1:]

    def variants(self, leaves: list[Integers]) -> Variants:
        """The kept prefixes as variants without ⊥, with these counts by level, zeros left out."""
        codes, lengths, counts = [], [], []
        for rows, count in zip(self.sequences(), leaves, strict=True):
            for ended in (True, False):
                shown = np.flatnonzero((count > 0) & ((rows[:, -1] == self.end) == ended))
                size = rows.shape[1] - ended
                codes.append(rows[shown, :size].ravel())
                lengths.append(np.full(len(shown), size))
                counts.append(count[shown])
        if not codes:
            return Variants.empty()
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        flat = np.concatenate(codes).astype(np.int32)
        found = Variants(self.activities, flat, offsets, np.concatenate(counts))
        return found.merged().trimmed()

    def settled(self, max_length: int) -> list[Integers]:
        """Consistent whole counts of the tree's leaves, from the noisy counts alone.

        A leaf is a complete prefix, one of the full length, or a firm one that leads nowhere;
        other prefixes that lead nowhere are taken for invented. The cases of a prefix are shared
        out among what is left below it in proportion to the noisy counts, from the root down, so
        that what was pruned is not lost from the total.
        """
        leaf, useful = self._leaves(max_length)
        if not self.levels or not useful[0].any():
            return [np.zeros(len(level.count), dtype=np.int64) for level in self.levels]
        mass = np.array([self.levels[0].count.clip(0).sum()], dtype=np.float64)
        total = round(float(mass[0]))
        shares: list[Floats] = []
        for level, kept in zip(self.levels, useful, strict=True):
            weight = np.where(kept, level.count.clip(1), 0).astype(np.float64)
            below = np.bincount(level.parent, weights=weight, minlength=len(mass))
            mass = mass[level.parent] * weight / below.clip(1)[level.parent]
            shares.append(mass)
        shown = [np.where(ends, share, 0.0) for ends, share in zip(leaf, shares, strict=True)]
        whole = round_to_total(np.concatenate(shown), total)
        return np.split(whole, np.cumsum([len(share) for share in shown])[:-1])

    def _leaves(self, max_length: int) -> tuple[list[Booleans], list[Booleans]]:
        """Masks of each level: the leaves; and the prefixes that are one or lead to one."""
        leaf: list[Booleans] = []
        useful: list[Booleans] = []
        leads = None
        for depth in range(self.depth, 0, -1):
            level = self.levels[depth - 1]
            done = (level.symbol == self.end) | (depth == max_length)
            going = np.zeros(len(done), dtype=np.bool_) if leads is None else leads
            done |= level.firm & ~going
            leaf.insert(0, done)
            useful.insert(0, done | going)
            size = 1 if depth == 1 else len(self.levels[depth - 2].parent)
            leads = np.zeros(size, dtype=np.bool_)
            leads[level.parent[useful[0]]] = True
        return leaf, useful


def round_to_total(shares: Floats, total: int) -> Integers:
    """Whole numbers near the shares that add up to the total: largest remainders first."""
    whole = np.floor(shares).astype(np.int64)
    missing = max(0, min(total - int(whole.sum()), int((shares > 0).sum())))
    order = np.argsort(whole - shares, kind="stable")[:missing]
    whole[order] += 1
    return whole
