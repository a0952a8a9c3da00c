"""SaPa: traces played out from a noisy directly-follows distribution.

The play-out walks through the released distribution only, so the traces cost nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.log.events import EventLog
from discreet.log.follows import Follows
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import BROKEN_RULE, LONG_LOOP, ONE_MORE, AuditCase
from discreet.mechanisms.blocks.alphabet import alphabet_status
from discreet.mechanisms.blocks.contributions import Contributions, near_pairs
from discreet.mechanisms.blocks.rule_pruning import let_in
from discreet.mechanisms.df_laplace import FOLLOWS, FollowsMechanism, square
from discreet.mechanisms.sacofa import PAPER
from discreet.parameters import at_least, between, parameter
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Sequential, Statement, Step

NEAR = "which pairs are near"

# Tuned
NEAR_SHARE = 0.2
"""Share of epsilon and delta for knowing which activities are near each other."""

MOST_STEPS = 5_000_000
"""Most steps of a walked distribution; one of more, mere noise as a rule, is scaled down."""


@dataclass(frozen=True, kw_only=True)
class SaPa(FollowsMechanism[Variants]):
    """Draw a noisy directly-follows distribution and walk through it from start to end.

    Neighbours: one case more or less. A pair of activities is near if one follows the other
    within max_distance steps somewhere; pairs that are not near are harmful, and the exponential
    mechanism lets a few of them in (n with probability proportional to e^(−ε·n/2), which ones at
    random).

    strict: the counts are those of `df-laplace`: bounded per case, noise on every pair, (ε, δ) by
    the same proof. With max_distance 1 a pair is near if its noisy count passes the threshold:
    nothing new is read. With more a fifth of ε and δ buys noisy numbers of cases in which a pair
    is near; a case whose n + 1 steps were bounded by C has at most C·max_distance such pairs,
    and longer cases are scaled down to that. Basic composition. The play-out reads the noisy
    distribution only: post-processing.

    published: pairs, nearness and alphabet come from the raw log, noise of scale 1/ε, no bound on
    a case. In a log of 30 cases ⟨a, b, c⟩ (ε = 1) a step from c to b is in 3% of the releases,
    with one case ⟨a, c, b⟩ more in 68%; an activity of one case alone is named only if that case
    is there. No finite bound holds, with or without a longest length.
    """

    name: ClassVar[str] = "sapa"
    summary: ClassVar[str] = "traces walked through a noisy directly-follows graph"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "variants"

    max_distance: int = parameter(
        1, "pairs are near if one follows the other within this many steps", between(1, 20)
    )
    playout: Literal["auto", "balanced", "backtracking"] = parameter(
        "auto",
        "how traces are walked: after balancing the flow, or as published, leaving dead ends by "
        "going back; auto: balanced if strict",
    )
    min_count: int | None = parameter(
        None,
        "strict only: leave out near pairs with a noisy count below this; default: derived from "
        "the noise",
        at_least(1),
    )

    @property
    def near_share(self) -> float:
        """Share of epsilon and delta that nearness spends."""
        return NEAR_SHARE if self.max_distance > 1 else 0.0

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """Both kinds of noise, with and without nearness; see the base class."""
        pairs = ONE_MORE, BROKEN_RULE, LONG_LOOP
        strict = {"fidelity": "strict"}
        return (
            AuditCase(strict, pairs),
            AuditCase({**strict, "delta": 1e-6}, pairs, usual=False),
            AuditCase({**strict, "max_distance": 2}, pairs, usual=False),
            AuditCase({**strict, "max_distance": 2, "delta": 0.0}, pairs, usual=False),
            AuditCase({"fidelity": "published"}, (LONG_LOOP, BROKEN_RULE, ONE_MORE)),
        )

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "published":
            return None
        steps = self._follows_steps(budget)
        if self.near_share:
            steps = (self._counting(NEAR, budget.share(self.near_share)), *steps)
        return Sequential("release", steps)

    def _statement(self, asked: Budget) -> Statement:
        status, conditions = alphabet_status(self.public_alphabet)
        if self.fidelity == "published":
            return Statement(
                "Which pairs may appear is taken from the raw log, and a case of n events changes "
                "n + 1 counts that cost epsilon each; no finite bound holds.",
                status="refuted",
                claimed=Budget(asked.epsilon),
            )
        return Statement(
            "What a case adds to the counts of all pairs of a public alphabet is scaled down to a "
            "bound, every pair carries noise for that bound, and the traces are made from the "
            "noisy counts alone.",
            status=status,
            conditions=conditions,
        )

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        variants = self._seen(log)
        strict = self.fidelity == "strict"
        follows = (self._follows if strict else self._published_follows)(variants, rng)
        if self.playout == "balanced" or (self.playout == "auto" and strict):
            follows = balanced(follows)
        return walk_out(follows, rng)

    def _follows(self, variants: Variants, rng: Randomness) -> Follows:
        counted = Contributions.of_follows(variants)
        bound = self._chosen_bound(variants, counted, rng)
        noise = self.noise(FOLLOWS, bound)
        noisy = np.rint(
            counted.noisy_counts(variants.counts, bound, self.chosen_norm, noise, rng)
        ).astype(np.int64)
        if self.max_distance > 1:
            near = self._near(variants, bound, rng)
        else:
            near = noisy >= (self.min_count or noise.threshold(counted.size))
        least = self.min_count or noise.threshold(int(near.sum()))
        return self._let_in(variants, near, noisy, least, rng)

    def _near(self, variants: Variants, bound: int, rng: Randomness) -> Booleans:
        """The pairs that are near, by noisy numbers of cases; spends NEAR."""
        counted = Contributions.of_near(variants, self.max_distance)
        most = bound * self.max_distance
        noise = self.noise(NEAR, most)
        noisy = counted.noisy_counts(variants.counts, most, self.chosen_norm, noise, rng)
        near: Booleans = np.rint(noisy) >= noise.threshold(counted.size)
        return near

    def _let_in(
        self, variants: Variants, near: Booleans, noisy: Integers, least: int, rng: Randomness
    ) -> Follows:
        """Near pairs from the threshold on, and a few others with any positive count."""
        near[-1] = False  # ⊥ directly after ⊤
        harmful = np.flatnonzero(~near[:-1])
        rate = Fraction(self.case_budget.epsilon) / 2
        extra = harmful[let_in(np.ones(len(harmful), dtype=np.int64), rate, rng)]
        counts = np.where(near & (noisy >= least), noisy, 0)
        counts[extra] = noisy[extra].clip(0)
        return square(variants.activities, counts)

    def _published_follows(self, variants: Variants, rng: Randomness) -> Follows:
        raw = Follows.of_variants(variants).counts.astype(np.int64).ravel()
        first, second, _ = near_pairs(variants, self.max_distance)
        near = np.zeros(len(raw), dtype=np.bool_)
        near[first * (len(variants.activities) + 1) + second] = True
        noisy = CountNoise.laplace(1, self.case_budget.epsilon, FOLLOWS).added(raw, rng)
        return self._let_in(variants, near, noisy, 1, rng)


def walk_out(follows: Follows, rng: Randomness) -> Variants:
    """Walk from ⊤ to ⊥ until no walk is left, each step taken as often as it was counted.

    Algorithm 2 of the SaPa paper. The next activity is drawn in proportion to the remaining
    counts; where there is none, all steps into the dead end are removed and the walk goes one step
    back. Drawing without replacement is the same as shuffling all steps out of an activity once
    and taking them one after another, skipping those that lead to dead ends: no step costs more
    than a few operations.
    """
    mark = len(follows.activities)
    total = int(follows.counts.sum())
    counts = follows.counts if total <= MOST_STEPS else follows.counts // (total // MOST_STEPS + 1)
    steps = [_shuffled(row, rng) for row in counts]
    dead = [False] * (mark + 1)
    found: dict[tuple[int, ...], int] = {}
    while True:
        walk = _walk(steps, dead, mark)
        if walk is None:
            break
        found[walk] = found.get(walk, 0) + 1
    found.pop((), None)
    labels = follows.activities
    return Variants.from_counts(
        (tuple(labels[code] for code in walk), count) for walk, count in found.items()
    )


def _walk(steps: list[list[int]], dead: list[bool], mark: int) -> tuple[int, ...] | None:
    """One trace, or None when nothing leads out of ⊤ any more."""
    path: list[int] = []
    here = mark
    while True:
        ahead = steps[here]
        after = -1
        while ahead:
            after = ahead.pop()
            if not dead[after]:
                break
            after = -1
        if after == mark:
            return tuple(path)
        if after >= 0:
            path.append(after)
            here = after
        elif path:
            dead[path.pop()] = True
            here = path[-1] if path else mark
        else:
            return None


def _shuffled(row: Integers, rng: Randomness) -> list[int]:
    """The steps out of one activity, each as often as it was counted, in random order."""
    steps = np.repeat(np.arange(len(row)), row)
    shuffled: list[int] = steps[rng.permutation(len(steps))].tolist()
    return shuffled


def balanced(follows: Follows) -> Follows:
    """The nearest distribution in which as much flows into every activity as out of it.

    Nearest in the sum of absolute changes, over the pairs that occur: a network flow, whose
    optimum is whole. Walks through a balanced distribution end nowhere but in ⊥, so the play-out
    uses nearly every step.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    source, target = np.nonzero(follows.counts)
    counts = follows.counts[source, target]
    size, edges = len(follows.activities), len(counts)
    surplus = follows.counts.sum(axis=0)[:size] - follows.counts.sum(axis=1)[:size]
    if not surplus.any():
        return follows
    # A step more into an activity adds 1 to its surplus, a step more out of it takes 1, and a
    # step less does the opposite; ⊤ and ⊥ are free.
    rows = np.concatenate([target, source, target, source])
    columns = np.arange(4 * edges) % edges + np.repeat([0, edges], 2 * edges)
    signs = np.repeat([1.0, -1.0, -1.0, 1.0], edges)
    inner = rows < size
    flow = coo_array((signs[inner], (rows[inner], columns[inner])), shape=(size, 2 * edges))
    solved = linprog(
        np.ones(2 * edges),
        A_eq=flow.tocsc(),
        b_eq=-surplus,
        bounds=np.stack([np.zeros(2 * edges), np.append(np.full(edges, np.inf), counts)], axis=1),
        method="highs-ds",
    )
    if not solved.success:
        return follows
    more, less = np.rint(solved.x).astype(np.int64).reshape(2, edges)
    matrix = np.zeros_like(follows.counts)
    matrix[source, target] = counts + more - less
    return Follows(follows.activities, matrix)
