"""What an audit found, in a form for people, programs and pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from discreet.audits.exact import ExactLeak
from discreet.privacy.guarantee import Budget, Guarantee

Verdict = Literal["consistent", "violated", "no guarantee", "not tested"]
GIVEN = "given"
"""Key of given answers among the parameters of an audit."""

# Proof: every bound and every verdict is made for these
CONFIDENCE = 0.95
"""Confidence of a bound on ε, over all pairs of an audit together."""
FALSE_ALARM = 1e-9
"""Largest chance that one pair is called a violation though the promise holds."""


@dataclass(frozen=True)
class Evidence:
    """The most telling event on one pair of logs, held against a budget."""

    against: Budget
    epsilon: float
    """Lower bound on ε at the budget's δ, from runs, with the audit's confidence."""
    event: str
    shares: tuple[float, float]
    """Shares of the runs that showed the event, on the log that makes it likelier and the other."""
    exact: ExactLeak | None
    contradicts: bool
    """Whether the budget is broken: by exact computation, or confirmed on fresh runs."""
    by_step: Mapping[str, float] = field(default_factory=dict)
    """Bounds from each step's answers alone, and from the release itself."""

    @property
    def bound(self) -> float:
        """The best lower bound on ε: measured, or exact where that is known and larger."""
        return max(self.epsilon, self.exact.epsilon if self.exact else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "against": {"epsilon": self.against.epsilon, "delta": self.against.delta},
            "epsilon_at_least": finite(self.bound),
            "measured": finite(self.epsilon),
            "exact": finite(self.exact.epsilon) if self.exact else None,
            "exact_delta": self.exact.delta if self.exact else None,
            "event": self.event,
            "shares": list(self.shares),
            "contradicts": self.contradicts,
        }


@dataclass(frozen=True)
class PairAudit:
    """One pair of logs: evidence against what holds, and against the claim where that differs."""

    pair: str
    logs: str
    runs: int
    seconds: float
    """Processor time."""
    promise: Evidence | None
    claim: Evidence | None

    @property
    def evidence(self) -> Evidence | None:
        """The evidence that counts: against the promise, else against the claim."""
        return self.promise or self.claim


@dataclass(frozen=True)
class Power:
    """What an audit of a mutant says, of which one step draws no noise."""

    step: str
    parameters: Mapping[str, Any]
    """Parameters with which it was caught, or gave most away; the pair is that of the same."""
    pair: str
    runs: int
    against: Budget | None
    """The promise of the whole or, with `alone`, the cost of the step; None if it never answers."""
    alone: bool
    """Whether the step was held against its own cost, with the answers before it fixed."""
    mutant: float
    """Lower bound on ε without its noise, with 95% confidence."""
    event: str
    caught: bool
    """Whether the mutant came out as violated."""
    missed: float = 1.0
    """The chance that another such audit does not catch it."""
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self) | {"against": _budget(self.against), "mutant": finite(self.mutant)}


@dataclass(frozen=True)
class Audit:
    """All pairs of one mechanism with the same parameters."""

    mechanism: str
    parameters: dict[str, Any]
    """Parameters that were given; an audit chooses the others."""
    guarantee: Guarantee
    pairs: tuple[PairAudit, ...]
    powers: tuple[Power, ...] = ()
    """Mutants, one for each noisy step, where these were asked for."""

    @property
    def command(self) -> str:
        """The command that repeats it."""
        options = [
            f"--{key.replace('_', '-')} {value}"
            for key, value in self.parameters.items()
            if key != GIVEN
        ]
        return " ".join(["discreet audit", self.mechanism, *options])

    @property
    def verdict(self) -> Verdict:
        """Whether the certificate stands: `violated` only after confirmation.

        `not tested` where no pair could contradict it, for instance because the two logs differ
        in what the promise takes as public.
        """
        if any(pair.promise and pair.promise.contradicts for pair in self.pairs):
            return "violated"
        if self.guarantee.holds is None:
            return "no guarantee"
        return "consistent" if any(pair.promise for pair in self.pairs) else "not tested"

    @property
    def claim_refuted(self) -> bool | None:
        """Whether the claim fails where it differs from what holds; None where it does not."""
        found = [pair.claim for pair in self.pairs if pair.claim]
        return any(claim.contradicts for claim in found) if found else None

    @property
    def worst(self) -> PairAudit | None:
        """The pair that shows most: one that breaks a budget, then by the bound on ε."""
        judged = [pair for pair in self.pairs if pair.evidence]
        return max(judged, key=_severity, default=None)

    def epsilon_of(self, step: str) -> float:
        """The largest lower bound on ε that the answers of one step gave.

        Where no step is told apart from the release there is one only, whose answer it is.
        """
        found = [pair.promise.by_step for pair in self.pairs if pair.promise]
        return max(
            (b.get(step, 0.0) if len(b) > 1 else max(b.values(), default=0.0) for b in found),
            default=0.0,
        )

    @property
    def epsilon(self) -> float:
        """The largest lower bound on ε, with 95% confidence over all pairs together."""
        return self.worst.evidence.bound if self.worst and self.worst.evidence else 0.0

    def words(self) -> str:
        """The verdict in a few words."""
        if self.verdict == "violated":
            return "violated"
        if self.claim_refuted and self.guarantee.claimed is None:
            return "not differentially private"
        if self.claim_refuted:
            return "claim refuted" + (
                f", certificate {self.verdict}" if self.guarantee.holds else ""
            )
        return "no guarantee to contradict" if self.verdict == "no guarantee" else self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "verdict": self.verdict,
            "claim_refuted": self.claim_refuted,
            "status": self.guarantee.status,
            "claimed": _budget(self.guarantee.claimed),
            "certified": _budget(self.guarantee.holds),
            "epsilon_at_least": finite(self.epsilon),
            "confidence": CONFIDENCE,
            "pairs": [
                {
                    "pair": pair.pair,
                    "logs": pair.logs,
                    "runs": pair.runs,
                    "seconds": round(pair.seconds, 3),
                    "promise": pair.promise.to_dict() if pair.promise else None,
                    "claim": pair.claim.to_dict() if pair.claim else None,
                }
                for pair in self.pairs
            ],
            "mutants": [power.to_dict() for power in self.powers],
        }


def finite(value: float) -> float | str:
    """A finite number, or the word for infinity, which JSON lacks."""
    return "infinite" if math.isinf(value) else value


def _severity(pair: PairAudit) -> tuple[bool, bool, float]:
    evidence = pair.evidence
    broken = bool(pair.promise and pair.promise.contradicts)
    return broken, bool(pair.claim and pair.claim.contradicts), evidence.bound if evidence else 0.0


def _budget(budget: Budget | None) -> dict[str, float] | None:
    return {"epsilon": budget.epsilon, "delta": budget.delta} if budget else None
