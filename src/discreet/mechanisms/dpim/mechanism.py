"""DPIM: the differentially private Inductive Miner."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from discreet.log.events import EventLog, Reads
from discreet.log.neighbours import Pair
from discreet.mechanisms.audit_cases import (
    SWAP_ENDLESS_CASE,
    SWAP_FAR_AHEAD,
    SWAP_NEW_ACTIVITY,
    SWAP_ONLY_CASE,
    SWAP_OTHER_ORDER,
    AuditCase,
)
from discreet.mechanisms.base import Fidelity
from discreet.mechanisms.blocks.alphabet import (
    OverAlphabet,
    alphabet_status,
    labels_of,
    required_alphabet,
)
from discreet.mechanisms.dpim.case_statistics import GRID, CaseStatistics
from discreet.mechanisms.dpim.noisy_graph import choose, graph_steps, pair_noise
from discreet.mechanisms.dpim.sampler import Sampler, round_steps
from discreet.models.writers import TreeDocument
from discreet.parameters import (
    ParameterError,
    below_one,
    between,
    parameter,
    unit_interval,
)
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import RandomStopping, Sequential, Statement, Step

PAPER = (
    "M. Schulze, Y. Zisgen, M. Kirschte, E. Mohammadi, A. Koschmider: Differentially Private "
    "Inductive Miner. ICPM 2024, arXiv:2407.04595"
)


TIED_TREES = Pair.told(
    "swap: tied trees",
    "a case that repeats a loop more often, but has the same pairs, decides between two trees",
    f"20 ab, 7 abab, 12 {'ab' * 15} + {'ab' * 15} - abab",
)
CONCURRENT = Pair.told(
    "swap: concurrent activities",
    "two activities in either order, so that a cut reads who begins and ends within it",
    "4000 abcd, 4000 acbd + acbdabcd - abcdacbd",
    public={"fewest_pairs": 8, "most_pairs": 8},
)
MORE_LOOPS = Pair.told(
    "swap: more loops",
    "a case that repeats a loop more often, but has the same pairs, fits the tree less",
    f"4000 ab + {'ab' * 15} - abab",
    public={"fewest_pairs": 3, "most_pairs": 3},
)


@dataclass(frozen=True, kw_only=True)
class DPIM(OverAlphabet[TreeDocument]):
    """Release a process tree.

    Neighbours: one case replaced by another (swap), so the number of cases is public. Public
    besides: the alphabet, and all parameters. Events outside the alphabet are passed over, case
    by case. A replaced case may also vanish or appear; it then counts as one that contributes
    nothing, which every sensitivity below allows.

    strict, method="graph" (default). Three steps read the log:
    1. The number of cases in which each pair of (A ∪ {START}) × (A ∪ {END}) occurs. A case with
       k pairs gives each the weight min(1, w/k)^(1/2), w = max_pairs, rounded down on a grid: its
       vector is nonnegative of squared norm at most w, so a swap moves the sum by at most √(2w)
       in L2. Discrete Gaussian noise of variance 2w/(2ρ₁) on every cell, selected or not: ρ₁-zCDP
       (Canonne, Kane, Steinke 2020). With delta = 0: weights min(1, w/k), L1 distance at most 2w,
       discrete Laplace noise of scale 2w/ε₁: ε₁-DP.
    2. Trees are made from that one noisy matrix, with several thresholds that are multiples of
       the noise: post-processing. One is chosen by the exponential mechanism; its score is a sum
       over cases of a value in [0, 1] that depends on that case and the tree alone, so a swap
       moves it by at most 1: ε₂-DP, and ε₂²/8-zCDP (Cesar, Rogers 2021).
    3. The sum over cases of fitness in [0, 1], a swap moves it by at most 1, with noise: ρ₃-zCDP
       or ε₃-DP. If the noisy mean is below min_fitness, ⊥ is released.
    Adaptive composition adds up ρ (ε); the conversion of ρ₁ + ρ₂ + ρ₃ at δ gives ε. There is no
    rejection, so no factor of two, and nothing is read twice.

    strict, method="sampler": the paper's rejection sampler, repaired, pure ε. A round (top-n of
    the pairs, their counts, starts and ends, fitness) is ε/2-DP: r₁/2 for n rounds of
    permute-and-flip at ε₁r₁/2n each with sensitivities for swap; r₁/2 for n counts that a swap
    moves by at most 1 each; r₂ for at most max_cuts readings of first and last activities with
    equal shares (a swap moves each of the two histograms by 2); r₃ for the mean fitness over
    cases. n is uniform within public bounds. Stopping with probability γ after every rejected
    round and no other limit makes the output exactly 2·ε/2-DP: the probability of an accepted
    (x, q) is P[x, q]/(γ + (1 − γ)p), p = P[q ≥ t], and of ⊥ γ(1 − p)/(γ + (1 − γ)p); numerator and
    denominator each move by a factor of e^(ε/2). Only the accepted round is released. The time a
    release takes tells how many rounds there were: do not publish it.

    published: Algorithms 1 to 5 as printed. Its claim is refuted: see `_published_statement`.
    """

    name: ClassVar[str] = "dpim"
    summary: ClassVar[str] = "a process tree, discovered from noisy directly-follows counts"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "process tree"
    reads: ClassVar[Reads] = "variants"
    suffixes: ClassVar[tuple[str, ...]] = TreeDocument.suffixes

    delta: float = parameter(
        1e-6,
        "probability of an exception from epsilon; 0 for pure epsilon (method graph only)",
        below_one,
    )
    fidelity: Fidelity = parameter(
        "strict", "strict: what holds; published: the paper's algorithm, whose claim fails"
    )
    method: Literal["graph", "sampler"] = parameter(
        "graph",
        "strict only: one noisy graph and a private choice of the tree, or the paper's rejection "
        "sampler repaired",
    )
    min_fitness: float = parameter(
        0.9, "no tree is released if its noisy fitness is below this (paper: 0.95)", unit_interval
    )
    share_pairs: float = parameter(
        0.65, "r1: share of the budget for the pairs and their counts", between(0.01, 0.98)
    )
    share_structure: float = parameter(
        0.25,
        "r2: share for the choice of the tree (sampler: for starts and ends within cuts)",
        between(0.01, 0.98),
    )
    share_fitness: float = parameter(0.1, "r3: share for the fitness", between(0.01, 0.98))
    max_pairs: int = parameter(
        8,
        "graph: a case with more different pairs than this counts less in each of them",
        between(1, 1000),
    )
    fitness_weight: float = parameter(
        0.85,
        "graph: how much fitness weighs against narrowness when the tree is chosen",
        unit_interval,
    )
    fewest_pairs: int | None = parameter(
        None,
        "sampler: lower bound of how many pairs are selected; default: the number of activities "
        "(published: from the log, as the paper does)",
        between(1, 1_000_000),
    )
    most_pairs: int | None = parameter(
        None,
        "sampler: upper bound of the same; default: four per activity (published: from the log)",
        between(1, 1_000_000),
    )
    max_cuts: int = parameter(
        4, "sampler, strict: how often starts and ends are read from the log", between(1, 100)
    )
    stop: float = parameter(
        0.01, "sampler: gamma, the chance to give up after a rejected tree", between(0.001, 1)
    )
    epsilon0: float = parameter(
        0.01, "published: the share of epsilon for limiting the rounds", between(1e-6, 1)
    )

    def _validate(self) -> None:
        required_alphabet(self.alphabet)
        super()._validate()
        total = self.share_pairs + self.share_structure + self.share_fitness
        if total > 1 + 1e-9:
            raise ParameterError(
                f"share_pairs, share_structure and share_fitness add up to {total:g}, which is "
                "more than 1"
            )
        if self.fewest_pairs and self.most_pairs and self.fewest_pairs > self.most_pairs:
            raise ParameterError(
                f"fewest_pairs is {self.fewest_pairs}, more than most_pairs = {self.most_pairs}"
            )
        if self.fidelity == "published" and self.epsilon0 >= self.epsilon:
            raise ParameterError(
                f"epsilon0 = {self.epsilon0:g} must be less than epsilon = {self.epsilon:g}"
            )

    @property
    def sampled(self) -> bool:
        """Whether the paper's sampler runs."""
        return self.fidelity == "published" or self.method == "sampler"

    @property
    def target(self) -> Budget:
        """The budget asked for; the sampler is pure."""
        return Budget(self.epsilon, 0.0 if self.sampled else self.delta)

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares r1, r2 and r3 of the paper."""
        return self.share_pairs, self.share_structure, self.share_fitness

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """Both methods, both kinds of noise; see the base class."""
        strict = {"fidelity": "strict"}
        refuted = {
            "fidelity": "published",
            "share_pairs": 0.7,
            "share_structure": 0.05,
            "share_fitness": 0.25,
            "min_fitness": 0.0,
            "fewest_pairs": 3,
            "most_pairs": 3,
        }
        pairs = SWAP_OTHER_ORDER, SWAP_FAR_AHEAD, TIED_TREES, SWAP_ENDLESS_CASE, SWAP_NEW_ACTIVITY
        sampler = {**strict, "method": "sampler"}
        return (
            AuditCase(strict, pairs),
            AuditCase({**strict, "delta": 1e-6}, pairs, usual=False),
            AuditCase({**strict, "delta": 0.0}, pairs, usual=False),
            AuditCase({**sampler, "min_fitness": 0.0}, (SWAP_ONLY_CASE, CONCURRENT, MORE_LOOPS)),
            AuditCase(
                {**sampler, "min_fitness": 0.0, "fewest_pairs": 2, "most_pairs": 2},
                (SWAP_FAR_AHEAD,),
                usual=False,
            ),
            AuditCase(sampler, (SWAP_OTHER_ORDER, SWAP_ENDLESS_CASE), usual=False),
            AuditCase(refuted, (SWAP_ENDLESS_CASE, SWAP_NEW_ACTIVITY)),
        )

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "published":
            return None
        if self.sampled:
            each = budget.share(0.5).epsilon
            return RandomStopping("rounds", round_steps(each, self.shares))
        return graph_steps(budget, self.shares)

    def _statement(self, asked: Budget) -> Statement:
        if self.fidelity == "published":
            return self._published_statement(asked)
        status, conditions = alphabet_status(self.public_alphabet)
        reason = (
            "Each round spends half of epsilon; stopping at random after each rejected round makes "
            "the accepted one cost twice that, however many there were."
            if self.sampled
            else "Noise hides how often each pair of activities occurs, for every pair of the "
            "alphabet; trees are made of these noisy numbers only; one is chosen by a score in "
            "which every case weighs the same little, and its fitness is noisy too."
        )
        return Statement(reason, status, "swap", (*conditions, *self._public_number))

    @property
    def _tree(self) -> Step:
        assert self.spending is not None
        return self.spending

    @property
    def _public_number(self) -> tuple[str, ...]:
        if self.cases_per_individual is None:
            return ("the number of cases",)
        return ("the number of individuals",)

    def _published_statement(self, asked: Budget) -> Statement:
        """The guarantee as published: what the paper claims and why it fails.

        Report Noisy Max with Laplace noise of scale 1/ε costs 2ε under swap (one count falls,
        another rises); starts and ends are read anew in every sibling subtree, at worst |A|/2
        times with half of r₂ each; log fitness pools the tokens of all cases, so that one long case
        moves it by far more than 1/|L|. With a public alphabet and public bounds the loss is at
        most 2ε₁(1.5·r₁ + (|A|/4)·r₂ + |L|·Δ·r₃) + ε₀, where Δ, the most that one case moves
        the fitness, is not known beforehand.
        """
        reason = (
            "Choosing pairs by noisy maximum costs twice what is claimed when one case replaces "
            "another; sibling subtrees each read the whole log; the fitness pools the tokens of "
            "all cases, so a case of 200 events among 99 of two moves it by 0.40 where 0.01 is "
            "claimed"
        )
        if not (self.fewest_pairs and self.most_pairs):
            reason += "; the numbers of pairs to select are taken from the log"
        if not isinstance(self.public_alphabet, str):
            pairs, structure, fitness = self.shares
            inner = 1.5 * pairs + len(self.public_alphabet) / 4 * structure + fitness
            least = (asked.epsilon - self.epsilon0) * inner + self.epsilon0
            reason += (
                f". Even with a fitness that is a mean over cases, and public bounds, only "
                f"ε = {least:.3g} would be proved"
            )
        return Statement(
            reason + ".",
            status="refuted",
            neighbours="swap",
            conditions=alphabet_status(self.public_alphabet)[1] + self._public_number,
            claimed=asked,
        )

    def _notes(self) -> tuple[str, ...]:
        notes = ["activities that the noise drowns are not in the tree"]
        if not self.sampled:
            notes.append("a tree that allows everything means that the noise hid all structure")
            noise = pair_noise(self._tree, self.max_pairs)
            notes.append(
                f"the noise on each pair has a standard deviation of {noise.deviation / GRID:.1f} "
                "cases"
            )
        notes.append(
            f"a tree is released only if its noisy fitness is at least {self.min_fitness:g}"
        )
        return tuple(notes)

    def _prepare(self) -> None:
        super()._prepare()
        if not self.sampled:
            pair_noise(self._tree, self.max_pairs)

    def _draw(self, log: EventLog, rng: Randomness) -> TreeDocument:
        return next(self._draw_many(log, 1, rng))

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[TreeDocument]:
        cases = CaseStatistics(log.variants, labels_of(self.public_alphabet, log.variants))
        return (self._document(cases, rng) for _ in range(runs))

    def _document(self, cases: CaseStatistics, rng: Randomness) -> TreeDocument:
        if self.sampled:
            tree, fitness = self._sampler(cases).draw(cases, rng)
        else:
            weights = self.max_pairs, self.fitness_weight, self.min_fitness
            tree, excess = choose(cases, self._tree, *weights, rng)
            fitness = self.min_fitness + excess / max(cases.number, 1)
        # With individuals the number of cases is not public, and the mean would tell it.
        shown = None if tree is None or self.cases_per_individual else min(max(fitness, 0.0), 1.0)
        return TreeDocument(tree, shown)

    def _sampler(self, cases: CaseStatistics) -> Sampler:
        published = self.fidelity == "published"
        epsilon = self.case_budget.epsilon
        rounds = None
        if published:
            epsilon -= self.epsilon0
            rounds = math.ceil(
                max(math.log(2 / self.epsilon0) / self.stop, 1 + 1 / (math.e * self.stop))
            )
        return Sampler(
            round=round_steps(epsilon / 2, self.shares)
            if published
            else self.step("a round", Sequential),
            pairs=self._pair_bounds(cases),
            stop=self.stop,
            min_fitness=self.min_fitness,
            max_cuts=self.max_cuts,
            published=published,
            rounds=rounds,
        )

    def _pair_bounds(self, cases: CaseStatistics) -> tuple[int, int]:
        """Bounds on n. The paper's own come from the log: 15 around the pairs that occur."""
        activities = len(cases.labels)
        lowest, highest = activities, 4 * activities
        if self.fidelity == "published":
            occurring = int((cases.pair_counts() > 0).sum())
            lowest = max(5 * math.ceil((occurring - 15) / 5), activities)
            highest = min(5 * math.ceil((occurring + 15) / 5), activities**2)
        most = (activities + 1) ** 2 - 1
        highest = min(self.most_pairs or highest, most)
        lowest = min(self.fewest_pairs or lowest, highest)
        return max(lowest, 1), max(highest, lowest, 1)
