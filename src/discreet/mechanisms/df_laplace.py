"""DF-Laplace: a noisy directly-follows distribution with start ⊤ and end ⊥."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.arrays import Integers
from discreet.log.events import EventLog
from discreet.log.follows import Follows
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import LONG_LOOP, ONE_MORE, VERY_LONG_CASE, AuditCase
from discreet.mechanisms.blocks.alphabet import OverAlphabet, alphabet_status
from discreet.mechanisms.blocks.contributions import Contributions, Norm, private_bound
from discreet.mechanisms.laplace import PAPER
from discreet.parameters import ParameterError, at_least, between, parameter
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Sequential, Statement, Step, gaussian
from discreet.releases import A_co

FOLLOWS, BOUND = "directly-follows counts", "bound on a case's contribution"

# Tuned
BOUND_SHARE = 0.1
"""Share of epsilon for the private choice of the bound, where none is given."""

BOUND_QUANTILE = {"l1": 0.8, "l2": 0.9}
"""Share of the cases that the chosen bound should leave as they are, by norm."""


@dataclass(frozen=True, kw_only=True)
class FollowsMechanism(OverAlphabet[A_co]):
    """A mechanism that counts directly-follows pairs, each case up to a bound."""

    norm: Literal["auto", "l1", "l2"] = parameter(
        "auto",
        "strict only: how a case's contribution is bounded: by its sum (l1, Laplace noise), or its "
        "sum of squares (l2, Gaussian noise, needs delta); auto: l2 if delta is above 0",
    )
    bound: int | None = parameter(
        None,
        "strict only: most steps (l1), or sum of squared steps (l2), that a case may contribute. "
        "Default: chosen privately for a tenth of epsilon",
        between(1, 10_000),
    )

    def _validate(self) -> None:
        super()._validate()
        if self.norm == "l2" and self.delta == 0:
            raise ParameterError("norm l2 needs delta above 0; give one, or norm l1")

    @property
    def chosen_norm(self) -> Norm:
        """The norm in which contributions are bounded."""
        if self.norm == "auto":
            return "l2" if self.delta > 0 else "l1"
        return self.norm

    @property
    def near_share(self) -> float:
        """Share of epsilon and delta that a subclass spends on nearness."""
        return 0.0

    @property
    def bound_share(self) -> float:
        """Share of epsilon that the private choice of the bound spends."""
        return BOUND_SHARE if self.bound is None else 0.0

    def _counting(self, name: str, budget: Budget) -> Step:
        """The step of counts whose contributions are bounded in the chosen norm."""
        if self.chosen_norm == "l1":
            return Laplace(name, budget.epsilon)
        return gaussian(name, budget)

    def _follows_steps(self, budget: Budget) -> tuple[Step, ...]:
        left = 1 - self.near_share
        counts = self._counting(FOLLOWS, budget.share(left - self.bound_share, left))
        if self.bound is not None:
            return (counts,)
        return Laplace(BOUND, budget.share(self.bound_share, 0).epsilon), counts

    def _chosen_bound(self, variants: Variants, counted: Contributions, rng: Randomness) -> int:
        """The bound on a case's contribution: as given, or chosen privately, which spends BOUND."""
        norm = self.chosen_norm
        return self.bound or private_bound(
            counted.norms(norm, len(variants)).astype(np.int64),
            variants.counts,
            BOUND_QUANTILE[norm],
            self.noise(BOUND),
            rng,
        )


@dataclass(frozen=True, kw_only=True)
class DFLaplace(FollowsMechanism[Follows]):
    """Count how often one activity directly follows another, with noise on every pair.

    Neighbours: one case more or less. The log is seen through the public alphabet A, and every
    pair of (A ∪ {⊤}) × (A ∪ {⊥}) gets noise, seen or not. A case of n events adds n + 1 to the
    sum of all counts, without limit; so its vector v of pairs is scaled down to a bound first:
    to |v|₁ ≤ C (l1), or |v|₂² ≤ C (l2), and each entry is rounded down to a grid of 1/1024, case
    by case. Scaling keeps what flows into an activity equal to what flows out. On the grid the
    sum is whole and has sensitivity C, or √C: discrete Laplace noise of scale C/ε is ε-DP, and
    discrete Gaussian noise of variance C/(2ρ) is ρ-zCDP with the largest ρ that implies (ε, δ).
    Counts below a threshold from the noise are left out: post-processing.

    Without a bound a tenth of ε buys a noisy histogram of the cases' sizes (one bin per case,
    sensitivity 1); the bound is its 80% quantile (l1) or 90% (l2).

    published: noise of scale 1/ε on every pair and no bound. A case of n events changes n + 1
    counts, so (n + 1)·ε would hold for a public longest length n only; cases are as long as they
    are, so no finite bound holds.
    """

    name: ClassVar[str] = "df-laplace"
    summary: ClassVar[str] = "how often one activity directly follows another, with noise"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "follows"
    suffixes: ClassVar[tuple[str, ...]] = Follows.suffixes

    min_count: int | None = parameter(
        None,
        "leave out pairs with a noisy count below this; default: derived from the noise",
        at_least(1),
    )

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """Both kinds of noise, a bound that is private or given; see the base class."""
        pairs = ONE_MORE, LONG_LOOP, VERY_LONG_CASE
        strict = {"fidelity": "strict"}
        return (
            AuditCase(strict, pairs),
            AuditCase({**strict, "delta": 1e-6}, pairs, usual=False),
            AuditCase({**strict, "delta": 0.0, "bound": 3, "min_count": 1}, pairs),
            AuditCase({"fidelity": "published"}, (VERY_LONG_CASE, LONG_LOOP, ONE_MORE)),
        )

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "published":
            return None
        return Sequential("release", self._follows_steps(budget))

    def _statement(self, asked: Budget) -> Statement:
        status, conditions = alphabet_status(self.public_alphabet)
        if self.fidelity == "published":
            return Statement(
                "A case of n events changes n + 1 counts and each costs epsilon; without a public "
                "longest length no finite bound holds.",
                status="refuted",
                conditions=conditions,
                claimed=Budget(asked.epsilon),
            )
        return Statement(
            "What a case adds to the counts of all pairs of a public alphabet is scaled down to a "
            "bound, and every pair carries noise for that bound.",
            status=status,
            conditions=conditions,
        )

    def _draw(self, log: EventLog, rng: Randomness) -> Follows:
        variants = self._seen(log)
        if self.fidelity == "published":
            return published_follows(variants, self.case_budget.epsilon, rng)
        counted = Contributions.of_follows(variants)
        bound = self._chosen_bound(variants, counted, rng)
        return next(self._bounded(1, variants, counted, bound, rng))

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[Follows]:
        if self.fidelity == "published" or self.bound is None:
            return (self._draw(log, rng) for _ in range(runs))
        variants = self._seen(log)
        return self._bounded(runs, variants, Contributions.of_follows(variants), self.bound, rng)

    def _bounded(
        self, runs: int, variants: Variants, counted: Contributions, bound: int, rng: Randomness
    ) -> Iterator[Follows]:
        """Independent releases with this bound on a case's contribution; each spends FOLLOWS."""
        noise = self.noise(FOLLOWS, bound)
        noisy = counted.noisy_runs(runs, variants.counts, bound, self.chosen_norm, noise, rng)
        least = self.min_count or noise.threshold(counted.size)
        counts = np.rint(noisy).astype(np.int64)
        counts[counts < least] = 0
        return (square(variants.activities, row).trimmed() for row in counts)


def square(activities: tuple[str, ...], counts: Integers) -> Follows:
    """Flat counts of all pairs as a graph, without ⊥ directly after ⊤, which does not exist."""
    width = len(activities) + 1
    matrix = counts.reshape(width, width).copy()
    matrix[-1, -1] = 0
    return Follows(activities, matrix)


def published_follows(variants: Variants, epsilon: float, rng: Randomness) -> Follows:
    """The graph as published: Laplace noise of scale 1/ε on every pair, negative counts zero."""
    raw = Follows.of_variants(variants).counts.astype(np.int64)
    noisy = CountNoise.laplace(1, epsilon, FOLLOWS).added(raw, rng)
    return square(variants.activities, np.maximum(noisy, 0))
