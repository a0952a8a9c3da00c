"""The trace-variant query by a noisy prefix tree (Mannhardt et al.), baseline of many papers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.arrays import Integers
from discreet.log.events import EventLog
from discreet.log.neighbours import Case, Pair
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import (
    FIRST_CASE,
    NEW_ACTIVITY,
    ONE_MORE,
    THREE_STEPS,
    AuditCase,
)
from discreet.mechanisms.blocks.alphabet import OverAlphabet, alphabet_status
from discreet.mechanisms.blocks.contributions import private_bound
from discreet.mechanisms.blocks.prefix_tree import (
    MOST_CANDIDATES,
    NoisyPrefixTree,
    Semantics,
    grow_by_levels,
    grow_privtree,
    privtree_noise,
)
from discreet.parameters import ParameterError, at_least, between, parameter
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, OneOf, Sequential, Statement, Step, gaussian, noise_of

PAPER = (
    "F. Mannhardt, A. Koschmider, N. Baracaldo, M. Weidlich, J. Michael: Privacy-Preserving "
    "Process Mining. Business & Information Systems Engineering 61(5), 2019"
)

LENGTHS, TREE, PRIVTREE = "histogram of lengths", "prefix tree", "PrivTree"
SPLITS, LEAVES = "splits of the tree", "counts of its leaves"

# Tuned
LENGTH_SHARE = 0.1
"""Share of epsilon for the private choice of max_length, where none is given."""

LENGTH_QUANTILE = 0.95
"""Share of the cases that the chosen max_length should not cut."""

SPLITS_SHARE = 2 / 3
"""Share of a PrivTree's budget for the splits; the rest is for the counts of its leaves."""

MOST_PUBLISHED_CANDIDATES = 5_000_000
"""Candidates on a level beyond which the published growth is refused: it would not end."""

Form = Literal["auto", "levels", "gaussian", "privtree"]


@dataclass(frozen=True, kw_only=True)
class PrefixMechanism(OverAlphabet[Variants]):
    """A mechanism that grows a noisy prefix tree of variants."""

    max_length: int | None = parameter(
        None,
        "longest variant; longer cases are cut. Default: chosen privately for a tenth of epsilon",
        between(1, 10_000),
    )
    form: Form = parameter(
        "auto",
        "strict only: how the tree is made private; auto takes the one with the least threshold",
    )
    min_count: int | None = parameter(
        None,
        "prune prefixes with a noisy count below this; default: derived from the noise",
        at_least(1),
    )

    def _validate(self) -> None:
        super()._validate()
        if self.fidelity == "published" and self.max_length is None:
            raise ParameterError("published needs max_length, which the paper sets by hand")
        if self.form == "gaussian" and self.delta == 0:
            raise ParameterError("form gaussian needs delta above 0; give one, or form levels")

    @property
    def rule_share(self) -> float:
        """Share of epsilon and delta that a subclass spends on rules."""
        return 0.0

    @property
    def length_share(self) -> float:
        """Share of epsilon that the private choice of max_length spends."""
        return LENGTH_SHARE if self.max_length is None else 0.0

    def _tree_steps(self, budget: Budget) -> tuple[Step, ...]:
        """The steps: the choice of max_length, if it is private, and the forms of the tree."""
        left = 1 - self.rule_share
        tree = prefix_tree(self.form, budget.share(left - self.length_share, left))
        if self.max_length is not None:
            return (tree,)
        return Laplace(LENGTHS, budget.share(self.length_share, 0).epsilon), tree

    def _bounded(self, log: EventLog, rng: Randomness) -> tuple[Variants, int]:
        """The log seen through the alphabet, and the tree's length; spends LENGTHS to choose it."""
        variants = self._seen(log)
        if self.max_length is not None:
            return variants, self.max_length
        chosen = private_bound(
            variants.lengths, variants.counts, LENGTH_QUANTILE, self.noise(LENGTHS), rng
        )
        return variants, chosen

    def _grown(
        self, variants: Variants, max_length: int, semantics: Semantics, rng: Randomness
    ) -> Variants:
        """The variants of a strict tree; spends TREE."""
        form = best_form(self.step(TREE, OneOf), max_length, len(variants.activities))
        if isinstance(form, Sequential):
            splits, leaves = self.step(SPLITS, Laplace), self.step(LEAVES, Laplace)
            tree = grow_privtree(variants, max_length, splits, leaves, semantics, rng)
        else:
            noise = noise_of(form, max_length)
            tree = grow_by_levels(variants, max_length, noise, semantics, rng)
        return tree.variants(tree.settled(max_length))

    @classmethod
    def _split_pair(cls, **parameters: Any) -> Pair:
        """A prefix that one case more makes large enough to be split, were it not for the noise."""
        built = cls(epsilon=1, delta=0.01, alphabet=("a", "b"), form="privtree", **parameters)
        _, bias = privtree_noise(3, built.step(SPLITS, Laplace))
        return Pair(
            "split prefix",
            "a prefix that one case more makes just large enough to be split",
            {("a", "b"): bias},
            Case(("a", "b")),
        )

    def _notes(self) -> tuple[str, ...]:
        if self.fidelity == "published":
            return ()
        return (
            f"at most {MOST_CANDIDATES:,} candidates were considered on each level",
            "cases longer than the longest variant are cut; rare endings may be missing",
        )


@dataclass(frozen=True, kw_only=True)
class LaplaceTree(PrefixMechanism):
    """Grow a tree of prefixes, each with a noisy count, and show the variants at its leaves.

    Neighbours: one case more or less. The log is first seen through the public alphabet (events
    outside it dropped, case by case), and cases are cut at max_length = D; both map each case on
    its own. Candidates range over the public alphabet and the end ⊥, counted or not, so nothing
    but noisy counts decides what is shown. Lazy growth, the bound on a level and the consistent
    counts are post-processing. Three forms of the strict tree, all within (ε, δ):

    - levels: a case adds one to at most one prefix on each of D levels, L1 sensitivity D.
      Discrete Laplace noise of scale D/ε: ε-DP.
    - gaussian (δ > 0): the same vector has L2 sensitivity √D. Discrete Gaussian noise of variance
      D/(2ρ) is ρ-zCDP, and ρ is the largest that implies (ε, δ).
    - privtree: noise that does not grow with D, and a bias that grows with depth; two thirds of ε
      for the splits, one third for the leaves' counts (`blocks/prefix_tree.py` has the proof).

    `auto` takes the form in which a prefix of length D/3, at most 6, needs the smallest count: a
    rule that reads ε, δ, D and the size of the alphabet only. Without max_length a tenth of ε
    buys a noisy histogram of lengths (one bin per case, sensitivity 1) and D is its 95% quantile.

    published: every candidate gets Laplace noise of scale 1/ε, counts below min_count are
    pruned, the variants' own counts and the last level are not (as in the authors' code). That is
    D·ε, not ε, and it is attained. If the alphabet comes from the log the bound needs it public.
    """

    name: ClassVar[str] = "laplace"
    summary: ClassVar[str] = "variants from a tree of noisy prefixes; may invent, may cut"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "variants"

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """All forms of the tree; see the base class."""
        strict, pairs = {"fidelity": "strict"}, (ONE_MORE, THREE_STEPS, NEW_ACTIVITY)
        short = {**strict, "max_length": 3}
        return (
            AuditCase({**strict, "delta": 1e-6}, (cls._split_pair(), *pairs), usual=False),
            AuditCase({**short, "form": "privtree"}, (cls._split_pair(max_length=3), *pairs)),
            AuditCase({**short, "form": "gaussian"}, pairs),
            AuditCase(
                {**strict, "max_length": 1, "form": "levels", "min_count": 1}, (*pairs, FIRST_CASE)
            ),
            AuditCase({"fidelity": "published", "max_length": 3, "min_count": 1}, pairs),
        )

    def _spending(self, budget: Budget) -> Step:
        if self.fidelity == "published":
            return published_levels(self.max_length or 1, budget.epsilon)
        return Sequential("release", self._tree_steps(budget))

    def _statement(self, asked: Budget) -> Statement:
        status, conditions = alphabet_status(self.public_alphabet)
        if self.fidelity == "published":
            levels = self.max_length or 1
            return Statement(
                f"A case is counted on each of {levels} levels of the tree, and each level costs "
                f"epsilon: {levels} times the claim, and that is attained.",
                status="refuted",
                conditions=conditions,
                claimed=Budget(asked.epsilon),
            )
        return Statement(
            "A case adds one to one prefix on each level of a tree over a public alphabet; all "
            "counts carry noise for all levels together, and only noisy counts decide.",
            status=status,
            conditions=conditions,
        )

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        variants, max_length = self._bounded(log, rng)
        if not variants.activities:
            return Variants.empty()
        if self.fidelity == "strict":
            return self._grown(variants, max_length, Semantics(self.min_count), rng)
        least = self.min_count or starting_min_count(self.case_budget.epsilon)
        levels = [self.noise(level(i)) for i in range(1, (self.max_length or 1) + 1)]
        return published_tree(variants, levels, least, rng)


def starting_min_count(epsilon: float) -> int:
    """The pruning threshold from which the authors search: 2/ε cases."""
    return math.ceil(2 / epsilon)


def level(number: int) -> str:
    """The name of a level of the published tree."""
    return f"level {number}"


def published_levels(levels: int, epsilon: float) -> Sequential:
    """The steps of a published tree: every level spends epsilon on its own."""
    return Sequential("levels", tuple(Laplace(level(i + 1), epsilon) for i in range(levels)))


def published_tree(
    variants: Variants, levels: list[CountNoise], min_count: int, rng: Randomness
) -> Variants:
    """The variants as the authors query them: ends and the last level are never pruned."""
    tree = NoisyPrefixTree(variants)
    while tree.depth < len(levels) and len(tree.open):
        refuse_explosion(tree)
        noisy = levels[tree.depth].added(tree.raw_counts(), rng)
        published_step(tree, noisy, np.full(len(noisy), min_count), len(levels))
    return published_variants(tree, len(levels))


def refuse_explosion(tree: NoisyPrefixTree) -> None:
    """Refuse a published growth that would not end in reasonable time."""
    candidates = len(tree.open) * tree.symbols
    if candidates > MOST_PUBLISHED_CANDIDATES:
        raise ParameterError(
            f"the published algorithm would consider {candidates:,} candidates on one level; raise "
            "min_count or lower max_length, or use fidelity strict, which bounds its growth"
        )


def published_step(
    tree: NoisyPrefixTree, noisy: Integers, least: Integers, max_length: int
) -> Integers:
    """Prune one level, but for ends and the last level; the numbers of the kept candidates."""
    ended = np.arange(len(noisy)) % tree.symbols == tree.end
    exempt = ended | (tree.depth + 1 == max_length)
    chosen = np.flatnonzero((noisy > 0) & (exempt | (noisy >= least)))
    every = np.ones(len(chosen), dtype=np.bool_)
    tree.grow(chosen, noisy[chosen], every, every)
    return chosen


def published_variants(tree: NoisyPrefixTree, max_length: int) -> Variants:
    """The prefixes that ended or have the full length, with their own noisy counts."""
    leaves = []
    for depth, level in enumerate(tree.levels, start=1):
        shown = (level.symbol == tree.end) | (depth == max_length)
        leaves.append(np.where(shown, level.count, 0))
    return tree.variants(leaves)


def prefix_tree(form: Form, budget: Budget) -> OneOf:
    """The forms of a strict tree, of which one is grown."""
    forms: tuple[Step, ...] = ()
    if form in ("auto", "privtree"):
        splits = budget.share(SPLITS_SHARE, 0).epsilon
        leaves = budget.share(1 - SPLITS_SHARE, 0).epsilon
        forms += (Sequential(PRIVTREE, (Laplace(SPLITS, splits), Laplace(LEAVES, leaves))),)
    if form in ("auto", "levels"):
        forms += (Laplace("all levels: Laplace", budget.epsilon),)
    if form == "gaussian" or (form == "auto" and budget.delta > 0):
        forms += (gaussian("all levels: Gaussian", budget),)
    return OneOf(TREE, forms)


def best_form(tree: OneOf, max_length: int, activities: int) -> Step:
    """The form in which a prefix of a third of max_length, or of 6, needs the smallest count.

    Thresholds are compared for 1000 candidates. Reads public facts only.
    """

    def needed(form: Step) -> float:
        if isinstance(form, Sequential):
            _, bias = privtree_noise(activities + 1, form.find(SPLITS, Laplace))
            return bias * min(max_length / 3, 6)
        return noise_of(form, max_length).threshold(1000)

    return min(tree.steps, key=needed)
